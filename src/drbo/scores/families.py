"""Batches of families: each is a node and a set of parents."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from drbo.arrays import Bools, Indices, Ints


@dataclass(frozen=True, eq=False)
class Families:
    """A batch of families: each is a node and a set of parents.

    Examples
    --------
    >>> families = Families.from_sets(3, [(2, (0, 1)), (0, ())])
    >>> families.nodes.tolist(), families.parents.astype(int).tolist()
    ([2, 0], [[1, 1, 0], [0, 0, 0]])
    >>> len(set(families.keys()))
    2
    """

    nodes: Indices  # (m,)
    parents: Bools  # (m, d); parents[r, i]: i is a parent of nodes[r]

    @classmethod
    def from_dags(cls, dags: Bools) -> "Families":
        """Return the d families of each DAG, DAG after DAG; ``dags`` is (B, d, d)."""
        count, d, _ = dags.shape
        parents = np.array(dags.transpose(0, 2, 1), order="C").reshape(count * d, d)  # never a view of the graphs
        return cls(np.tile(np.arange(d), count), parents)

    @classmethod
    def from_sets(cls, n_nodes: int, sets: Iterable[tuple[int, Sequence[int]]]) -> "Families":
        """Return the families listed as (node, indices of its parents)."""
        pairs = list(sets)
        parents = np.zeros((len(pairs), n_nodes), dtype=bool)
        for row, (_, members) in enumerate(pairs):
            parents[row, list(members)] = True
        return cls(np.array([node for node, _ in pairs], dtype=np.intp), parents)

    @property
    def n_nodes(self) -> int:
        return int(self.parents.shape[1])

    @property
    def sizes(self) -> Indices:
        """The number of parents (m,) of each family."""
        counts: Indices = self.parents.sum(axis=1)
        return counts

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, rows: Any) -> "Families":
        return Families(self.nodes[rows], self.parents[rows])

    def keys(self) -> list[bytes]:
        """Return one byte string per family; equal families have equal strings, and strings sort by node first."""
        head = self.nodes.astype(">u4").view(np.uint8).reshape(-1, 4)
        packed = np.concatenate([head, np.packbits(self.parents, axis=1)], axis=1)
        raw, width = packed.tobytes(), packed.shape[1]
        return [raw[start : start + width] for start in range(0, len(raw), width)]

    @classmethod
    def from_keys(cls, keys: Sequence[bytes], n_nodes: int) -> "Families":
        """Invert :meth:`keys`."""
        packed = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), 4 + -(-n_nodes // 8))
        nodes = packed[:, :4].copy().view(">u4")[:, 0].astype(np.intp)
        return cls(nodes, np.unpackbits(packed[:, 4:], axis=1, count=n_nodes).astype(bool))

    def flat(self) -> tuple[Indices, Ints, Indices]:
        """Return the nodes (m,), where the parents of each begin (m + 1,), and the parents, as the core takes them."""
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        return np.ascontiguousarray(self.nodes), starts, np.ascontiguousarray(np.nonzero(self.parents)[1])

    def padded(self, rows: Indices, width: int) -> Indices:
        """Return (len(rows), width) parent indices; free places hold the dummies d, d + 1, ... by position."""
        index = np.broadcast_to(self.n_nodes + np.arange(width), (len(rows), width)).copy()
        row, parent = np.nonzero(self.parents[rows])
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(rows)))])
        index[row, np.arange(len(row)) - starts[row]] = parent
        return index


def row_groups(
    targets: Bools | None,  # (n, d)
    n_rows: int,
    n_nodes: int,
) -> list[tuple[Indices, Indices]]:
    """Return the nodes that share their rows, with those rows, group by group."""
    if targets is None:
        return [(np.arange(n_nodes), np.arange(n_rows))]
    patterns, member = np.unique(targets, axis=1, return_inverse=True)
    return [
        (np.flatnonzero(member.ravel() == group), np.flatnonzero(~patterns[:, group]))
        for group in range(patterns.shape[1])
    ]
