"""``drbo init``: a commented configuration to start from."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from drbo.cli.messages import OutputError
from drbo.cli.options import FILE, NOT_IN_FILES, PAIRS, json_option
from drbo.cli.output import say_written, write
from drbo.cli.pairs import OTHERS
from drbo.errors import SettingsError
from drbo.result.words.plain_text import plain
from drbo.settings import public_settings

#: Options of 'drbo fit' that the file does not list: those about this one call, and what has a table of its own.
LEFT_OUT = {
    *NOT_IN_FILES,
    *("as_json", "quiet", "knowledge_file", "help", *PAIRS.values()),
    *("require", "forbid", "tiers", "roots"),
}
HEAD = """\
# A run of drbo: drbo fit --config {name}
# Lines that begin with # are defaults or examples; remove the # to change a value. Options on the command line take
# precedence over this file.
"""
TABLES = """
[read]  # how the file is read, if that is not detected
# separator = ";"
# decimal = ","
# encoding = "cp1252"
# header = false
# sheet = "2"  # of an Excel file
# stream = true  # piece by piece

[score_options]
# penalty = 2  # multiplier of the BIC penalty, or "ebic"

[knowledge]  # constraints that every graph satisfies
# required = ["age -> income"]
# forbidden = ["wet -> rain"]
# tiers = [["age", "sex"], ["dose"], ["outcome"]]  # earliest to latest
# forbid_within_tiers = false
# roots = ["age"]
# leaves = ["outcome"]
# context = ["site"]  # caused only by other context variables
# max_parents = 4
"""


@click.command(short_help="Write a commented configuration file.")
@click.argument("path", metavar="FILE", type=FILE, default="run.toml")
@click.option("--data", metavar="TABLE", help="The table to fit.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@json_option
def init(path: Path, data: str | None, force: bool, as_json: bool) -> None:
    """Write a TOML file with every option of 'drbo fit', its default and its meaning.

    \b
    Examples:
      drbo init
      drbo init run.toml --data table.csv
      drbo fit --config run.toml
    """
    from drbo.cli.commands.fit import fit

    if path.exists() and not force:
        raise OutputError(f"'{path}' already exists", hint="choose another name, or add --force")
    table = data or "table.csv"
    if plain(table) != table:
        raise SettingsError(
            f"the name '{table}' cannot be written to a TOML file", hint="omit --data, or rename the file"
        )
    lines = [HEAD.format(name=plain(path.name)), "[fit]", f"data = {_toml(table)}", 'output = "run"']
    lines += _options(fit.params)
    lines += ["", "[settings]  # of the search, and what is rarely changed", *_settings(), TABLES]
    write(path, "\n".join(lines).encode())
    say_written(f"wrote {path}; next: drbo fit --config {path}", [path], as_json=as_json)


def _options(parameters: Iterable[click.Parameter]) -> list[str]:
    """Return a commented line per option, its meaning above it."""
    lines = []
    for option in parameters:
        if not isinstance(option, click.Option) or option.name in LEFT_OUT | {"output"}:
            continue
        name = max(option.opts, key=len).lstrip("-")
        value = option.default if isinstance(option.default, bool | int | float | str) else None
        shown = _toml(value) if value not in (None, "") else "..."
        lines += ["", f"# {(option.help or '').split('  [')[0]}", f"# {name} = {shown}"]
    return lines


def _settings() -> list[str]:
    lines = []
    for name, about in (OTHERS | public_settings()).items():
        value = "..." if about["default"] is None else _toml(about["default"])
        lines.append(f"# {name} = {value}  # {about['meaning']}")
    return lines


def _toml(value: Any) -> str:
    """Return a value in the words of TOML.

    Examples
    --------
    >>> _toml(True), _toml("run"), _toml(0.5)
    ('true', '"run"', '0.5')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
