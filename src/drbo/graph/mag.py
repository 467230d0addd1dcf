"""Maximal ancestral graphs (MAGs): the graphs over the columns of a table whose other common causes are hidden.

``i -> j`` says that i is a cause of j, directly or through what is hidden. ``i <-> j`` says that neither causes the
other. Both say that no set of other columns makes the two independent (Richardson & Spirtes 2002). No rows are selected
by what is hidden, so there are no undirected edges.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools
from drbo.errors import DataError
from drbo.graph.dag import check_dag, connected_parts, descendants, is_acyclic
from drbo.graph.marks import ARROW, TAIL, Marks


@dataclass(frozen=True, eq=False)
class Mag:
    """A graph of directed and bidirected edges, at most one between two nodes."""

    directed: Bools  # (d, d) i -> j
    bidirected: Bools  # (d, d), symmetric

    @classmethod
    def of(cls, directed: npt.ArrayLike, bidirected: npt.ArrayLike | None = None) -> Self:
        """Return the graph with these edges, or raise a DataError where they make no such graph."""
        arrows = np.asarray(directed, dtype=bool)
        both = np.zeros_like(arrows) if bidirected is None else np.asarray(bidirected, dtype=bool)
        if arrows.ndim != 2 or arrows.shape[0] != arrows.shape[1] or both.shape != arrows.shape:
            raise DataError(f"a mixed graph needs two square matrices, got shapes {arrows.shape} and {both.shape}")
        if arrows.diagonal().any() or both.diagonal().any():
            raise DataError("a mixed graph must have no loops")
        if (both != both.T).any():
            raise DataError("bidirected edges must be symmetric")
        if ((arrows & arrows.T) | (arrows & both)).any():
            raise DataError("two nodes must have at most one edge")
        return cls(arrows.copy(), both.copy())

    @classmethod
    def of_marks(cls, marks: Marks) -> Self:
        """Return the graph with these marks, which must all be arrows and tails."""
        return cls.of((marks == ARROW) & (marks.T == TAIL), (marks == ARROW) & (marks.T == ARROW))

    @property
    def adjacent(self) -> Bools:
        """(d, d) the pairs with an edge."""
        return self.directed | self.directed.T | self.bidirected

    @property
    def n_edges(self) -> int:
        """Number of edges of either kind."""
        return int(self.adjacent.sum()) // 2

    def marks(self) -> Marks:
        """Return the (d, d) marks, coded as in :mod:`drbo.graph.marks`."""
        marks = np.zeros(self.directed.shape, dtype=np.int8)
        marks[self.directed | self.bidirected] = ARROW
        marks[self.directed.T] = TAIL
        return marks

    def is_ancestral(self) -> bool:
        """Tell whether there is no directed cycle, and no bidirected edge between a node and its ancestor."""
        return is_acyclic(self.directed) and not (descendants(self.directed) & self.bidirected).any()

    def is_maximal(self) -> bool:
        """Tell whether some set of nodes separates any two that have no edge; of an ancestral graph."""
        return bool((projection(self).adjacent == self.adjacent).all())


def projection(graph: Mag) -> Mag:
    """Return the maximal ancestral graph with the ancestors and the separations of an acyclic mixed graph.

    Two nodes get an edge where an inducing path joins them: every inner node is a collider on it and an ancestor of one
    of its ends (Richardson & Spirtes 2002). The marks follow from the ancestors.
    """
    reach = descendants(graph.directed)
    above = (reach | np.eye(len(reach), dtype=bool)).T  # above[i, v]: v is i or an ancestor of i
    into = graph.directed | graph.bidirected
    adjacent = graph.adjacent
    for i, j in np.argwhere(np.triu(~adjacent & _share_district(graph, into), 1)):
        may_pass = above[i] | above[j]
        may_pass[[i, j]] = False
        seen = front = into[i] & may_pass
        while front.any() and not (seen & into[j]).any():
            front = graph.bidirected[front].any(axis=0) & may_pass & ~seen
            seen = seen | front
        adjacent[i, j] = adjacent[j, i] = bool((seen & into[j]).any())
    return Mag(adjacent & reach, adjacent & ~reach & ~reach.T)


def _share_district(graph: Mag, into: Bools) -> Bools:
    """Return (d, d) the pairs that an inducing path can join: both ends have edges into one district.

    A district has bidirected edges: both ends of a path i -> v <- j would be above v, which is above one of them.
    """
    nodes = np.flatnonzero(graph.bidirected.any(axis=0))
    if not len(nodes):
        return np.zeros_like(into)
    members = np.zeros((len(into), len(nodes)), dtype=np.float32)
    for district, part in enumerate(connected_parts(graph.bidirected[np.ix_(nodes, nodes)])):
        members[nodes[part], district] = 1
    entered = (into.astype(np.float32) @ members > 0).astype(np.float32)
    return np.asarray(entered @ entered.T > 0)


def hide(dag: npt.ArrayLike, hidden: npt.ArrayLike) -> Mag:
    """Return the maximal ancestral graph over the other nodes when some nodes of a DAG are hidden."""
    reach, gone = check_dag(dag), np.asarray(hidden, dtype=bool)
    for node in np.flatnonzero(gone):  # paths whose inner nodes are all hidden
        reach |= np.outer(reach[:, node], reach[node])
    both = np.zeros_like(reach)
    for node in np.flatnonzero(gone):
        both |= np.outer(reach[node], reach[node])
    kept = np.ix_(~gone, ~gone)
    directed = reach[kept]
    both = both[kept] & ~np.eye(len(directed), dtype=bool)
    # A pair may have both kinds of edges here, which the projection resolves.
    return projection(Mag(directed, both))
