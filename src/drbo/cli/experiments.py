"""Options about experiments."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from drbo.cli.table_options import groups_of

if TYPE_CHECKING:
    from drbo import Design

#: Options of series.
TIME_OPTIONS = ("time", "unit", "max_lag", "season", "trend")
F = TypeVar("F", bound=Callable[..., Any])


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
            "--randomised", multiple=True, metavar="A",
            help="A variable that chance alone decided, such as the arm of a trial: its arms are compared; repeatable.",
        ),
        click.option(
            "--outcome", metavar="A",
            help="The column that matters: the answer opens with its likely causes and the sizes of their effects.",
        ),
        click.option(
            "--neighbourhood", is_flag=True,
            help="Search only the columns around the outcome: parents, children, and what surrounds them.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def series_options(command: F) -> F:
    """Add the options that say when, and of what, each row was seen."""
    options = (
        click.option(
            "--time", metavar="COLUMN",
            help="The column (not a variable) with the time of each row: causes may be earlier (docs/guide/time.md).",
        ),
        click.option("--unit", metavar="COLUMN", help="The column that names the series of each row."),
        click.option("--max-lag", type=int, metavar="K", help="Steps back that causes may lie.  [default: up to 5]"),
        click.option("--season", type=int, metavar="K", help="Remove a pattern that repeats after K steps."),
        click.option(
            "--trend", metavar="line|none",
            help="Remove a line of time from every column, or keep what changes with time.  [default: what shows]",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def design_of(options: Mapping[str, Any], targets: str | None) -> "Design":
    """Return how the rows came about by the options of a command; ``targets`` is a file."""
    from drbo import Design, read_table

    return Design(
        experiment=options["experiment"],
        control=options["control"],
        targets=None if targets is None else read_table(targets),
        groups=groups_of(options),
        weights=options.get("weights"),
        randomised=options.get("randomised", ()),
        outcome=options.get("outcome"),
        neighbourhood=options.get("neighbourhood", False),
        **{name: options.get(name) for name in TIME_OPTIONS},
    )
