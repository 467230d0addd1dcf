"""Options that several commands share, and how their values are parsed.

The module is long because each option has its own help text, parser and error messages.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from drbo.cli.lists import as_list
from drbo.errors import SettingsError
from drbo.settings import public_settings

if TYPE_CHECKING:
    from drbo import Table
    from drbo.choices import ScoreChoice

F = TypeVar("F", bound=Callable[..., Any])

#: A path, and a number of at least 1.
FILE, COUNT = click.Path(path_type=Path), click.IntRange(min=1)
#: Options that only a person may give: where code comes from, what is overwritten, and how much is read.
NOT_IN_FILES = ("config", "dask", "force", "max_input")

#: Options that a file may also give as a list, or as a table.
LISTS = ("columns", "drop", "types")

_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([smh]?)")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
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
    if parameter.name in LISTS and isinstance(value, list | dict):
        value = as_list(
            [f"{key}={kind}" for key, kind in value.items()] if isinstance(value, dict) else map(str, value)
        )
    several = parameter.multiple or parameter.nargs == -1
    items = value if several and isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, str | int | float) or isinstance(item, bool):
            raise SettingsError(
                f"{where} must be a string or a number, got {item!s:.80}",
                hint="'drbo init' writes an example of every option",
            )
    words = [str(item) for item in items]
    if any("\0" in word for word in words):
        raise SettingsError(f"{where} must not contain a null character", hint="remove the null character")
    return words if several else words[0]


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
