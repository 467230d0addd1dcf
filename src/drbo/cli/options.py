"""Options that several commands share, and how their values are parsed.

The module is long because each option has its own help text, parser and error messages.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from drbo.errors import SettingsError
from drbo.settings import public_settings

if TYPE_CHECKING:
    import pandas as pd

    from drbo.choices import ScoreChoice
    from drbo.data.experiments import ExperimentColumn
    from drbo.data.table import Table

F = TypeVar("F", bound=Callable[..., Any])

#: A path, and a number of at least 1.
FILE, COUNT = click.Path(path_type=Path), click.IntRange(min=1)
#: Options that only a person may give: where code comes from, what is overwritten, and how much is read.
NOT_IN_FILES = ("config", "dask", "force", "max_input")

_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([smh]?)")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(i?)b?")
_SEPARATOR_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def duration(word: str) -> float:
    """Return the seconds of a time such as 60s, 5m or 1h.

    Examples
    --------
    >>> duration("1.5m"), duration("30")
    (90.0, 30.0)
    """
    match = _DURATION.fullmatch(word.strip().lower())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if seconds <= 0:
        raise click.BadParameter(f"a time must look like 60s, 5m or 1h, got {word!r}")
    return seconds


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


def penalty(word: str) -> float | str:
    """Return a number or the word ebic; the range is checked by the score.

    Examples
    --------
    >>> penalty("2"), penalty("ebic")
    (2.0, 'ebic')
    """
    if word == "ebic":
        return word
    try:
        return float(word)
    except ValueError:
        raise click.BadParameter(f"a penalty must be a number >= 0 or ebic, got {word!r}") from None


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
        "--independent-rows", is_flag=True, help="The order of the rows means nothing, even if neighbours are alike."
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


def file_options(command: F) -> F:
    """Add the options that say how a table is read from its file."""
    options = (
        click.option(
            "--separator",
            metavar="CHAR",
            help="Separator of a text file: one character, or 'tab'.  [default: detected]",
        ),
        click.option(
            "--no-header", is_flag=True, help="The text file has no header line; the columns are named x0, x1, ..."
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
    return command


def score_options(command: F) -> F:
    """Add the options that choose a score."""
    command = click.option(
        "--penalty",
        type=penalty,
        metavar="X",
        help="Multiplier of the BIC penalty (1: as in the paper), or ebic for fewer edges.  [default: 1 if every "
        "edge is tested afterwards, else ebic]",
    )(command)
    return click.option(
        "--score",
        callback=own_score,
        metavar="NAME",
        default="auto",
        show_default=True,
        help="Score to maximise: auto, bic-nv, bic-ev, bge, ..., or your own as module:Class.",
    )(command)


def score_choice(table: "Table", name: str, penalty: float | str | None) -> "ScoreChoice":
    """Return the score that a fit of this table would use, with its options and the reasons."""
    from drbo.choices import Choices

    options = None if penalty is None else {"penalty": penalty}
    return Choices(score=name, score_options=options).of_score(table)


def own_score(context: click.Context, _: click.Parameter, name: str | None) -> str | None:
    """Return the name of a score; one given as module:Class must stand on the command line, not only in a file.

    It is also looked for in the current folder, where ``python -m drbo`` looks by itself and an installed script does
    not.
    """
    if name is None or ":" not in name:
        return name
    filed = str((context.default_map or {}).get("score", ""))
    if context.get_parameter_source("score") is click.core.ParameterSource.DEFAULT_MAP:
        raise SettingsError(
            f"the configuration file names the score '{filed}', but drbo does not load code that only a file names",
            hint=f"if you trust this code, add --score {filed}",
        )
    if ":" in filed and filed != name:
        raise SettingsError(
            f"the configuration file names the score '{filed}', but the command line names '{name}'",
            hint="give the same score in both places, or remove one",
        )
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    return name


def config_option(command: F) -> F:
    """Add --config: a TOML file whose [fit] table gives the options that the command line leaves out."""

    def read(context: click.Context, _: click.Parameter, path: Path | None) -> None:
        if path is not None:
            context.default_map = {**(context.default_map or {}), **config_values(context.command, path)}

    return click.option(
        "--config",
        type=FILE,
        is_eager=True,
        expose_value=False,
        callback=read,
        metavar="FILE",
        help="Read options from a TOML file (see 'drbo init'). Options on the command line take precedence.",
    )(command)


def config_values(command: click.Command, path: Path) -> dict[str, Any]:
    """Return the parameters of a command from the tables [fit], [settings] and [knowledge] of a TOML file."""
    content = read_config(path)
    unknown = [name for name in content if name not in ("fit", "settings", "knowledge")]
    if unknown:
        raise SettingsError(
            f"{path}: unknown table [{unknown[0]}]", hint="the allowed tables are fit, settings and knowledge"
        )
    known: dict[str, click.Parameter] = {}
    for parameter in command.params:
        words = [parameter.name or "", *(word.lstrip("-") for word in (*parameter.opts, *parameter.secondary_opts))]
        known |= {word.replace("_", "-"): parameter for word in words if len(word) > 1}
    values: dict[str, Any] = {}
    for name, value in content.get("fit", {}).items():
        word = name.replace("_", "-")
        if word not in known:
            close = get_close_matches(word, known, n=1)
            hint = f"did you mean {close[0]}?" if close else "'drbo init' writes a file with all options"
            raise SettingsError(f"{path}: unknown option '{name}' in [fit]", hint=hint)
        if known[word].name in NOT_IN_FILES:
            raise SettingsError(
                f"{path}: '{name}' is allowed only on the command line",
                hint=f"remove it from the file, and add --{word} to the command",
            )
        values[known[word].name or ""] = _config_value(known[word], value, f"{path}: '{name}'")
    if content.get("settings"):
        values["changes"] = [f"{name}={value}" for name, value in content["settings"].items()]
    if content.get("knowledge"):
        values["knowledge_file"] = path
    return values


def _config_value(parameter: click.Parameter, value: Any, where: str) -> Any:
    """Return a value of a TOML file as the command line would give it: truth values, words, or lists of words."""
    if isinstance(parameter, click.Option) and parameter.is_flag:
        if not isinstance(value, bool):
            raise SettingsError(f"{where} must be true or false, got {value!r:.80}", hint="write it without quotes")
        return value
    items = value if parameter.multiple and isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, str | int | float) or isinstance(item, bool):
            raise SettingsError(
                f"{where} must be a string or a number, got {item!s:.80}",
                hint="'drbo init' writes an example of every option",
            )
    words = [str(item) for item in items]
    if any("\0" in word for word in words):
        raise SettingsError(f"{where} must not contain a null character", hint="remove the null character")
    return words if parameter.multiple else words[0]


def read_config(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file."""
    from drbo.toml import read_toml

    try:
        content = read_toml(path)
    except OSError as error:
        raise SettingsError(
            f"configuration file '{path}' cannot be read: {error.strerror}", hint="'drbo init' writes an example"
        ) from error
    except ValueError as error:
        raise SettingsError(
            f"configuration file '{path}' is not valid TOML: {error}", hint="'drbo init' writes an example"
        ) from error
    wrong = next((name for name, value in content.items() if not isinstance(value, dict)), None)
    if wrong is not None:
        raise SettingsError(f"{path}: '{wrong}' is outside of any table", hint=f"write [fit] above {wrong} = ...")
    return content


