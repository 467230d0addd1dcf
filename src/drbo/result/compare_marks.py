"""How a graph with hidden causes compares with another one, in words: by links and marks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from drbo.arrays import Bools
from drbo.errors import DataError
from drbo.graph.dag import check_dag
from drbo.graph.mag import hide
from drbo.graph.marks import ARROW, NO_EDGE, TAIL, MarkedGraph, Marks
from drbo.graph.pag import pag_of
from drbo.result.compare import INDENT, SHOWN_EDGES, GraphSide, Pairs, other_columns
from drbo.result.files.export import printable
from drbo.result.words.mark_words import sign_of

#: Kinds of edges; {0} and {1} are the two graphs, as they were typed.
MARK_KINDS = {
    "same": "in both, with the same marks",
    "different": "in both, with other marks: as in {0}, but as in {1}",
    "missing": "in {1}, not in {0}",
    "extra": "in {0}, not in {1}",
}


class Count(NamedTuple):
    """How many of the claimed ones are right, and how many there are in truth."""

    right: int
    claimed: int
    true: int

    @classmethod
    def of(cls, claimed: Bools, true: Bools) -> "Count":
        return cls(int((claimed & true).sum()), int(claimed.sum()), int(true.sum()))

    @property
    def precision(self) -> float | None:
        """The share of the claimed ones that is right; None where nothing is claimed."""
        return self.right / self.claimed if self.claimed else None

    @property
    def recall(self) -> float | None:
        """The share of the true ones that is found; None where there is none."""
        return self.right / self.true if self.true else None


@dataclass(frozen=True, kw_only=True)
class MarkComparison:
    """A learned PAG beside the true one: edges by kind, each once, and counts of what they consist of.

    Examples
    --------
    >>> found = np.array([[0, 2], [1, 0]], dtype=np.int8)  # 0 o-> 1
    >>> compare_marks(found, np.array([[0, 1], [1, 0]], dtype=np.int8)).arrowheads
    Count(right=0, claimed=1, true=0)
    """

    names: tuple[str, ...]
    found: Marks
    truth: Marks

    @property
    def adjacencies(self) -> Count:
        """Pairs with an edge."""
        return Count.of(*(np.triu(marks != NO_EDGE) for marks in (self.found, self.truth)))

    @property
    def arrowheads(self) -> Count:
        """Ends of edges with an arrow."""
        return Count.of(self.found == ARROW, self.truth == ARROW)

    @property
    def tails(self) -> Count:
        """Ends of edges with a tail."""
        return Count.of(self.found == TAIL, self.truth == TAIL)

    @property
    def bidirected(self) -> Count:
        """Edges with arrows at both ends."""
        return Count.of(*(np.triu((marks == ARROW) & (marks.T == ARROW)) for marks in (self.found, self.truth)))

    @property
    def is_equal(self) -> bool:
        """Whether all edges and marks agree."""
        return bool((self.found == self.truth).all())

    def pairs(self, kind: str) -> Pairs:
        """Return the pairs i < j whose edges are of a kind: same, different, missing or extra."""
        here, there = self.found != NO_EDGE, self.truth != NO_EDGE
        same = (self.found == self.truth) & (self.found.T == self.truth.T)
        masks = {"same": here & same, "different": here & there & ~same, "missing": there & ~here}
        mask = masks.get(kind, here & ~there)
        return tuple((int(i), int(j)) for i, j in np.argwhere(np.triu(mask)))

    def numbers(self) -> dict[str, Any]:
        """Return every figure, fit for JSON."""
        counts = ("adjacencies", "arrowheads", "tails", "bidirected")
        found: dict[str, Any] = {"equal": self.is_equal}
        for name in counts:
            one: Count = getattr(self, name)
            found[name] = one._asdict() | {"precision": one.precision, "recall": one.recall}
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return every figure and every edge, with its marks in both graphs, as plain values, fit for JSON."""
        lists = {
            kind: [[self.names[i], self.names[j], sign(self.found, i, j), sign(self.truth, i, j)] for i, j in pairs]
            for kind, pairs in ((kind, self.pairs(kind)) for kind in MARK_KINDS)
        }
        return self.numbers() | lists

    def text(self, typed: tuple[str, str]) -> str:
        """Return the comparison of two graphs, as they were typed, in words."""
        lines = [
            f"{self.adjacencies.claimed} edges in {typed[0]}, {self.adjacencies.true} edges in {typed[1]}, compared as "
            "partial ancestral graphs",
            "",
        ]
        for kind, meaning in MARK_KINDS.items():
            pairs = self.pairs(kind)
            lines.append(f"  {kind:<11} {len(pairs):>4}   {meaning.format(*typed)}")
            lines += [f"{INDENT}{self._words(kind, i, j)}" for i, j in pairs[:SHOWN_EDGES]]
            if len(pairs) > SHOWN_EDGES:
                lines.append(f"{INDENT}and {len(pairs) - SHOWN_EDGES} more")
        lines += ["", "               precision   recall"]
        for name in ("adjacencies", "arrowheads", "tails", "bidirected"):
            one: Count = getattr(self, name)
            lines.append(f"  {name.replace('_', '-'):<15} {_share(one.precision):>7}  {_share(one.recall):>7}")
        return "\n".join(lines)

    def _words(self, kind: str, i: int, j: int) -> str:
        a, b = printable(self.names[i]), printable(self.names[j])
        shown = f"{a} {sign(self.truth if kind == 'missing' else self.found, i, j)} {b}"
        return f"{shown}, but {a} {sign(self.truth, i, j)} {b}" if kind == "different" else shown


def compare_marks(found: Marks, truth: Marks, names: Sequence[str] | None = None) -> MarkComparison:
    """Compare the marks of two PAGs over the same columns."""
    labels = [f"x{k}" for k in range(len(found))] if names is None else names
    return MarkComparison(names=tuple(labels), found=found, truth=truth)


def sides_by_marks(learned: GraphSide, truth: GraphSide) -> MarkComparison:
    """Compare the links and marks of two graphs; a DAG stands for its PAG over the columns of the other."""
    columns = learned.read()[1] if learned.run is None else learned.run.names
    graphs = []
    for side in (learned, truth):
        if side.run is None or not side.run.reading.marked:
            graphs.append(pag_over(*side.read(), columns))
            continue
        if set(side.run.names) != set(columns):
            raise other_columns((learned.typed, truth.typed), (columns, side.run.names))
        graphs.append(side.run.graph.reordered(columns))
    return compare_marks(graphs[0].marks, graphs[1].marks, columns)


def pag_over(dag: Bools, names: Sequence[str], columns: Sequence[str]) -> MarkedGraph:
    """Return the PAG of a DAG over some columns; its other nodes are hidden, and columns that it lacks have no edge."""
    there = [name for name in columns if name in names]
    if not there:
        raise DataError("the graphs have no node in common", hint="both graphs must use the same variable names")
    hidden = np.array([name not in columns for name in names])
    inner = pag_of(hide(check_dag(dag, list(names)), hidden))
    left = [name for name in names if name in columns]
    found = np.zeros((len(columns), len(columns)), dtype=np.int8)
    place = [list(columns).index(name) for name in left]
    found[np.ix_(place, place)] = inner
    return MarkedGraph(tuple(columns), found, "pag")


def sign(marks: Marks, i: int, j: int) -> str:
    """Return how an edge is written between two names."""
    if marks[i, j] == NO_EDGE:
        return "   "
    return sign_of(int(marks[j, i]), int(marks[i, j]))


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
