"""``drbo check``: checks and describes a table before any search."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.experiments import described, experiment_column, experiment_options
from drbo.cli.messages import plain, show, table
from drbo.cli.options import FILE, data_options, group_options, groups_of, read_checked, score_choice
from drbo.cli.progress import clock_time

if TYPE_CHECKING:
    from drbo.data.table import Table

SHOWN_COLUMNS = 60
#: Scale and arrows are judged by a quick search, for numeric tables of so many columns.
MIN_JUDGED, MAX_JUDGED = 3, 60
REFERENCE_CLIMBS = 5
SHOWN_LEVELS = 5


@click.command(short_help="Check a table before a fit.")
@click.argument("data", type=FILE)
@click.option("--quick", is_flag=True, help="Do not estimate how long a fit will take.")
@experiment_options
@group_options
@data_options
def check(data: Path, quick: bool, **options: Any) -> None:
    """Read and check the table in DATA as 'drbo fit' would, and report the findings.

    The audit covers sample size, duplicate rows, outliers, scale, serial dependence, and how scale could affect the
    directions of edges. The command then prints which score 'auto' chooses and why, and how long a fit will take.

    The exit code is 2 if the table cannot be used as it is; the error message gives the reason.
    """
    checked, notes = read_checked(data, options, experiment_column(options))
    n_numeric = checked.kinds.count("numeric")
    kinds = [f"{n_numeric} numeric"] * bool(n_numeric)
    kinds += [f"{checked.n_columns - n_numeric} categorical"] * (n_numeric < checked.n_columns)
    lines = [f"{data}: {checked.n_rows:,} rows, {checked.n_columns} columns ({', '.join(kinds)})", ""]
    lines.append(_columns(checked))
    if checked.n_columns > SHOWN_COLUMNS:
        lines.append(f"  ... and {checked.n_columns - SHOWN_COLUMNS} more")
    lines += ["", "Notes:", *(f"  {plain(note)}" for note in notes)] if notes else []
    lines += _findings(checked.control_rows, independent=groups_of(options) is False)
    lines += _suggested_roots(checked)
    lines += described(checked)
    # Imputed tables are complete, and so are those that a fit's time is measured on.
    whole = checked.complete_rows
    name, _, reasons = score_choice(checked if options["missing"] == "em" else whole, "auto", None)
    lines += [
        "",
        f"--score auto chooses {name}:",
        *(f"  {plain(reason.removeprefix(f'score {name}: '))}" for reason in reasons),
    ]
    lines += [] if quick else ["", *_time(whole, name)]
    show("\n".join(lines))


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
    listed = ", ".join(plain(name) for name in found)
    options = " ".join(f"--root {plain(shlex.quote(name))}" for name in found)
    return ["", "Suggestion:", f"  nothing in a table causes {listed}; if that is true here, add {options}"]


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


def _time(checked: "Table", score: str) -> list[str]:
    """Return what a fit will take, from its first iterations."""
    if checked.large:
        return ["The table is large: 'drbo fit --dry-run' estimates how long a fit will take."]
    import numpy as np
    import pandas as pd

    from drbo.cli.estimate import estimate
    from drbo.data.experiments import plain_known

    frame = pd.DataFrame(checked.values, columns=list(checked.names))
    for j, levels in enumerate(checked.levels):
        if levels is not None:
            codes = checked.values[:, j].astype(np.int64)
            frame[checked.names[j]] = pd.Categorical.from_codes(codes, pd.Index(levels))
    arguments: dict[str, Any] = {"score": score, "random_state": 0, "on_collinear": "keep"}
    if (found := checked.experiments) is not None:
        frame[found.column] = [found.labels[code] for code in found.codes]
        arguments |= {
            "experiment": found.column,
            "control": found.labels[0],
            "targets": plain_known(found.known) or None,
        }
    expected = estimate(frame, arguments)
    least = "at least " if expected.open_ended else "about "
    return [
        f"'drbo fit' will take {least}{clock_time(expected.seconds)} before pruning, "
        f"and about {expected.memory:.1f} GiB of memory."
    ]


def _columns(checked: "Table") -> str:
    """Return one line per column: its name, its kind, and its range or levels."""
    import numpy as np

    rows = []
    for j, name in enumerate(checked.names[:SHOWN_COLUMNS]):
        levels, column = checked.levels[j], checked.values[:, j]
        values = column[~np.isnan(column)]
        lost = f", {len(column) - len(values)} missing" if len(values) < len(column) else ""
        if levels is None:
            what = f"mean {values.mean():.4g}, sd {values.std():.4g}, from {values.min():.4g} to {values.max():.4g}"
        else:
            more = ", ..." if len(levels) > SHOWN_LEVELS else ""
            what = f"{len(levels)} levels: {', '.join(levels[:SHOWN_LEVELS])}{more}"
        rows.append([name, checked.kinds[j], what + lost])
    return table(["column", "kind", "values"], rows, align="lll")
