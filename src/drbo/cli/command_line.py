"""The words that repeat a command, for people and for the shell."""

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import click

#: Where an option comes from when it is not a default.
GIVEN = (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.DEFAULT_MAP)


def command_line(context: click.Context, changes: Mapping[str, str] | None = None, command: str = "") -> str:
    """Return the words that repeat a command: its arguments and the options that were given, not its defaults.

    Where the output goes and how much is said does not change the result and is left out, unless the words are for
    another ``command``, to be typed as they are. ``changes`` are options to add or to replace.
    """
    options, arguments, changes = list[str](), list[str](), changes or {}
    for parameter in context.command.params:
        name = parameter.name or ""
        value = changes.get(name, context.params.get(name))
        given = name in changes or context.get_parameter_source(name) in GIVEN
        if not isinstance(parameter, click.Option):
            arguments += map(str, value) if isinstance(value, tuple) else [str(value)]
        elif given and (command or name not in ("output", "force", "as_json", "quiet")):
            flag = max(parameter.opts, key=len)
            values: Sequence[Any] = value if parameter.multiple else [value]  # type: ignore[assignment]
            options += [flag] if parameter.is_flag else [word for item in values for word in (flag, str(item))]
    words = command.split() or context.command_path.split()
    return " ".join(quoted(word) for word in [*words, *arguments, *options])


def quoted(word: str) -> str:
    r"""Return a word for the shell; bytes that are no UTF-8 and what cannot be printed are written out.

    Examples
    --------
    >>> print(quoted("a,b"), quoted("two words"), quoted("red\x1b[31m"))
    a,b 'two words' $'red\x1b[31m'
    """
    try:
        word.encode()
    except UnicodeEncodeError:
        raw = os.fsencode(word)
        return "$'" + "".join(chr(c) if 32 <= c < 127 and c not in b"\\'" else _escape(c) for c in raw) + "'"
    if word.isprintable():
        return shlex.quote(word)
    safe = (c if c.isprintable() and c not in "\\'" else _escape(ord(c), ord(c) > 127) for c in word)
    return "$'" + "".join(safe) + "'"


def _escape(code: int, wide: bool = False) -> str:
    return f"\\U{code:08x}" if wide else f"\\x{code:02x}"
