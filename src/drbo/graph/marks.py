"""Graphs with a mark at both ends of every edge: the one form in which results, refits and presenters exchange graphs.

``marks[i, j]`` is the mark at j of the edge between i and j, coded as in pcalg: 0 no edge, 1 circle, 2 arrow, 3 tail.
What marks say depends on the kind of graph, which is a line of :data:`KINDS`. The search and the claims work on the
boolean matrices of :mod:`drbo.graph`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Indices
from drbo.errors import DataError
from drbo.graph.dag import check_dag, check_pdag, descendants

Marks = npt.NDArray[np.int8]

NO_EDGE, CIRCLE, ARROW, TAIL = 0, 1, 2, 3
MARK_NAMES = {CIRCLE: "circle", ARROW: "arrow", TAIL: "tail"}


class MarkedEdge(NamedTuple):
    """An edge between two nodes, with its marks there; an arrow at one end only is at the second."""

    first: int
    second: int
    at_first: int
    at_second: int


class GraphKind(NamedTuple):
    """What the graphs of one kind have in common."""

    allowed: Callable[[Marks, Marks], Bools]  # which edges graphs of the kind have, by the marks at their two ends
    left_open: Callable[["MarkedGraph"], Bools]  # (d, d) the marks on which the members of a class differ
    of_dags: bool  # such a graph, or each member of such a class, is a DAG
    telling: tuple[int, ...]  # the marks by which two graphs of the kind differ


@dataclass(frozen=True, eq=False)
class MarkedGraph:
    """A graph of one kind over named nodes; marks that no graph of the kind has are refused.

    Examples
    --------
    >>> graph = MarkedGraph(("a", "b", "c"), np.array([[0, 2, 0], [1, 0, 2], [0, 2, 0]]), "pag")  # a o-> b <-> c
    >>> graph.edges()
    [MarkedEdge(first=0, second=1, at_first=1, at_second=2), MarkedEdge(first=1, second=2, at_first=2, at_second=2)]
    >>> MarkedGraph(("a", "b"), graph.marks[:2, :2], "dag")
    Traceback (most recent call last):
        ...
    drbo.errors.DataError: the edge between 'a' and 'b' has marks that no dag has: circle and arrow
    """

    names: tuple[str, ...]
    marks: Marks  # (d, d), read-only
    kind: str  # of KINDS

    def __post_init__(self) -> None:
        given = np.asarray(self.marks)
        marks = given.astype(np.int8)  # a copy
        if self.kind not in KINDS:
            raise DataError(f"kind must be one of {', '.join(KINDS)}, got {self.kind!r:.80}")
        if given.shape != (len(self.names), len(self.names)):
            raise DataError(f"a graph with {len(self.names)} names needs a square matrix of marks, got {given.shape}")
        if (
            (given.dtype != np.int8 and (marks != given).any())
            or marks.min(initial=0) < NO_EDGE
            or marks.max(initial=0) > TAIL
        ):
            raise DataError("marks must be 0, 1, 2 or 3")
        marks.setflags(write=False)
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "marks", marks)
        self._check()

    def _check(self) -> None:
        """Refuse marks that no graph of the kind has."""
        first, second, at_first, at_second = self._ends
        if (first == second).any() or (at_first == NO_EDGE).any():
            raise DataError("an edge must join two nodes and have a mark at both ends")
        strange = np.flatnonzero(~KINDS[self.kind].allowed(at_first, at_second))
        if len(strange):
            i, j = int(first[strange[0]]), int(second[strange[0]])
            words = " and ".join(MARK_NAMES[int(mark)] for mark in (self.marks[j, i], self.marks[i, j]))
            raise DataError(
                f"the edge between '{self.names[i]}' and '{self.names[j]}' has marks that no {self.kind} has: {words}"
            )
        check_dag(self.directed, self.names)
        if not self.of_dags and (descendants(self.directed) & self.bidirected).any():
            raise DataError("a bidirected edge must not join a node and its ancestor")

    @classmethod
    def of(cls, adjacency: npt.ArrayLike, names: Sequence[str], kind: str | None = None) -> Self:
        """Return a DAG, or a class with undirected edges, from its matrix; see :mod:`drbo.graph`.

        Examples
        --------
        >>> MarkedGraph.of([[0, 1], [0, 0]], ["a", "b"]).kind, MarkedGraph.of([[0, 1], [1, 0]], ["a", "b"]).kind
        ('dag', 'mpdag')
        """
        graph = check_pdag(adjacency)
        marks, (first, second) = np.zeros(graph.shape, dtype=np.int8), np.nonzero(graph)
        marks[first, second] = ARROW
        marks[second, first] = TAIL
        return cls(tuple(names), marks, kind or ("mpdag" if graph[second, first].any() else "dag"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MarkedGraph):
            return NotImplemented
        same = (self.names, self.kind) == (other.names, other.kind)
        return same and bool((self.marks == other.marks).all())

    __hash__ = None  # type: ignore[assignment]

    @property
    def of_dags(self) -> bool:
        """Whether the graph, or each member of the class that it is, is a DAG."""
        return KINDS[self.kind].of_dags

    @property
    def telling(self) -> tuple[int, ...]:
        """The marks by which two graphs of this kind differ."""
        return KINDS[self.kind].telling

    @cached_property
    def _ends(self) -> tuple[Indices, Indices, Marks, Marks]:
        """Both ends of every mark, and the marks at the first and at the second: few of all pairs have an edge."""
        first, second = np.nonzero(self.marks)
        return first, second, self.marks[second, first], self.marks[first, second]

    def _where(self, at_first: int, at_second: int) -> Bools:
        """Return (d, d) the edges with these marks."""
        found, (first, second, one, other) = np.zeros(self.marks.shape, dtype=bool), self._ends
        kept = (one == at_first) & (other == at_second)
        found[first[kept], second[kept]] = True
        return found

    @property
    def skeleton(self) -> Bools:
        """(d, d) the pairs with an edge."""
        return np.asarray(self.marks != NO_EDGE)

    @property
    def directed(self) -> Bools:
        """(d, d) edges i -> j: a tail at i and an arrow at j."""
        return self._where(TAIL, ARROW)

    @property
    def undirected(self) -> Bools:
        """(d, d) edges with two tails."""
        return self._where(TAIL, TAIL)

    @property
    def bidirected(self) -> Bools:
        """(d, d) edges with two arrows."""
        return self._where(ARROW, ARROW)

    @property
    def circles(self) -> Bools:
        """(d, d) True where the edge between i and j has a circle at j."""
        return np.asarray(self.marks == CIRCLE)

    @property
    def adjacency(self) -> Bools:
        """(d, d) a DAG or a class as the matrix of :mod:`drbo.graph`; an undirected edge is in both directions."""
        return self.directed | self.undirected

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self._ends[0]) // 2

    def edges(self) -> list[MarkedEdge]:
        """Return every edge once: those of DAGs and classes row by row, those of other graphs pair by pair."""
        marks = self.marks
        if self.of_dags:
            pairs = np.argwhere(self.directed | np.triu(self.undirected)).tolist()
        else:
            pairs = np.argwhere(np.triu(self.skeleton)).tolist()
            pairs = [[j, i] if marks[j, i] == ARROW and marks[i, j] != ARROW else [i, j] for i, j in pairs]
        return [MarkedEdge(i, j, int(marks[j, i]), int(marks[i, j])) for i, j in pairs]

    def take(self, nodes: Sequence[int] | Indices) -> Self:
        """Return the graph over some nodes, in this order; their edges stay as they are.

        Examples
        --------
        >>> MarkedGraph.of([[0, 1], [0, 0]], ["a", "b"]).take([1, 0]).directed.tolist()
        [[False, False], [True, False]]
        """
        place = np.ix_(np.asarray(nodes, dtype=np.intp), np.asarray(nodes, dtype=np.intp))
        return replace(self, names=tuple(self.names[int(node)] for node in nodes), marks=self.marks[place])

    def reordered(self, names: Sequence[str]) -> Self:
        """Return the graph with its nodes in another order, by their names."""
        place = {name: k for k, name in enumerate(self.names)}
        return self.take([place[name] for name in names])

    def has_member(self, graph: "MarkedGraph") -> bool:
        """Tell whether a graph has these edges, and these marks wherever this class settles them.

        Examples
        --------
        >>> one, other = (MarkedGraph.of(dag, ["a", "b"]) for dag in ([[0, 1], [0, 0]], [[0, 0], [1, 0]]))
        >>> one.has_member(other), MarkedGraph.of([[0, 1], [1, 0]], ["a", "b"]).has_member(other)
        (False, True)
        """
        left_open = KINDS[self.kind].left_open(self)
        same_edges = self.names == graph.names and bool((self.skeleton == graph.skeleton).all())
        return same_edges and bool(((self.marks == graph.marks) | left_open).all())

    def to_plain(self) -> dict[str, str]:
        """Return the kind and the marks, two bits each, as texts; the names are left out.

        Examples
        --------
        >>> graph = MarkedGraph.of([[0, 1], [0, 0]], ["a", "b"])
        >>> graph.to_plain(), MarkedGraph.from_plain(graph.to_plain(), graph.names) == graph
        ({'kind': 'dag', 'marks': '2c'}, True)
        """
        bits = np.unpackbits(self.marks.astype(np.uint8).reshape(-1, 1), axis=1)[:, -2:]
        return {"kind": self.kind, "marks": np.packbits(bits).tobytes().hex()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], names: Sequence[str]) -> Self:
        """Return the graph over these names that :meth:`to_plain` wrote; anything else raises a DataError."""
        d, text = len(names), plain.get("marks")
        raw = bytes.fromhex(text) if isinstance(text, str) else b""
        if len(raw) != -(-2 * d * d // 8):
            raise DataError(f"these are not the marks of a graph with {d} nodes")
        bits = np.unpackbits(np.frombuffer(raw, np.uint8), count=2 * d * d).reshape(d, d, 2)
        return cls(tuple(names), (2 * bits[..., 0] + bits[..., 1]).astype(np.int8), plain.get("kind", ""))


def _causes(one: Marks, other: Marks) -> Bools:
    return np.asarray((one != CIRCLE) & (other != CIRCLE) & (one != other))


def _open(graph: MarkedGraph) -> Bools:
    return graph.undirected


_OF_A_CLASS = GraphKind(
    lambda one, other: _causes(one, other) | ((one == TAIL) & (other == TAIL)), _open, of_dags=True, telling=(TAIL,)
)
#: The kinds of graphs. Two tails are an edge whose direction a class of DAGs leaves open, two arrows an edge none of
#: whose ends causes the other, and a circle is an end on which the members of a PAG differ.
KINDS: dict[str, GraphKind] = {
    "dag": GraphKind(_causes, _open, of_dags=True, telling=(TAIL,)),
    "cpdag": _OF_A_CLASS,
    "mpdag": _OF_A_CLASS,
    "mag": GraphKind(lambda one, other: (one != CIRCLE) & (other != CIRCLE), _open, False, (ARROW, TAIL)),
    "pag": GraphKind(
        lambda one, other: np.ones_like(one + other, dtype=bool),
        lambda graph: graph.circles,
        False,
        (ARROW, TAIL, CIRCLE),
    ),
}
