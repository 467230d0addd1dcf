"""``drbo check``: describes a table, and names all of its problems, before any search."""

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.experiments import described, experiment_column, experiment_options
from drbo.cli.many_rows import rows_or_sample, stream_option
from drbo.cli.messages import plain, put, say, show, table
from drbo.cli.options import FILE, score_choice
from drbo.cli.problems import NOTHING_LEFT, listed, look, solving_line
from drbo.cli.table_options import checked_table, data_options, group_options, groups_of
from drbo.deadline import Deadline, OutOfTimeError
from drbo.progress import under_way

if TYPE_CHECKING:
    from drbo.data.checks.advice import ColumnLook
    from drbo.data.checks.facts import Finding
    from drbo.data.statistics.table import Table

SHOWN_COLUMNS = 60
#: What is said beyond the columns and the problems of a table takes at most so many seconds.
SECONDS = 1.5
#: What scale could do is judged by a quick search, for numeric tables of so many columns.
MIN_JUDGED, MAX_JUDGED = 3, 60
UNUSABLE = 2  # exit code


@click.command(short_help="Check a table before a fit.")
@click.argument("data", type=FILE)
@experiment_options
@group_options
@data_options
@stream_option
def check(data: Path, **options: Any) -> None:
    """Describe every column of the table in DATA, name all problems, and print the command that solves them.

    If the table can be used, the audit follows: sample size, duplicate rows, outliers, scale, serial dependence, and
    how scale could affect the directions of edges. Then comes the score that 'auto' chooses, and why. The last line is
    a 'drbo fit' command to paste. Of a table that 'drbo fit' reads piece by piece (a folder of Parquet files, or one
    beyond the memory), a random sample of the rows is checked.

    The exit code is 2 if the table cannot be used as it is.
    """
    frame, n_rows = rows_or_sample(data, options)
    with under_way(f"checking {data}", tell=say):
        found = look(frame, options)
        usable = [] if found.blocking else _usable(frame, options)
    size = f"{data}: {n_rows:,} rows, {frame.shape[1]} columns"
    size += f"; all that follows is of a random sample of {len(frame):,} rows" if len(frame) < n_rows else ""
    lines = [size, "", _columns(found.columns)]
    if len(found.columns) > SHOWN_COLUMNS:
        lines.append(f"  ... and {len(found.columns) - SHOWN_COLUMNS} more")
    if found.problems:
        lines += ["", "Problems:" if found.blocking else "Doubts:", *listed(found)]
    show("\n".join([*lines, *usable, "", "Next:" if found.usable else NOTHING_LEFT]))
    if found.usable:
        put(f"  {solving_line(found)}")  # never wrapped
    if found.blocking:
        raise click.exceptions.Exit(UNUSABLE)


def _usable(frame: Any, options: dict[str, Any]) -> list[str]:
    """Return the notes, the audit and the choice of the score for a table that a fit accepts."""
    checked, notes = checked_table(frame, options, experiment_column(options))
    lines = ["", "Notes:", *(f"  {plain(note)}" for note in notes)] if notes else []
    chosen = ["", "The table is large: 'drbo fit' chooses the score and says why."]
    findings: list[Finding] | None = None
    about: list[str] = []
    with suppress(OutOfTimeError), Deadline(SECONDS) as deadline:
        findings = [*_audit(checked.control_rows, independent=groups_of(options) is False)]
        deadline.check()
        chosen = _choice(checked, options)
        about = described(checked)
        findings += _about_scale(checked.control_rows)  # may take longest, and tells least
    audited = [] if findings is None else _listed(findings)
    return [*lines, *audited, *_suggested_roots(checked), *about, *chosen]


def _choice(checked: "Table", options: dict[str, Any]) -> list[str]:
    """Return the score that 'auto' chooses, and why."""
    whole = checked if options["missing"] == "em" else checked.complete_rows  # imputed tables are complete
    name, _, reasons = score_choice(whole, "auto", None)
    why = [f"  {plain(reason.removeprefix(f'score {name}: '))}" for reason in reasons]
    return ["", f"--score auto chooses {name}:", *why]


def _audit(checked: "Table", *, independent: bool) -> "tuple[Finding, ...]":
    from drbo.data.checks.audit import audit

    return audit(checked, independent=independent).findings


def _listed(findings: "list[Finding]") -> list[str]:
    """Return what the audit says, the serious things first."""
    ordered = sorted(findings, key=lambda finding: not finding.serious)
    words = [f"  {'attention' if f.serious else 'note':<10} {plain(f.text)}" for f in ordered]
    return ["", "Audit:", *(words or ["  no problems found"])]


def _suggested_roots(checked: "Table") -> list[str]:
    """Return the options that say which columns nothing in the table can cause, by their names, as a suggestion."""
    from drbo.data.checks.roots import likely_roots

    if not (found := likely_roots(checked.names)):
        return []
    names = ", ".join(plain(name) for name in found)
    options = " ".join(f"--root {plain(shlex.quote(name))}" for name in found)
    return ["", "Suggestion:", f"  nothing in a table causes {names}; if that is true here, add {options}"]


def _about_scale(checked: "Table") -> "tuple[Finding, ...]":
    """Return what scale could do to arrows, judged by the settled arrows of a graph that is found in any units."""
    if "categorical" in checked.kinds or not MIN_JUDGED <= checked.n_columns <= min(MAX_JUDGED, checked.n_rows - 1):
        return ()
    from drbo.data.checks.audit import audit_arrows
    from drbo.graph.dag import dag_to_cpdag
    from drbo.scores.registry import build_score
    from drbo.search.orders.search import OrderSearch
    from drbo.settings import Settings

    score: Any = build_score("bic-nv", checked, {"penalty": "ebic"})
    dag = OrderSearch(score, Settings(order_patience=1), max_searches=1).run().best.dags[0]
    graph = dag_to_cpdag(dag)
    return audit_arrows(checked, dag, graph & ~graph.T)


def _columns(columns: "tuple[ColumnLook, ...]") -> str:
    """Return one line per column: its name, what it holds, what is missing, its values, and what a fit makes of it."""
    rows = [
        [one.name, one.holds, f"{100 * one.missing:.0f}%" if one.missing else "-", one.used_as, one.values]
        for one in columns[:SHOWN_COLUMNS]
    ]
    return table(["column", "holds", "missing", "used as", "values"], rows, align="llrll")
