"""How a graph compares with another one, in words: by its edges, unless its kind has a way of its own."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from drbo.arrays import Bools
from drbo.errors import DataError, first_of
from drbo.graph import metrics
from drbo.graph.dag import check_dag, check_pdag
from drbo.result.files.export import printable, read_graph

if TYPE_CHECKING:
    from drbo.result.result import Result

Pairs = tuple[tuple[int, int], ...]
_Graph = tuple[Bools, tuple[str, ...]]
#: The results of two runs; None: the graph is given by a file.
Runs = tuple["Result | None", "Result | None"]
_Tell = Callable[[str], None]

CLASS_NOTE = (
    "the score cannot determine all directions, so the equivalence class, under what the run was told, is compared"
)

WIDTH = 96  # of lists of edges
INDENT = " " * 21
SHOWN_NAMES = 5
SHOWN_EDGES = 40  # of each kind
#: Kinds of edges; {0} and {1} are the two graphs, as they were typed.
ARROW_KINDS = {
    "correct": "in both, same direction",
    "reversed": "in both, opposite direction",
    "undirected": "in both, direction undetermined in one of them",
    "missing": "in {1}, not in {0}",
    "extra": "in {0}, not in {1}",
}


class GraphSide(NamedTuple):
    """One of two graphs to compare."""

    typed: str  # what the user calls it
    run: "Result | None"  # None: it is a file
    read: Callable[[], _Graph]  # the DAG, and its names


class Compared(Protocol):
    """Two graphs side by side."""

    def text(self, typed: tuple[str, str]) -> str:
        """Return the comparison of two graphs, as they were typed, in words."""

    def to_dict(self) -> dict[str, Any]:
        """Return every figure and every list of edges as plain values, fit for JSON."""


@dataclass(frozen=True)
class ArrowComparison:
    """A learned DAG or class beside the true DAG."""

    names: tuple[str, ...]
    found: metrics.Comparison

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
    """Return the first names in quotes, and how many more there are."""
    return first_of((f"'{name}'" for name in names), SHOWN_NAMES)


def compared(paths: tuple[Path, Path], runs: Runs, tell: _Tell) -> Compared:
    """Compare a learned graph with the true one: in the way of their kinds, where these have one, else by their edges.

    ``tell`` is told what is assumed.
    """
    typed = (str(paths[0]), str(paths[1]))
    sides = [
        GraphSide(name, run, partial(read_graph, path)) for name, run, path in zip(typed, runs, paths, strict=True)
    ]
    for run in runs:
        if run is not None and (found_by_kind := run.reading.compared(*sides)) is not None:
            return found_by_kind
    found, other = (
        read_graph(path) if run is None else (answer(run), run.names) for path, run in zip(paths, runs, strict=True)
    )
    if runs[0] is not None and runs[0].score_equivalent:
        tell(f"note: {CLASS_NOTE}")
    if runs[1] is not None:
        if runs[0] is not None and set(found[1]) != set(other[1]):
            raise other_columns(typed, (found[1], other[1]))
        found, other = _open_in(found, other, runs[1]), (runs[1].dag, runs[1].names)
    (estimate, true), names = _aligned(found, other, typed, tell)
    check_dag(check_pdag(estimate, names) & ~estimate.T, names)  # a cycle is named by its variables
    figures = metrics.compare(estimate, check_dag(true, names))
    if runs[0] is not None:  # what the run was told is no part of the class of its score
        (markov, _), _ = _aligned((runs[0].cpdag, runs[0].names), other, typed, lambda _: None)
        if (markov != estimate).any():
            plain = metrics.compare(markov, true)
            figures = replace(figures, shd_c=plain.shd_c, sid_bounds=figures.sid_bounds or plain.sid_bounds)
    return ArrowComparison(names, figures)


def answer(result: "Result") -> Bools:
    """Return the graph that a result stands for: the class that its score and its knowledge leave, else the DAG."""
    return result.mpdag if result.score_equivalent else result.dag


def _open_in(found: _Graph, other: _Graph, result: "Result") -> _Graph:
    """Return a graph with the directions that a run leaves open: as in its DAG if both leave them open, else open."""
    graph, names = found
    if set(names) != set(other[1]):
        return found
    place = [other[1].index(name) for name in names]
    dag, answered = result.dag[np.ix_(place, place)], other[0][np.ix_(place, place)]
    opened = answered & answered.T & (graph | graph.T)
    return np.where(opened, np.where(graph & graph.T, dag, True), graph), names


def _aligned(
    learned: _Graph, truth: _Graph, typed: tuple[str, str], tell: _Tell
) -> tuple[tuple[Bools, Bools], tuple[str, ...]]:
    """Return both graphs over the same nodes: an edge list does not know its nodes without edges."""
    (_, first), (_, second) = learned, truth
    if set(first).isdisjoint(second):
        numbered = [names == tuple(f"x{j}" for j in range(len(names))) for names in (first, second)]
        if len(first) != len(second) or not any(numbered):
            raise DataError(
                f"the graphs have no node in common: {few(first)} and {few(second)}",
                hint="both graphs must use the same variable names",
            )
        tell(
            "note: one graph has no node names; its nodes are assumed to be in the same order as those of the other "
            "graph"
        )
        return (learned[0], truth[0]), second if numbered[0] else first
    longer, shorter = (first, second) if len(first) > len(second) else (second, first)
    names = (*longer, *(name for name in shorter if name not in longer))
    for graph, path in zip((learned, truth), typed, strict=True):
        if absent := [name for name in names if name not in graph[1]]:
            tell(f"note: {path} does not mention {few(absent)} and is assumed to have no edges there")
    return (_spread(learned, names), _spread(truth, names)), names


def _spread(graph: _Graph, names: tuple[str, ...]) -> Bools:
    adjacency, found = graph
    place = [names.index(name) for name in found]
    wide = np.zeros((len(names), len(names)), dtype=bool)
    wide[np.ix_(place, place)] = adjacency
    return wide
