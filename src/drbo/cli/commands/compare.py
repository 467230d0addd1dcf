"""``drbo compare``: compares a learned graph with the true one."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from drbo.cli.messages import say, show
from drbo.cli.options import FILE, json_option
from drbo.cli.output import show_json, writing
from drbo.errors import SettingsError

if TYPE_CHECKING:
    from drbo.result.compare import Runs


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
    from drbo.result.compare import compared
    from drbo.result.result import Result

    typed = (str(learned), str(truth))
    first, second = (Result.load(path) if path.is_dir() else None for path in (learned, truth))
    if report is not None:
        _check_report(report, typed, (first, second))
    found = compared((learned, truth), (first, second), say)
    if as_json:
        show_json(found.to_dict())
    else:
        show(found.text(typed))
    _write_report(report, typed, (first, second))


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
