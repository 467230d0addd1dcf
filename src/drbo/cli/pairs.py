"""Options that are given as NAME=VALUE, and may be repeated: --read, --score-option and --set."""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from drbo.errors import SettingsError
from drbo.settings import PRESETS, public_settings

_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def _other(default: Any, meaning: str, kind: type = str) -> dict[str, Any]:
    return {"default": default, "meaning": meaning, "kind": kind, "optional": False}


#: What is done about columns, by ``--set`` of all commands that check a table.
POLICIES = {
    "on_constant": _other("error", "what to do with a column that has the same value in every row: error or drop"),
    "on_collinear": _other(
        "error", "what to do with a column that is determined exactly by other columns: error, drop or keep"
    ),
}
TARGETS = {
    "targets": _other(
        None, "known targets: a table with the columns experiment, target and, optionally, kind (soft or hard)"
    )
}
#: What ``--set`` of a fit takes beside the settings of the search.
OTHERS = {
    "preset": _other("default", f"named search settings: {', '.join(PRESETS)}"),
    "prune": _other(
        "auto",
        "method to remove weak edges at the end: auto, none, f-test, odds, threshold, cam, cam-sequential, kci",
    ),
    "device": _other("auto", "compute device: auto, cpu or cuda"),
    "start": _other(None, "start from this graph: a file or a result folder, such as an edited result"),
    "seeds": _other(None, "fit with so many seeds to see which edges depend on them", int),
    "imputations": _other(
        None, "number of imputed tables for missing = impute, with one search each: 10 by default", int
    ),
    **POLICIES,
    **TARGETS,
}


def split_pairs(option: str, pairs: Iterable[str], known: Collection[str] | None = None) -> dict[str, str]:
    """Return the values of an option such as ``--read sheet=2``, by name."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, word = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            example = next(iter(known or ["penalty"]))
            raise SettingsError(
                f"{option} must have the form name=value, got {pair!r}", hint=f"for example {option} {example}=..."
            )
        if known is not None and name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"the settings are {', '.join(known)}"
            raise SettingsError(f"unknown setting '{name}' of {option}", hint=hint)
        if name in found:
            raise SettingsError(f"{option}: '{name}' is given twice", hint="remove one of them")
        found[name] = word
    return found


def parse_settings(pairs: Iterable[str], known: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """Return settings from words such as ``dropout=0.3``, each read as the kind of number its setting asks for."""
    knobs = public_settings() | OTHERS if known is None else known
    return {
        name: _value(word.strip(), knobs[name]["kind"], optional=knobs[name]["optional"])
        for name, word in split_pairs("--set", pairs, knobs).items()
    }


def score_options_of(pairs: Iterable[str]) -> dict[str, Any]:
    """Return the options of a score from words such as ``penalty=2``: truth values, numbers, or words."""
    return {name: _number(word.strip()) for name, word in split_pairs("--score-option", pairs).items()}


def truth(option: str, word: str) -> bool:
    """Return a truth value."""
    if word.strip().lower() not in _TRUTH:
        raise SettingsError(f"{option} must be true or false, got {word!r}", hint=f"for example {option}=false")
    return _TRUTH[word.strip().lower()]


def _number(word: str) -> Any:
    if word.lower() in ("true", "false"):
        return _TRUTH[word.lower()]
    try:
        return float(word)
    except ValueError:
        return word


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
