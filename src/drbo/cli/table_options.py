"""Options that say which table a command reads, how it is read, and what its columns hold."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from drbo.cli.lists import listed, parsed_types
from drbo.cli.messages import say
from drbo.errors import SettingsError
from drbo.progress import under_way

if TYPE_CHECKING:
    import pandas as pd

    from drbo import Table
    from drbo.data.reading.source import ReadOptions

F = TypeVar("F", bound=Callable[..., Any])

#: Options that name a column which is not a variable.
NOT_VARIABLES = ("groups", "weights", "clusters", "time", "group", "experiment")

_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(i?)b?")
_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
_DECIMALS = {"comma": ",", "point": ".", "dot": "."}


def size(word: str) -> int:
    """Return the bytes of a size such as 500MB, 4GB or 2GiB.

    Examples
    --------
    >>> size("4GB"), size("1.5 MiB"), size("1000")
    (4000000000, 1572864, 1000)
    """
    match = _SIZE.fullmatch(word.strip().lower())
    base = 1024 if match and match[3] else 1000
    found = float(match[1]) * base ** " kmgt".index(match[2] or " ") if match else 0.0
    if not 1 <= found < 2**63:
        raise click.BadParameter(f"a size must look like 500MB or 4GB, got {word!r}")
    return int(found)


def data_options(command: F) -> F:
    """Add the options that say how a table is read and checked."""
    policies = (
        click.option(
            "--on-constant",
            type=click.Choice(["error", "drop"]),
            default="error",
            show_default=True,
            help="What to do with a column that has the same value in every row.",
        ),
        click.option(
            "--on-collinear",
            type=click.Choice(["error", "drop", "keep"]),
            default="error",
            show_default=True,
            help="What to do with a column that is determined exactly by other columns.",
        ),
        click.option(
            "--missing",
            type=click.Choice(["error", "drop", "em", "impute"]),
            default="error",
            show_default=True,
            help="What to do with missing values: error: refuse them; drop: drop their rows; em: covariance by EM; "
            "impute: multiple imputation.",
        ),
    )
    for option in reversed(policies):
        command = option(command)
    return file_options(command)


def group_options(command: F) -> F:
    """Add the options that say which rows belong together, or that none do."""
    command = click.option(
        "--independent-rows", is_flag=True, help="The order of the rows has no meaning, even if neighbours are similar."
    )(command)
    return group_option(command)


def group_option(command: F) -> F:
    """Add --groups."""
    return click.option(
        "--groups",
        metavar="COLUMN",
        help="Rows with the same label in this column (not a variable) belong together, such as those of a patient: "
        "only changes within groups count.",
    )(command)


def groups_of(options: Mapping[str, Any]) -> Any:
    """Return the groups of a fit: a column, False for independent rows, or None."""
    if options["independent_rows"] and options["groups"] is not None:
        raise SettingsError("--groups and --independent-rows contradict each other", hint="remove one of them")
    return False if options["independent_rows"] else options["groups"]


def stream_file_options(command: F) -> F:
    """Add the options that say how a table is read piece by piece."""
    options = (
        click.option(
            "--separator",
            metavar="CHAR",
            help="Separator of a text file: one character, or 'tab'.  [default: detected]",
        ),
        click.option(
            "--no-header", is_flag=True, help="The text file has no header line; the columns are named x0, x1, ..."
        ),
        click.option("--decimal", metavar="CHAR", help="Decimal mark of numbers in text: . or ,  [default: detected]"),
        click.option(
            "--encoding", metavar="NAME", help="Encoding of a text file, such as cp1252.  [default: detected]"
        ),
        click.option("--columns", metavar="'a,b'", help="Use only these columns; quote a name that contains a comma."),
        click.option("--drop", metavar="'a,b'", help="Leave out these columns."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def file_options(command: F) -> F:
    """Add the options that say how a table is read from its file."""
    options = (
        click.option("--sheet", metavar="NAME", help="Excel worksheet, by name or number.  [default: the first]"),
        click.option(
            "--types",
            metavar="'a=TYPE,b=TYPE'",
            help="What columns contain: number, category, ordered, or an order such as low<medium<high.",
        ),
        click.option(
            "--max-input",
            type=size,
            metavar="SIZE",
            help="Largest table to read.  [default: 4GiB, or 100 times the size of a compressed file]",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return stream_file_options(command)


def read_frame(path: Path, options: Mapping[str, Any], *, quiet: bool = False) -> "pd.DataFrame":
    """Read the table of a command that has :func:`file_options`, and say what was assumed."""
    from drbo import read_table
    from drbo.data.checks.types import typed

    assumed, notes = list[str](), list[str]()
    with under_way(f"reading {path}", quiet=quiet, tell=say):
        frame = read_table(path, read_options(options), notes=assumed)
    frame = typed(frame, parsed_types(options["types"] or ""), notes)
    if not quiet:
        for line in [f"read with {'; '.join(assumed)}"] * bool(assumed) + notes:
            say(f"{path}: {line}")
    return frame


def read_options(options: Mapping[str, Any]) -> "ReadOptions":
    """Return how a table is read by the options of a command."""
    from drbo.data.reading.source import ReadOptions

    marks = {"separator": _SEPARATORS, "decimal": _DECIMALS}
    given: dict[str, Any] = {name: known.get(options[name] or "", options[name]) for name, known in marks.items()}
    given |= {name: options.get(name) for name in ("encoding", "sheet", "max_input")}
    columns = listed(options["columns"] or "")
    if columns:  # and what is no variable
        columns += [options[name] for name in NOT_VARIABLES if options.get(name)]
    return ReadOptions(header=not options["no_header"], columns=columns, drop=listed(options["drop"] or ""), **given)


def read_checked(path: Path, options: dict[str, Any]) -> tuple["Table", tuple[str, ...]]:
    """Read and check the table of a command that has :func:`data_options`; also return the notes of the check."""
    from drbo.choices import Choices
    from drbo.data.checks.prepare import Preparation

    policies = {name: options[name] for name in ("missing", "on_constant", "on_collinear")}
    parts = Choices(score=options.get("score", "auto")).counts_parts
    data = Preparation(**policies, groups=groups_of(options), parts=parts).prepare(read_frame(path, options))
    return data.table, data.notes
