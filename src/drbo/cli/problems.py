"""Says everything that is wrong with a table at once, and ends with the command that solves it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from drbo.cli.lists import as_list, listed, parsed_types
from drbo.cli.messages import say
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from drbo import DataPolicy, Design
    from drbo.data.checks.advice import Look


class TableProblemsError(DataError):
    """The refusal of a table: ``lines`` has all problems and the command that solves them."""

    def __init__(self, message: str, lines: list[str], hint: str | None = None, column: str | None = None) -> None:
        super().__init__(message, hint)
        self.lines, self.column = lines, column


def doubts(frame: "pd.DataFrame", design: "Design") -> None:
    """Say which columns can be used but hardly are meant to be, and the command that solves it."""
    from drbo import DataPolicy
    from drbo.deadline import current
    from drbo.table_check import first_look, look_for_fit

    if current().over():  # it takes as long as the check of the table that is still to come
        return
    policy = DataPolicy(missing="impute", on_constant="drop", on_collinear="keep")
    found = first_look(frame, design, policy)
    if found.problems and not found.blocking:
        found = look_for_fit(frame, design, policy)
        for problem in found.problems:
            say(f"note: {problem.text}")
        say(f"If that is not what you want: {solving_line(found)}")


def refused(error: DataError, frame: "pd.DataFrame", design: "Design", policy: "DataPolicy") -> DataError:
    """Return the refusal of a table with all problems; the error itself where the columns are not the reason."""
    from drbo.table_check import look_for_fit, problem_lines, stuck

    found = look_for_fit(frame, design, policy)
    if not found.blocking:
        return error
    way = [f"  {solving_line(found)}"] if found.usable else [stuck(found)]
    blocking = next((problem.column for problem in found.problems if problem.blocks), "") or None
    if len(found.problems) == 1:
        return TableProblemsError(error.message, ["This command solves it:"] * found.usable + way, error.hint, blocking)
    lines = [*problem_lines(found), *["This command solves them:"] * found.usable, *way]
    return TableProblemsError(f"the table has {len(found.problems)} problems:", lines, column=blocking)


def solving_line(found: "Look", more: Sequence[str] = ()) -> str:
    """Return the command of a fit, with the options that solve the problems of its table, and more words."""
    from drbo.cli.command_line import command_line

    context = click.get_current_context()
    given = context.params
    changes = {}
    if found.drop:
        changes["drop"] = as_list(dict.fromkeys([*listed(given["drop"] or ""), *found.drop]))
    if found.missing:
        changes["missing"] = found.missing
    if found.types:
        types = parsed_types(given["types"] or "") | dict(found.types)
        changes["types"] = as_list(f"{name}={kind}" for name, kind in types.items())
    if found.na:
        changes["na"] = as_list(dict.fromkeys([*listed(given["na"] or ""), *found.na]))
    return command_line(context, changes, more)
