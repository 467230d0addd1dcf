"""Options that say which table a command reads, how it is read, and what its columns hold."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from drbo.cli.lists import listed, parsed_types
from drbo.cli.messages import say
from drbo.cli.pairs import POLICIES, TARGETS, parse_settings, split_pairs, truth
from drbo.errors import SettingsError
from drbo.progress import under_way

if TYPE_CHECKING:
    import pandas as pd

    from drbo import Statistics
    from drbo.design import DataPolicy

F = TypeVar("F", bound=Callable[..., Any])

#: Options that name a column which is not a variable.
NOT_VARIABLES = ("groups", "weights", "time", "unit", "group", "experiment")
#: The word of --groups for rows without an order.
INDEPENDENT = "none"
#: What --read takes.
READ = ("separator", "decimal", "encoding", "header", "sheet", "table", "max_input", "stream")

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
        raise SettingsError(f"a size must look like 500MB or 4GB, got {word!r}", hint="for example max_input=4GB")
    return int(found)


def added(command: F, *options: Callable[[F], F]) -> F:
    """Add options to a command, in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def data_options(command: F) -> F:
    """Add the options that say how a table is read and checked."""
    changes = click.option(
        "--set", "changes", multiple=True, metavar="NAME=VALUE",
        help="on_constant=drop: leave out columns with the same value in every row; on_collinear=drop or keep: columns "
        "that are determined exactly by other columns; repeatable.",
    )  # fmt: skip
    return file_options(added(command, missing_option, changes))


def missing_option(command: F) -> F:
    """Add --missing."""
    return click.option(
        "--missing",
        type=click.Choice(["error", "drop", "em", "impute"]),
        default="error",
        show_default=True,
        help="What to do with missing values: error: refuse them; drop: drop their rows; em: covariance by EM; "
        "impute: multiple imputation.",
    )(command)


def group_option(command: F) -> F:
    """Add --groups."""
    return click.option(
        "--groups",
        metavar="COLUMN",
        help="Rows with the same label in this column (not a variable) belong together, such as those of a patient: "
        "only changes within groups count. none: the order of the rows has no meaning, even if neighbours are similar.",
    )(command)


def groups_of(options: Mapping[str, Any]) -> Any:
    """Return the groups of a fit: a column, False for independent rows, or None."""
    return False if options["groups"] == INDEPENDENT else options["groups"]


def column_options(command: F) -> F:
    """Add the options that say which columns are read from a file, and how."""
    return added(
        command,
        read_option,
        click.option("--columns", metavar="'a,b'", help="Use only these columns; quote a name that contains a comma."),
        click.option("--drop", metavar="'a,b'", help="Leave out these columns."),
    )


def file_options(command: F) -> F:
    """Add the options that say how a table is read from its file, and what its columns hold."""
    types = click.option(
        "--types",
        metavar="'a=TYPE,b=TYPE'",
        help="What columns contain: number, category, ordered, an order such as low<medium<high, or censored:STATUS, a "
        "time until the event that the column STATUS tells of. A name may have *.",
    )
    na = click.option("--na", metavar="'*,-99'", help="Cells that mean that a value is missing, in all columns.")
    return column_options(added(command, types, na))


def read_option(command: F) -> F:
    """Add --read."""
    return click.option(
        "--read", multiple=True, metavar="NAME=VALUE",
        help="How the file is read: separator=; (or tab), decimal=, or ., encoding=cp1252, header=false, sheet=NAME "
        "(Excel), table=NAME (database), max_input=4GB (largest table), stream=true (piece by piece); repeatable.  "
        "[default: detected]",
    )(command)  # fmt: skip


def policy_of(options: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> "DataPolicy":
    """Return what a command does about columns and cells; types are applied when a table is read."""
    from drbo.design import DataPolicy

    given = parse_settings(options["changes"], POLICIES | TARGETS) if changes is None else changes
    names = ("imputations", "on_constant", "on_collinear")
    return DataPolicy(missing=options["missing"], **{name: given[name] for name in names if name in given})


def read_frame(path: Path, options: Mapping[str, Any], *, quiet: bool = False) -> "pd.DataFrame":
    """Read the table of a command that has :func:`file_options`, and say what was assumed."""
    from drbo import DataPolicy, read_table
    from drbo.data.checks.types import declared

    if is_streamed(options):
        raise SettingsError("--read stream=true: all rows are needed here", hint="omit it")
    assumed, notes = list[str](), list[str]()
    with under_way(f"reading {path}", quiet=quiet, tell=say):
        frame = read_table(path, notes=assumed, **read_options(options))
    if options.get("groups") == INDEPENDENT and INDEPENDENT in frame:
        raise SettingsError("--groups none: the table has a column of this name", hint="rename the column")
    frame = declared(
        frame, DataPolicy(types=parsed_types(options["types"] or ""), na=listed(options["na"] or "")), notes
    )
    if not quiet:
        for line in [f"read with {'; '.join(assumed)}"] * bool(assumed) + notes:
            say(f"{path}: {line}")
    return frame


def is_streamed(options: Mapping[str, Any]) -> bool:
    """Tell whether a table is to be read piece by piece, whatever its size."""
    return truth("--read stream", split_pairs("--read", options["read"], READ).get("stream", "false"))


def read_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a table is read by the options of a command, as arguments of :func:`drbo.read_table`."""
    given: dict[str, Any] = split_pairs("--read", options["read"], READ)
    given.pop("stream", None)
    for name, known in (("separator", _SEPARATORS), ("decimal", _DECIMALS)):
        if name in given:
            given[name] = known.get(given[name], given[name])
    if "max_input" in given:
        given["max_input"] = size(given["max_input"])
    if "header" in given:
        given["header"] = truth("--read header", given["header"])
    columns = listed(options["columns"] or "")
    if columns:  # and what is no variable
        columns += [options[name] for name in NOT_VARIABLES if options.get(name)]
        columns = [name for name in columns if (options.get("groups"), name) != (INDEPENDENT, INDEPENDENT)]
        columns += [options["bootstrap"].clusters] if getattr(options.get("bootstrap"), "clusters", "") else []
    return {"columns": columns, "drop": listed(options["drop"] or ""), **given}


def read_checked(path: Path, options: dict[str, Any]) -> tuple["Statistics", tuple[str, ...]]:
    """Read and check the table of a command that has :func:`data_options`; also return the notes of the check."""
    from drbo.choices import Choices
    from drbo.design import Design

    how = Choices(
        score=options.get("score", "auto"), design=Design(groups=groups_of(options)), policy=policy_of(options)
    )
    data = how.preparation.prepare(read_frame(path, options))
    return data.table, data.notes
