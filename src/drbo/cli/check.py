"""``drbo check``: describes a table, and names all of its problems, before any search."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.experiments import described, experiment_column, experiment_options
from drbo.cli.messages import plain, put, show, table
from drbo.cli.options import FILE, score_choice
from drbo.cli.problems import NOTHING_LEFT, listed, look, solving_line
from drbo.cli.table_options import checked_table, data_options, group_options, groups_of, read_frame
from drbo.deadline import Deadline, OutOfTimeError

if TYPE_CHECKING:
    from drbo.data.advice import ColumnLook
    from drbo.data.table import Table

SHOWN_COLUMNS = 60
#: What is said beyond the columns and the problems of a table takes at most so many seconds.
SECONDS = 1.5
#: Scale and arrows are judged by a quick search, for numeric tables of so many columns.
MIN_JUDGED, MAX_JUDGED = 3, 60
REFERENCE_CLIMBS = 5
UNUSABLE = 2  # exit code


@click.command(short_help="Check a table before a fit.")
@click.argument("data", type=FILE)
@experiment_options
@group_options
@data_options
def check(data: Path, **options: Any) -> None:
    """Describe every column of the table in DATA, name all problems, and print the command that solves them.

    If the table can be used, the audit follows: sample size, duplicate rows, outliers, scale, serial dependence, and
    how scale could affect the directions of edges. Then comes the score that 'auto' chooses, and why. The last line is
    a 'drbo fit' command to paste.

    The exit code is 2 if the table cannot be used as it is.
    """
    frame = read_frame(data, options)
    found = look(frame, options)
    lines = [f"{data}: {len(frame):,} rows, {frame.shape[1]} columns", "", _columns(found.columns)]
    if len(found.columns) > SHOWN_COLUMNS:
        lines.append(f"  ... and {len(found.columns) - SHOWN_COLUMNS} more")
    if found.problems:
        lines += ["", "Problems:" if found.blocking else "Doubts:", *listed(found)]
    if not found.blocking:
        lines += _usable(frame, options)
    show("\n".join([*lines, "", "Next:" if found.usable else NOTHING_LEFT]))
    if found.usable:
        put(f"  {solving_line(found)}")  # never wrapped
    if found.blocking:
        raise click.exceptions.Exit(UNUSABLE)


def _usable(frame: Any, options: dict[str, Any]) -> list[str]:
    """Return the notes, the audit and the choice of the score for a table that a fit accepts."""
    checked, notes = checked_table(frame, options, experiment_column(options))
    lines = ["", "Notes:", *(f"  {plain(note)}" for note in notes)] if notes else []
    try:
        with Deadline(SECONDS) as deadline:
            lines += _findings(checked.control_rows, independent=groups_of(options) is False)
            lines += _suggested_roots(checked)
            lines += described(checked)
            deadline.check()
            # Imputed tables are complete.
            whole = checked if options["missing"] == "em" else checked.complete_rows
            name, _, reasons = score_choice(whole, "auto", None)
    except OutOfTimeError:
        return [*lines, "", "The table is large: 'drbo fit' chooses the score and says why."]
    why = [f"  {plain(reason.removeprefix(f'score {name}: '))}" for reason in reasons]
    return [*lines, "", f"--score auto chooses {name}:", *why]


def _findings(checked: "Table", *, independent: bool) -> list[str]:
    """Return what the audit says, the serious things first."""
    from drbo.data.audit import audit, audit_arrows

    findings = [*audit(checked, independent=independent).findings]
    if (reference := _reference(checked)) is not None:
        findings += audit_arrows(checked, *reference)
    findings.sort(key=lambda finding: not finding.serious)
    words = [f"  {'attention' if f.serious else 'note':<10} {plain(f.text)}" for f in findings]
    return ["", "Audit:", *(words or ["  no problems found"])]


def _suggested_roots(checked: "Table") -> list[str]:
    """Return the options that say which columns nothing in the table can cause, by their names, as a suggestion."""
    from drbo.data.roots import likely_roots

    if not (found := likely_roots(checked.names)):
        return []
    names = ", ".join(plain(name) for name in found)
    options = " ".join(f"--root {plain(shlex.quote(name))}" for name in found)
    return ["", "Suggestion:", f"  nothing in a table causes {names}; if that is true here, add {options}"]


def _reference(checked: "Table") -> Any:
    """Return a graph found in any units, and its settled arrows: what scale could do is judged by it."""
    checked = checked.control_rows
    if "categorical" in checked.kinds or not MIN_JUDGED <= checked.n_columns <= MAX_JUDGED:
        return None
    from drbo.graph import dag_to_cpdag
    from drbo.scores.registry import build_score
    from drbo.search.orders.search import OrderSearch
    from drbo.settings import Settings

    if checked.n_rows <= checked.n_columns:
        return None
    score: Any = build_score("bic-nv", checked, {"penalty": "ebic"})
    dag = OrderSearch(score, Settings(order_patience=REFERENCE_CLIMBS)).run().best.dags[0]
    graph = dag_to_cpdag(dag)
    return dag, graph & ~graph.T


def _columns(columns: "tuple[ColumnLook, ...]") -> str:
    """Return one line per column: its name, what it holds, what is missing, its values, and what a fit makes of it."""
    rows = [
        [one.name, one.holds, f"{100 * one.missing:.0f}%" if one.missing else "-", one.used_as, one.values]
        for one in columns[:SHOWN_COLUMNS]
    ]
    return table(["column", "holds", "missing", "used as", "values"], rows, align="llrll")
