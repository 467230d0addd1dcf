"""How a graph compares with another one, in words: by its edges, unless its kind has a way of its own."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from drbo.arrays import Bools
from drbo.errors import DataError, first_of
from drbo.graph.metrics import Comparison
from drbo.result.files.export import printable

if TYPE_CHECKING:
    from drbo.result.result import Result

Pairs = tuple[tuple[int, int], ...]

WIDTH = 96  # of lists of edges
INDENT = " " * 21
SHOWN_NAMES = 5
SHOWN_EDGES = 40  # of each kind
#: Kinds of edges; {0} and {1} are the two graphs, as they were typed.
ARROW_KINDS = {
    "correct": "in both, same direction",
    "reversed": "in both, opposite direction",
    "undirected": "in both, direction undetermined in {0}",
    "missing": "in {1}, not in {0}",
    "extra": "in {0}, not in {1}",
}


class GraphSide(NamedTuple):
    """One of two graphs to compare."""

    typed: str  # what the user calls it
    run: "Result | None"  # None: it is a file
    read: Callable[[], tuple[Bools, tuple[str, ...]]]  # the DAG, and its names


class Compared(Protocol):
    """Two graphs side by side."""

    def text(self, typed: tuple[str, str]) -> str:
        """Return the comparison of two graphs, as they were typed, in words."""

    def to_dict(self) -> dict[str, Any]:
        """Return every figure and every list of edges as plain values, fit for JSON."""


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

    def to_dict(self) -> dict[str, Any]:
        """Return every figure and every list of edges as plain values, fit for JSON."""
        pairs: dict[str, Pairs] = {kind: getattr(self.found, kind) for kind in ARROW_KINDS}
        lists = {kind: [[self.names[i], self.names[j]] for i, j in edges] for kind, edges in pairs.items()}
        return {**self.found.numbers(), **lists}

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


def other_columns(typed: tuple[str, str], names: tuple[Sequence[str], Sequence[str]]) -> DataError:
    """Return the error for two results of different columns."""
    return DataError(
        f"the tables of {typed[0]} and {typed[1]} have different columns",
        hint=f"compare results of the same columns; these have {few(names[0])} and {few(names[1])}",
    )


def few(names: Sequence[str]) -> str:
    """Return the first names in quotes, and how many more there are.

    Examples
    --------
    >>> few(["a"]), few("abcdefg")
    ("'a'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    return first_of((f"'{name}'" for name in names), SHOWN_NAMES)
