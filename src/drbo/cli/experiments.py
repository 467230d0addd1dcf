"""Options about experiments, and what ``drbo check`` says about the experiments of a table."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from drbo.cli.messages import plain, table
from drbo.cli.options import FILE

if TYPE_CHECKING:
    from drbo.data.checks.experiments import ExperimentColumn
    from drbo.data.statistics.table import Table

F = TypeVar("F", bound=Callable[..., Any])

#: Columns of an experiment that are named in one line.
SHOWN = 5


def experiment_options(command: F) -> F:
    """Add the options that say which experiment each row comes from, and what is known about it."""
    options = (
        click.option(
            "--experiment", metavar="COLUMN", help="The column (not a variable) that names the experiment of each row."
        ),
        click.option(
            "--control", default="observational", show_default=True, metavar="LABEL",
            help="The label of the rows in which no experiment changed anything.",
        ),
        click.option(
            "--targets", type=FILE, metavar="FILE",
            help="Known targets: a table with the columns experiment, target and, optionally, kind (soft or hard).",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def experiments_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the estimator about experiments."""
    if options["experiment"] is None and options["targets"] is None:
        return {}
    targets = None
    if options["targets"] is not None:
        from drbo.data.reading.read import read_table

        targets = read_table(options["targets"])
    return {"experiment": options["experiment"], "control": options["control"], "targets": targets}


def experiment_column(options: Mapping[str, Any]) -> "ExperimentColumn | None":
    """Return the column of experiments that the options name; None: there is none."""
    from drbo.data.checks.experiments import ExperimentColumn

    return ExperimentColumn.of(*asked.values()) if (asked := experiments_of(options)) else None


def described(checked: "Table") -> list[str]:
    """Return one line per experiment: its rows, the columns whose distribution moved, and suspected targets."""
    from drbo.claims.experiments import describe

    if checked.experiments is None:
        return []
    rows = [[plain(one.label), f"{one.rows:,}", _named(one.moved), _named(one.suspected)] for one in describe(checked)]
    header = ["experiment", "rows", "moved against the control", "suspected targets"]
    what = "Suspected targets are moved columns that other columns do not explain (a quick search; see 'drbo fit')."
    return ["", "Experiments:", table(header, rows, align="lrll"), f"  {what}"]


def _named(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (", ".join(plain(name) for name in names[:SHOWN]) + more) or "-"
