"""The words that repeat a command, for people and for the shell."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from drbo.result.words.plain_text import shell_line

#: Where an option comes from when it is not a default.
GIVEN = (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.DEFAULT_MAP)


def command_line(context: click.Context, changes: Mapping[str, str] | None = None, more: Sequence[str] = ()) -> str:
    """Return the line that makes a fit as it was asked for, to be typed.

    ``changes`` are options to add or replace, ``more`` are words for options that this command does not have. The time
    limit of another command is its own.
    """
    own = () if context.command.name == "fit" else ("time_limit", "as_json")
    return shell_line(["drbo", "fit", *_given(context, changes or {}, own), *more])


def command_words(context: click.Context) -> tuple[str, ...]:
    """Return the words that repeat a command: its arguments and the options that were given, not its defaults.

    Where the output goes and how much is said does not change the result and is left out.
    """
    return "drbo", context.command.name or "", *_given(context, {}, ("output", "force", "as_json", "quiet"))


def _given(context: click.Context, changes: Mapping[str, str], left_out: Sequence[str]) -> list[str]:
    """Return arguments, then the options that were given or are changed."""
    options, arguments = list[str](), list[str]()
    for parameter in context.command.params:
        name = parameter.name or ""
        value = changes.get(name, context.params.get(name))
        given = name in changes or context.get_parameter_source(name) in GIVEN
        if not isinstance(parameter, click.Option):
            arguments += map(str, value) if isinstance(value, tuple) else [str(value)]
        elif given and value is not None and name not in left_out:  # a file of options is read, not a value
            flag = max(parameter.opts, key=len)
            values: Sequence[Any] = value if parameter.multiple else [value]
            options += [flag] if parameter.is_flag else [word for item in values for word in (flag, str(item))]
    return [*arguments, *options]