def json_option(command: F) -> F:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")(command)


def quiet_option(command: F) -> F:
    """Add --quiet."""
    return click.option("-q", "--quiet", is_flag=True, help="Print no progress and no notes on stderr.")(command)


def read_frame(path: Path, options: Mapping[str, Any]) -> "pd.DataFrame":
    """Read the table of a command that has :func:`file_options`."""
    from drbo.data.read import read_table

    separator = _SEPARATOR_WORDS.get(options["separator"] or "", options["separator"])
    return read_table(path, separator=separator, header=not options["no_header"], max_input=options["max_input"])


def read_checked(
    path: Path, options: dict[str, Any], experiments: "ExperimentColumn | None" = None
) -> tuple["Table", tuple[str, ...]]:
    """Read and check the table of a command that has :func:`data_options`; also return the notes of the check."""
    from drbo.choices import Choices
    from drbo.data.prepare import Preparation

    frame = read_frame(path, options)
    policies = {name: options[name] for name in ("missing", "on_constant", "on_collinear")}
    parts = Choices(score=options.get("score", "auto")).counts_parts
    data = Preparation(**policies, groups=groups_of(options), parts=parts, experiments=experiments).prepare(frame)
    return data.table, data.notes


def parse_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Return settings from words such as ``dropout=0.3``, each read as the kind of number its setting asks for.

    Examples
    --------
    >>> parse_settings(["dropout=0.3", "region_restart=false", "max_local=none"])
    {'dropout': 0.3, 'region_restart': False, 'max_local': None}
    """
    knobs = public_settings()
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, word = (part.strip() for part in pair.partition("="))
        name = name.replace("-", "_")
        if not equals or not name:
            raise SettingsError(
                f"--set must have the form name=value, got {pair!r}", hint="for example --set dropout=0.3"
            )
        if name not in knobs:
            close = get_close_matches(name, knobs, n=1)
            hint = f"did you mean {close[0]}?" if close else f"the settings are {', '.join(knobs)}"
            raise SettingsError(f"unknown setting '{name}'", hint=hint)
        if name in found:
            raise SettingsError(f"setting '{name}' is given twice", hint="remove one of them")
        found[name] = _value(word, knobs[name]["kind"], optional=knobs[name]["optional"])
    return found


def _value(word: str, kind: type, *, optional: bool) -> Any:
    """Return the word as the kind of value asked for; what does not fit stays a word, and Settings refuses it."""
    if optional and word.lower() == "none":
        return None
    if kind is bool:
        return _TRUTH.get(word.lower(), word)
    try:
        return kind(word)  # int, float or str
    except ValueError:
        return word
