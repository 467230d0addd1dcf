"""Options about experiments."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from drbo.cli.options import FILE

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
        from drbo import read_table

        targets = read_table(options["targets"])
    return {"experiment": options["experiment"], "control": options["control"], "targets": targets}
