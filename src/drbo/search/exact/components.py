"""Divides nodes with their parent sets into subproblems that can be solved separately."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from drbo.arrays import Bools, Floats, Indices, Masks
from drbo.search.exact.order_graph import pack


@dataclass(frozen=True, eq=False)
class Piece:
    """Some nodes and their parent sets among themselves, the best first; bit k of a mask is the k-th of the nodes."""

    nodes: Indices
    masks: list[Masks]
    shares: list[Floats]

    @property
    def size(self) -> int:
        return len(self.nodes)

    @property
    def count(self) -> int:
        """Number of parent sets."""
        return sum(len(part) for part in self.masks)

    def part(self, members: Indices) -> "Piece":
        """Return the piece of some members; parents that are none of them are there for nothing."""
        masks, shares = [], []
        for member in members:
            small = pack(self.masks[member], members)
            first = np.sort(np.unique(small, return_index=True)[1])
            masks.append(small[first])
            shares.append(self.shares[member][first])
        return Piece(self.nodes[members], masks, shares)

    def kept(self, rows: list[Bools]) -> "Piece":
        """Return the piece with some of the parent sets."""
        masks = [part[keep] for part, keep in zip(self.masks, rows, strict=True)]
        shares = [part[keep] for part, keep in zip(self.shares, rows, strict=True)]
        return Piece(self.nodes, masks, shares)

    def components(self) -> Iterator[Indices]:
        """Yield the members of each strongly connected component of possible parents, ancestors first."""
        unions = [np.bitwise_or.reduce(part) for part in self.masks]
        reach = np.array(
            [[i == k or bool(int(unions[i]) >> k & 1) for i in range(self.size)] for k in range(self.size)]
        )
        for _ in range(self.size.bit_length()):
            reach = reach @ reach
        mutual = reach & reach.T
        firsts = set(np.argmax(mutual, axis=1).tolist())
        for first in sorted(firsts, key=lambda node: (reach[:, node].sum(), node)):  # ancestors are reached by fewer
            yield np.flatnonzero(mutual[first])

    def best_dag(self, order: Indices) -> Bools:
        """Return the DAG of the best parent sets that an order allows."""
        dag, before = np.zeros((self.size, self.size), dtype=bool), np.uint64(0)
        for node in order:
            mask = int(self.masks[node][np.argmax(self.masks[node] & ~before == 0)])
            dag[:, node] = [mask >> k & 1 for k in range(self.size)]
            before |= np.uint64(1) << np.uint64(node)
        return dag

    def links(self) -> Floats:
        """Return how much two nodes would lose if only one of them might have the other as a parent."""
        loss = np.zeros((self.size, self.size))
        for node, (masks, shares) in enumerate(zip(self.masks, self.shares, strict=True)):
            for other in range(self.size):
                free = (masks >> np.uint64(other)) & np.uint64(1) == 0
                loss[other, node] = shares[0] - shares[np.argmax(free)] if free.any() else shares[0] - shares[-1]
        return np.minimum(loss, loss.T) + 0.01 * np.maximum(loss, loss.T)


def divided(links: Floats, most: int) -> list[Indices]:
    """Return groups of at most ``most`` nodes, all but the last full, with strong links inside.

    Groups are grown one after the other; then nodes are swapped as long as that helps.

    Examples
    --------
    >>> links = np.array([[0, 0, 5, 0], [0, 0, 0, 5], [5, 0, 0, 1], [0, 5, 1, 0]])
    >>> [group.tolist() for group in divided(links, 2)]
    [[0, 2], [1, 3]]
    """
    d, n_groups = len(links), -(-len(links) // most)
    label = np.full(d, -1)
    for group in range(n_groups):
        free = np.flatnonzero(label < 0)
        start = free[np.argmax(links[np.ix_(free, free)].sum(axis=1))]
        label[start] = group
        for _ in range(min(most, len(free)) - 1):
            free = np.flatnonzero(label < 0)
            label[free[np.argmax(links[np.ix_(free, np.flatnonzero(label == group))].sum(axis=1))]] = group
    for _ in range(4 * d):
        to = np.stack([links[:, label == group].sum(axis=1) for group in range(n_groups)], axis=1)  # (d, groups)
        own = to[np.arange(d), label]
        gain = to[:, label] + to[:, label].T - own[:, None] - own - 2 * links
        gain[label[:, None] == label] = 0.0
        a, b = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if gain[a, b] <= 1e-9:
            break
        label[a], label[b] = label[b], label[a]
    return [np.flatnonzero(label == group) for group in range(n_groups)]
