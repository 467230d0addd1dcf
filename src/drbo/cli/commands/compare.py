"""``drbo compare``: compares a learned graph with the true one."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from drbo.cli.messages import say, show
from drbo.cli.options import FILE, json_option
from drbo.cli.output import show_json, writing
from drbo.errors import DataError, SettingsError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from drbo.arrays import Bools
    from drbo.result.compare import Compared
    from drbo.result.result import Result

    Graph = tuple[Bools, tuple[str, ...]]
    Runs = tuple[Result | None, Result | None]  # None: the graph is given by a file

CLASS_NOTE = "the score cannot determine all directions, so the equivalence class (CPDAG) is compared"


@click.command(short_help="Compare a learned graph with the true one.")
@click.argument("learned", metavar="EST", type=FILE)
@click.argument("truth", metavar="TRUTH", type=FILE)
@click.option("--report", type=FILE, metavar="FILE", help="Write an HTML page that shows two runs side by side.")
@json_option
def compare(learned: Path, truth: Path, report: Path | None, as_json: bool) -> None:
    """Compare the learned graph EST with the true graph TRUTH.

    Each can be a folder that 'drbo fit -o' wrote, an edge list (CSV with the columns source,target), an adjacency
    matrix (CSV), or a JSON, NPZ or NPY file. If EST contains an edge in both directions, the edge is undirected. TRUTH
    must be a DAG.

    If the score of a result cannot determine all directions, its equivalence class is compared; its edges.csv is only
    one DAG of that class. Of two results, directions that are open in both count as equal.

    If one of the two is the result of a fit with --hidden, links and marks are compared. Nodes of TRUTH that EST does
    not have count as hidden.

    With --report, EST and TRUTH are two runs of the same columns, such as two seeds, scores or samples. The page shows
    both graphs with every variable at the same place, the links that differ, the scores and the settings.

    \b
    Examples:
      drbo compare result truth.csv
      drbo compare result/edges.csv truth.csv
      drbo compare run1 run2 --report compare.html
    """
    from drbo.result.result import Result

    typed = (str(learned), str(truth))
    first, second = (Result.load(path) if path.is_dir() else None for path in (learned, truth))
    if report is not None:
        _check_report(report, typed, (first, second))
    found = _compared((learned, truth), (first, second))
    if as_json:
        show_json(found.to_dict())
    else:
        show(found.text(typed))
    _write_report(report, typed, (first, second))


def _compared(paths: tuple[Path, Path], runs: "Runs") -> "Compared":
    """Compare two graphs: in the way of their kinds, where these have one, else by their edges."""
    from drbo.graph import metrics
    from drbo.graph.dag import check_dag, check_pdag
    from drbo.result.compare import ArrowComparison, GraphSide, other_columns
    from drbo.result.files.export import read_graph

    typed = (str(paths[0]), str(paths[1]))
    sides = [
        GraphSide(name, run, partial(read_graph, path)) for name, run, path in zip(typed, runs, paths, strict=True)
    ]
    for run in runs:
        if run is not None and (found_by_kind := run.reading.compared(*sides)) is not None:
            return found_by_kind
    found, other = _read_learned(paths[0], runs[0]), read_graph(paths[1])
    if runs[0] is not None and runs[1] is not None:
        if set(found[1]) != set(other[1]):
            raise other_columns(typed, (found[1], other[1]))
        found = _as_in(found, other, runs[1])
    (estimate, true), names = _aligned(found, other, typed)
    check_dag(check_pdag(estimate, names) & ~estimate.T, names)  # a cycle is named by its variables
    return ArrowComparison(names, metrics.compare(estimate, check_dag(true, names)))


def _check_report(report: Path, typed: tuple[str, str], runs: "Runs") -> None:
    """Refuse what cannot be shown side by side, before anything is compared."""
    for name, run in zip(typed, runs, strict=True):
        if run is None:
            raise SettingsError(
                f"--report compares two runs, but '{name}' is not a folder",
                hint="give two folders that 'drbo fit -o' wrote",
            )
    if report.is_dir():
        raise SettingsError(f"--report writes a file, but '{report}' is a folder", hint="for example compare.html")
    nouns = [run.reading.noun for run in runs if run is not None]
    if len(set(nouns)) > 1:
        raise SettingsError(
            f"--report compares runs of one kind, but '{typed[0]}' found {nouns[0]} and '{typed[1]}' {nouns[1]}",
            hint="fit both with the same options",
        )


def _write_report(report: Path | None, typed: tuple[str, str], runs: "Runs") -> None:
    """Write the page of two runs, if it is wanted."""
    first, second = runs
    if report is None or first is None or second is None:
        return
    from drbo.result.report.comparison import write_comparison

    with writing(report):
        write_comparison((first, second), typed, report)
    say(f"wrote {report}")


def _as_in(found: "Graph", other: "Graph", result: "Result") -> "Graph":
    """Return the graph of a run in which directions that another run leaves open, too, are as in that one's DAG."""
    import numpy as np

    graph, names = found
    place = [other[1].index(name) for name in names]
    dag, answered = other[0][np.ix_(place, place)], answer(result)[np.ix_(place, place)]
    both = graph & graph.T & answered & answered.T
    return np.where(both, dag, graph), names


def _read_learned(path: Path, result: "Result | None") -> "Graph":
    from drbo.result.files.export import read_graph

    if result is None:
        return read_graph(path)
    if result.score_equivalent:
        say(f"note: {CLASS_NOTE}")
    return answer(result), result.names


def answer(result: "Result") -> "npt.NDArray[np.bool_]":
    """Return the graph that a result stands for: the equivalence class where its score sees no more, else the DAG."""
    return result.cpdag if result.score_equivalent else result.dag


def _aligned(
    learned: "Graph", truth: "Graph", typed: tuple[str, str]
) -> tuple[tuple["npt.NDArray[np.bool_]", "npt.NDArray[np.bool_]"], tuple[str, ...]]:
    """Return both graphs over the same nodes: an edge list does not know its nodes without edges."""
    from drbo.result.compare import few

    (_, first), (_, second) = learned, truth
    if set(first).isdisjoint(second):
        numbered = [names == tuple(f"x{j}" for j in range(len(names))) for names in (first, second)]
        if len(first) != len(second) or not any(numbered):
            raise DataError(
                f"the graphs have no node in common: {few(first)} and {few(second)}",
                hint="both graphs must use the same variable names",
            )
        say(
            "note: one graph has no node names; its nodes are assumed to be in the same order as those of the other "
            "graph"
        )
        names = second if numbered[0] else first
        return (learned[0], truth[0]), names
    longer, shorter = (first, second) if len(first) > len(second) else (second, first)
    names = (*longer, *(name for name in shorter if name not in longer))
    for graph, path in zip((learned, truth), typed, strict=True):
        absent = [name for name in names if name not in graph[1]]
        if absent:
            say(f"note: {path} does not mention {few(absent)} and is assumed to have no edges there")
    return (_spread(learned, names), _spread(truth, names)), names


def _spread(graph: "Graph", names: tuple[str, ...]) -> "npt.NDArray[np.bool_]":
    import numpy as np

    adjacency, found = graph
    place = [names.index(name) for name in found]
    wide = np.zeros((len(names), len(names)), dtype=bool)
    wide[np.ix_(place, place)] = adjacency
    return wide
