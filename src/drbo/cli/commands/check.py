"""``drbo check``: describes a table, and names all of its problems, before any search."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.experiments import design_of, experiment_options
from drbo.cli.many_rows import rows_or_sample
from drbo.cli.messages import put, say, show
from drbo.cli.options import FILE, json_option
from drbo.cli.output import show_json
from drbo.cli.pairs import POLICIES, TARGETS, parse_settings
from drbo.cli.problems import solving_line
from drbo.cli.table_options import data_options, group_option, policy_of
from drbo.progress import under_way
from drbo.result.words.plain_text import shell_line

if TYPE_CHECKING:
    from drbo.table_check import TableCheck, Words

UNUSABLE = 2  # exit code


@click.command(short_help="Check a table before a fit.")
@click.argument("data", type=FILE)
@experiment_options
@group_option
@data_options
@json_option
def check(data: Path, as_json: bool, **options: Any) -> None:
    """Describe every column of the table in DATA, name all problems, and print the command that solves them.

    If the table can be used, the audit follows: sample size, duplicate rows, outliers, scale, serial dependence, and
    how scale could affect the directions of edges. Then comes the score that 'auto' chooses, and why. The last line is
    a 'drbo fit' command to paste. Of a table that 'drbo fit' reads piece by piece (a folder of Parquet files, or one
    beyond the memory), a random sample of the rows is checked.

    The exit code is 2 if the table cannot be used as it is.
    """
    from drbo.table_check import check as checked

    frame, n_rows = rows_or_sample(data, options)
    changes = parse_settings(options["changes"], POLICIES | TARGETS)
    design = design_of(options, changes.get("targets"))
    with under_way(f"checking {data}", tell=say):
        found = replace(checked(frame, design, policy_of(options, changes)), n_rows=n_rows)
    roots = [word for name in found.roots for word in ("--root", name)]
    line = solving_line(found.look, roots) if found.look.usable else ""
    if as_json:
        show_json({**found.to_dict(), "command": line or None})
    else:
        _tell(found, data, line)
    if not found.is_usable:
        raise click.exceptions.Exit(UNUSABLE)


def _tell(found: "TableCheck", data: Path, line: str) -> None:
    """Print what was found, and the next command."""
    from drbo.table_check import stuck

    show("\n".join([found.text(str(data), _words()), "", "Next:" if found.look.usable else stuck(found.look)]))
    if line:
        put(f"  {line}")  # never wrapped


def _words() -> "Words":
    """Return the options in place of Python arguments."""
    from drbo.table_check import Words

    return Words(
        "--score auto", "'drbo fit'", lambda _: "the command below says so",
        lambda name: f"add {shell_line(['--randomised', name])}",
    )  # fmt: skip
