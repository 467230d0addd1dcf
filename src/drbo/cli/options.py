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
from drbo.cli.pairs import OTHERS, score_options_of
from drbo.errors import SettingsError
from drbo.settings import public_settings

if TYPE_CHECKING:
    from drbo import Statistics
    from drbo.choices import ScoreChoice

F = TypeVar("F", bound=Callable[..., Any])

#: A path, and a number of at least 1.
FILE, COUNT = click.Path(path_type=Path), click.IntRange(min=1)
#: Options that only a person may give: where code comes from, what is overwritten, and how much is read.
NOT_IN_FILES = ("config", "force")

#: Options that a file may also give as a list, or as a table.
LISTS = ("columns", "drop", "types", "na")

#: Tables of a file whose lines are values of an option, and all tables.
PAIRS = {"settings": "changes", "read": "read", "score_options": "score_option"}
TABLES = ("fit", "knowledge", *PAIRS)

_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([smh]?)")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def duration(word: str) -> float:
    """Return the seconds of a time such as 60s, 5m or 1h."""
    match = _DURATION.fullmatch(word.strip().lower())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if seconds <= 0:
        raise click.BadParameter(f"a time must look like 60s, 5m or 1h, got {word!r}")
    return seconds


def score_options(command: F) -> F:
    """Add the options that choose a score."""
    command = click.option(
        "--score-option",
        multiple=True,
        metavar="NAME=VALUE",
        help="Option of the score, such as penalty=2 (multiplier of the BIC penalty), penalty=ebic (fewer edges), "
        "min_strength=0.01, or, with experiments, others=none and drift=true; repeatable.",
    )(command)
    return click.option(
        "--score",
        callback=own_score,
        metavar="NAME",
        default="auto",
        show_default=True,
        help="Score to maximise: auto, bic-nv, bic-ev, bge, ..., or your own as module:Class.",
    )(command)


def score_choice(table: "Statistics", name: str, pairs: Iterable[str]) -> "ScoreChoice":
    """Return the score that a fit of this table would use, with its options and the reasons."""
    from drbo.choices import Choices

    return Choices(score=name, score_options=score_options_of(pairs) or None).of_score(table)


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
    """Return the parameters of a command from the tables of a TOML file."""
    content = read_config(path)
    unknown = [name for name in content if name not in TABLES]
    if unknown:
        raise SettingsError(f"{path}: unknown table [{unknown[0]}]", hint=f"the allowed tables are {', '.join(TABLES)}")
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
            hint = "write it below [settings]" if name in OTHERS or name in public_settings() else hint
            raise SettingsError(f"{path}: unknown option '{name}' in [fit]", hint=hint)
        if known[word].name in NOT_IN_FILES or (word == "workers" and not isinstance(value, int)):
            raise _only_typed(path, name, f"--{word}")
        values[known[word].name or ""] = _config_value(known[word], value, f"{path}: '{name}'")
    if "max_input" in content.get("read", {}):
        raise _only_typed(path, "max_input", "--read max_input=SIZE")
    for table, option in PAIRS.items():
        if content.get(table):
            values[option] = [f"{name}={value}" for name, value in content[table].items()]
    if content.get("knowledge"):
        values["knowledge_file"] = path
    return values


def _only_typed(path: Path, name: str, option: str) -> SettingsError:
    return SettingsError(
        f"{path}: '{name}' is allowed only on the command line",
        hint=f"remove it from the file, and add {option} to the command",
    )


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


def seed_option(about: str = "Random seed.") -> Callable[[F], F]:
    """Return what adds --seed."""
    return click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="S", help=about)


def time_option(about: str = "Stop after this time, such as 60s, 5m or 1h.") -> Callable[[F], F]:
    """Return what adds --time-limit."""
    return click.option("--time-limit", type=duration, metavar="TIME", help=about)


def json_option(command: F) -> F:
    """Add --json."""
    about = "Print one JSON object instead of text, an error too ('drbo schema' describes it)."
    return click.option("--json", "as_json", is_flag=True, help=about)(command)


def quiet_option(command: F) -> F:
    """Add --quiet."""
    return click.option("-q", "--quiet", is_flag=True, help="Print no progress and no notes on stderr.")(command)
