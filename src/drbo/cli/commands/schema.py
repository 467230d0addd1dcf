"""``drbo schema``: describes what ``--json`` prints."""

import click

from drbo.cli.interrupts import FAILURE, INTERRUPTED, MISUSE, SUCCESS
from drbo.cli.options import json_option
from drbo.cli.output import show_json
from drbo.cli.shapes import ERROR, SHAPES, answer_schema
from drbo.errors import SettingsError, name_hint


@click.command(short_help="Describe what --json prints, as JSON Schema.")
@click.argument("command", required=False)
@json_option
def schema(command: str | None, as_json: bool) -> None:  # noqa: ARG001 - the answer is JSON in any case
    """Print the JSON Schema of what --json prints, for COMMAND or for all commands.

    With --json a command prints one object on stdout, also where it fails: then with the keys error, hint and column.
    The key 'schema' is the version of the contract. Keys may be added within a version. Progress and notes go to
    stderr, and exit codes are the same with and without --json.

    \b
    Examples:
      drbo schema
      drbo schema fit
    """
    if command is not None and command not in SHAPES:
        raise SettingsError(f"there is no command '{command}'", hint=name_hint(command, SHAPES, "commands"))
    shown = SHAPES if command is None else {command: SHAPES[command]}
    codes = {SUCCESS: "result", FAILURE: "failure", MISUSE: "usage or bad data", INTERRUPTED: "interrupted"}
    show_json(
        {
            "exit_codes": {str(code): words for code, words in codes.items()},
            "error": answer_schema(ERROR),
            "commands": {name: answer_schema(shape) for name, shape in shown.items()},
        }
    )
