"""How a graph compares with another one, in words: DAGs and classes by their edges, PAGs by links and marks."""

import json
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from drbo.arrays import Bools
from drbo.errors import DataError
from drbo.graph.dag import check_dag
from drbo.graph.mag import hide
from drbo.graph.marks import ARROW, NO_EDGE, TAIL, MarkedGraph, Marks
from drbo.graph.metrics import Comparison
from drbo.graph.pag import pag_of
from drbo.result.files.export import printable
from drbo.result.words.mark_words import sign_of

Pairs = tuple[tuple[int, int], ...]

WIDTH = 96  # of lists of edges
INDENT = " " * 21
SHOWN_EDGES = 40  # of each kind
#: Kinds of edges; {0} and {1} are the two graphs, as they were typed.
ARROW_KINDS = {
    "correct": "in both, same direction",
    "reversed": "in both, opposite direction",
    "undirected": "in both, direction undetermined in {0}",
    "missing": "in {1}, not in {0}",
    "extra": "in {0}, not in {1}",
}
MARK_KINDS = {
    "same": "in both, with the same marks",
    "different": "in both, with other marks: as in {0}, but as in {1}",
    "missing": "in {1}, not in {0}",
    "extra": "in {0}, not in {1}",
}


class Compared(Protocol):
    """Two graphs side by side."""

    def text(self, typed: tuple[str, str]) -> str:
        """Return the comparison of two graphs, as they were typed, in words."""

    def to_json(self) -> str:
        """Return every figure and every list of edges as one JSON object."""


@dataclass(frozen=True)
class ArrowComparison:
    """A learned DAG or class beside the true DAG.

    Examples
    --------
    >>> from drbo.graph.metrics import compare
    >>> made = ArrowComparison(("a", "b"), compare([[0, 1], [0, 0]], [[0, 0], [1, 0]]))
    >>> print(made.text(("est", "truth")).splitlines()[3])
      reversed       1   in both, opposite direction
    """

    names: tuple[str, ...]
    found: Comparison

    def to_json(self) -> str:
        """Return every figure and every list of edges as one JSON object."""
        pairs: dict[str, Pairs] = {kind: getattr(self.found, kind) for kind in ARROW_KINDS}
        lists = {kind: [[self.names[i], self.names[j]] for i, j in edges] for kind, edges in pairs.items()}
        return json.dumps({**self.found.numbers(), **lists}, indent=2, allow_nan=False)

    def text(self, typed: tuple[str, str]) -> str:
        """Return the comparison of two graphs, as they were typed, as text: the edges by kind, then the figures."""
        blocks = [f"{self.found.n_learned} edges in {typed[0]}, {self.found.n_true} edges in {typed[1]}", ""]
        for kind, meaning in ARROW_KINDS.items():
            edges = getattr(self.found, kind)
            if edges or kind != "undirected":
                blocks.append(f"  {kind:<11} {len(edges):>4}   {meaning.format(*typed)}")
                blocks += self._edge_lines(edges, "--" if kind == "undirected" else "->")
        return "\n".join([*blocks, "", *self._figures()])

    def _edge_lines(self, edges: Pairs, arrow: str) -> list[str]:
        shown = [printable(name).replace(" ", "\u00a0") for name in self.names]  # a name is not broken over lines
        words = [f"{shown[i]}\u00a0{arrow}\u00a0{shown[j]}" for i, j in edges[:SHOWN_EDGES]]
        if len(edges) > SHOWN_EDGES:
            words.append(f"and\u00a0{len(edges) - SHOWN_EDGES}\u00a0more")
        wrapper = textwrap.TextWrapper(WIDTH, INDENT, INDENT, break_long_words=False, break_on_hyphens=False)
        return [line.replace("\u00a0", " ") for line in wrapper.wrap(", ".join(words))]

    def _figures(self) -> list[str]:
        c, bounds = self.found, self.found.sid_bounds
        sid = f"{c.sid}" if c.sid is not None else f"{bounds[0]} to {bounds[1]}" if bounds else "unknown"
        return [
            f"  SHD      {c.shd:<10}  edges to add, remove or reverse; an undetermined direction counts 1",
            f"  SHD-C    {c.shd_c:<10}  the same between the equivalence classes (CPDAGs)",
            f"  SID      {sid:<10}  pairs of nodes whose causal effect would be wrong",
            "",
            "               precision   recall       F1      FDR",
            f"  edges            {c.precision:5.3f}    {c.recall:5.3f}    {c.f1:5.3f}    {c.fdr:5.3f}",
            f"  adjacencies      {c.adjacency_precision:5.3f}    {c.adjacency_recall:5.3f}",
            f"  arrowheads       {c.arrowhead_precision:5.3f}    {c.arrowhead_recall:5.3f}",
        ]


class Count(NamedTuple):
    """How many of the claimed ones are right, and how many there are in truth."""

    right: int
    claimed: int
    true: int

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
        return _count(*(np.triu(marks != NO_EDGE) for marks in (self.found, self.truth)))

    @property
    def arrowheads(self) -> Count:
        """Ends of edges with an arrow."""
        return _count(self.found == ARROW, self.truth == ARROW)

    @property
    def tails(self) -> Count:
        """Ends of edges with a tail."""
        return _count(self.found == TAIL, self.truth == TAIL)

    @property
    def two_headed(self) -> Count:
        """Edges with arrows at both ends."""
        return _count(*(np.triu((marks == ARROW) & (marks.T == ARROW)) for marks in (self.found, self.truth)))

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
        counts = ("adjacencies", "arrowheads", "tails", "two_headed")
        found: dict[str, Any] = {"equal": self.is_equal}
        for name in counts:
            one: Count = getattr(self, name)
            found[name] = one._asdict() | {"precision": one.precision, "recall": one.recall}
        return found

    def to_json(self) -> str:
        """Return every figure and every edge, with its marks in both graphs, as one JSON object."""
        lists = {
            kind: [[self.names[i], self.names[j], sign(self.found, i, j), sign(self.truth, i, j)] for i, j in pairs]
            for kind, pairs in ((kind, self.pairs(kind)) for kind in MARK_KINDS)
        }
        return json.dumps(self.numbers() | lists, indent=2, allow_nan=False)

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
        for name in ("adjacencies", "arrowheads", "tails", "two_headed"):
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


def pag_over(dag: Bools, names: Sequence[str], columns: Sequence[str]) -> MarkedGraph:
    """Return the PAG of a DAG over some columns; its other nodes are hidden, and columns that it lacks have no edge.

    Examples
    --------
    >>> fork = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)
    >>> pag_over(fork, ["h", "a", "b"], ["b", "a"]).marks.tolist()
    [[0, 1], [1, 0]]
    """
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
    """Return how an edge is written between two names.

    Examples
    --------
    >>> sign(np.array([[0, 2], [1, 0]], dtype=np.int8), 0, 1)
    'o->'
    """
    if marks[i, j] == NO_EDGE:
        return "   "
    return sign_of(int(marks[j, i]), int(marks[i, j]))


def _count(claimed: Bools, true: Bools) -> Count:
    return Count(int((claimed & true).sum()), int(claimed.sum()), int(true.sum()))


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
