"""The graphs that are left: all ways to direct the open and assumed edges of a graph, or a weighted sample of them.

Open edges are directed as in the members of the equivalence class. An assumed arrow may also point the other way,
whatever the class says about it, as long as no cycle arises. All ways are equally likely, so an assumed arrow on its
own has probability 0.5. Edges in different connected parts are independent of each other.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats, Indices
from drbo.deadline import current
from drbo.graph.dag import connected_parts, descendants, meek_closure

#: Up to this many ways to direct one part of a graph are listed; of more, a sample is drawn.
MOST_LISTED = 4096
#: Size of that sample.
SAMPLED = 2000


@dataclass(frozen=True, eq=False)
class Ways:
    """The ways to direct the edges of one connected part of a graph.

    Examples
    --------
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    >>> ways = ways_left(chain, np.triu(chain))[0]
    >>> ways.edges.tolist(), ways.forward.astype(int).tolist()
    ([[0, 1], [1, 2]], [[1, 1], [0, 0], [0, 1]])
    >>> round(ways.entropy([0]), 3), ways.at(2).tolist()
    (0.918, [1])
    """

    edges: Indices  # (k, 2) both ends, as drawn
    forward: Bools  # (M, k) whether the edge points as drawn
    probability: Floats  # (M,)
    listed: bool  # all ways; False: a sample

    def at(self, node: int) -> Indices:
        """Return the edges at a node."""
        return np.flatnonzero((self.edges == node).any(axis=1))

    def groups(self, seen: list[int] | Indices) -> Indices:
        """Return (M,) equal numbers for ways that agree on some of the edges."""
        if len(seen) == 0:
            return np.zeros(len(self.forward), dtype=np.intp)
        packed = np.packbits(self.forward[:, seen], axis=1)
        return np.unique(packed, axis=0, return_inverse=True)[1].reshape(-1)

    def entropy(self, seen: list[int] | Indices) -> float:
        """Return the entropy, in bits, of the directions of some of the edges."""
        return entropy(np.bincount(self.groups(seen), self.probability))

    def told(self, seen: Indices, directions: Bools) -> "Ways":
        """Return the ways in which these edges have these directions."""
        kept = (self.forward[:, seen] == directions).all(axis=1)
        share = self.probability[kept]
        return replace(self, forward=self.forward[kept], probability=share / share.sum())

    def open_after(self, seen: list[int] | Indices) -> Floats:
        """Return (k,) the probability that each edge is still open once the directions of some edges are known."""
        group = self.groups(seen)
        share: Floats = np.bincount(group, self.probability)  # type: ignore[assignment]
        ahead = np.stack([np.bincount(group, self.probability * column) for column in self.forward.T], axis=1)
        behind = np.stack([np.bincount(group, self.probability * ~column) for column in self.forward.T], axis=1)
        found: Floats = share @ ((ahead > 0) & (behind > 0)).astype(np.float64)
        return found


def entropy(weights: npt.NDArray[Any]) -> float:
    """Return the entropy of a distribution in bits."""
    positive = weights[weights > 0]
    return float(abs(-(positive * np.log2(positive)).sum()))


def ways_left(
    graph: Bools,  # (d, d) the class: an MPDAG
    dag: Bools,  # (d, d) a member of it, as drawn
    assumed: Bools | None = None,  # (d, d) arrows of the class that may point the other way
    *,
    seed: int = 0,
) -> tuple[Ways, ...]:
    """Return the ways to direct each connected part of the open and assumed edges; none: all edges are settled."""
    turnable = np.zeros_like(graph) if assumed is None else graph & ~graph.T & assumed
    loose = (graph & graph.T) | turnable | turnable.T
    reach = descendants(graph & ~graph.T & ~turnable)
    rng = np.random.default_rng(seed)
    found = []
    for nodes in _parts(loose):
        square = np.ix_(nodes, nodes)
        part = _Part(graph[square], turnable[square], reach[square])
        matrices, probability, listed = part.listed() or part.drawn(rng)
        first, second = np.nonzero(dag[square] & loose[square])
        edges = np.column_stack([nodes[first], nodes[second]])
        found.append(Ways(edges, matrices[:, first, second], probability, listed))
    return tuple(found)


def _parts(loose: Bools) -> list[Indices]:
    """Return the nodes of each connected part with at least one edge."""
    return [part for part in connected_parts(loose) if len(part) > 1]


@dataclass(frozen=True, eq=False)
class _Part:
    """One connected part of the edges that are not settled."""

    graph: Bools  # (m, m) of the class
    turnable: Bools  # (m, m) its arrows that may be turned
    reach: Bools  # (m, m) settled arrows lead from one node to the other, in the part or around it

    def listed(self) -> tuple[Bools, Floats, bool] | None:
        """Return all ways as graphs (M, m, m), and their probabilities; None: there are too many."""
        turns = np.argwhere(self.turnable)
        parts = [_members(self._open_part(nodes)) for nodes in _parts(self.graph & self.graph.T)]
        count = 2 ** len(turns)
        for part in parts:
            count *= MOST_LISTED + 1 if part is None else len(part)
        if count > MOST_LISTED:
            return None
        found = np.stack([self._together(chosen) for chosen in product(*(part for part in parts if part is not None))])
        for i, j in turns.tolist():
            turned = found.copy()
            turned[:, i, j], turned[:, j, i] = False, True
            found = np.concatenate([found, turned])
        if len(turns):
            found = found[_acyclic(found | self.reach)]
        return found, np.full(len(found), 1 / len(found)), True

    def drawn(self, rng: np.random.Generator) -> tuple[Bools, Floats, bool]:
        """Return a sample of the ways, weighted by one over the probability with which each was drawn."""
        parts = [self._open_part(nodes) for nodes in _parts(self.graph & self.graph.T)]
        lists = [_members(part) for part in parts]
        found, choices = [], []
        deadline = current()
        for _ in range(SAMPLED):
            deadline.check()
            made, free = [], 0
            for part, members in zip(parts, lists, strict=True):
                one, coins = (members[rng.integers(len(members))], 0) if members else _drawn_member(part, rng)
                made.append(one)
                free += coins
            graph, coins = self._turned(self._together(made), rng)
            found.append(graph)
            choices.append(free + coins)
        weights = np.exp2(np.array(choices, dtype=np.float64) - max(choices))
        return np.stack(found), weights / weights.sum(), False

    def _open_part(self, nodes: Indices) -> Bools:
        """Return the graph of the class among some of the nodes; what else there is does not bear on its open edges."""
        kept = np.zeros_like(self.graph)
        kept[np.ix_(nodes, nodes)] = self.graph[np.ix_(nodes, nodes)]
        return kept

    def _together(self, members: "list[Bools] | tuple[Bools, ...]") -> Bools:
        """Return the graph in which each part of the open edges is directed as in its member."""
        found: Bools = self.graph & ~self.graph.T
        for one in members:
            found |= one
        return found

    def _turned(self, dag: Bools, rng: np.random.Generator) -> tuple[Bools, int]:
        """Direct the arrows that may be turned one after the other, at random where both ways leave no cycle."""
        found, free = dag & ~self.turnable, 0
        for i, j in rng.permutation(np.argwhere(self.turnable)).tolist():
            below = closure((found | self.reach)[None])[0]
            ahead = not below[j, i] and (below[i, j] or bool(rng.integers(2)))
            free += int(not below[j, i] and not below[i, j])
            found[(i, j) if ahead else (j, i)] = True
        return found, free


def _members(part: Bools) -> list[Bools] | None:
    """Return all members of a class; None: there are too many.

    An open edge of a class that is closed under Meek's rules can point either way (Meek 1995), so no attempt is in
    vain.
    """
    waiting, found, deadline = [part], list[Bools](), current()
    while waiting:
        deadline.check()
        if len(waiting) + len(found) > MOST_LISTED:
            return None
        graph = waiting.pop()
        if (edge := _busiest(graph)) is None:
            found.append(graph)
        else:
            waiting += [_directed(graph, *edge), _directed(graph, *edge[::-1])]
    return found


def _drawn_member(part: Bools, rng: np.random.Generator) -> tuple[Bools, int]:
    """Return a member of a class that is found by tossing coins, and their number."""
    coins, deadline = 0, current()
    while (edge := _busiest(part)) is not None:
        deadline.check()
        part = _directed(part, *(edge if rng.integers(2) else edge[::-1]))
        coins += 1
    return part, coins


def _busiest(graph: Bools) -> tuple[int, int] | None:
    """Return an open edge at a node with the most of them; None: there is none."""
    undirected = graph & graph.T
    node = int(undirected.sum(axis=0).argmax())
    return (node, int(undirected[node].argmax())) if undirected[node].any() else None


def _directed(graph: Bools, a: int, b: int) -> Bools:
    tried = graph.copy()
    tried[b, a] = False
    return meek_closure(tried)


def _acyclic(graphs: Bools) -> Bools:
    found: Bools = np.logical_not(closure(graphs).diagonal(axis1=1, axis2=2).any(axis=1))
    return found


def closure(
    graphs: Bools,  # (M, m, m)
) -> Bools:
    """Return whether a directed path leads from one node to another, also in graphs with cycles."""
    reached, length, deadline = graphs, 1, current()
    while length < graphs.shape[1]:
        deadline.check()
        reached, length = reached | (reached.astype(np.float32) @ reached.astype(np.float32) > 0), 2 * length
    return reached
