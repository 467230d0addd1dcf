"""Names of parametrized tests that a person can read: values in words, not their numbers or representations."""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np

from drbo import DrBO, Settings

LONGEST = 60


def readable(value: Any, parameter: str) -> str | None:
    """Return a short name for the value of a parameter; None leaves it to pytest."""
    words = _words(value, parameter)
    if words is None:
        return None
    line = words.encode("unicode_escape").decode("ascii")
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


def _words(value: Any, parameter: str) -> str | None:
    if isinstance(value, str) or value is None or isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, bytes):
        return repr(value)[2:-1]
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_words(part, parameter)}" for key, part in value.items()) or "nothing"
    if isinstance(value, np.ndarray):
        return "array of " + " x ".join(map(str, value.shape))
    if isinstance(value, Set):
        value = sorted(value)  # whose order is the same in every process
    if isinstance(value, Sequence):
        return " ".join(str(_words(part, parameter)) for part in value) or "nothing"
    if isinstance(value, Settings):
        return value.changes()
    if isinstance(value, DrBO):
        return "DrBO"
    if is_dataclass(value) and not isinstance(value, type):
        given = {each.name: getattr(value, each.name) for each in fields(value) if each.repr}
        stated = {name: part for name, part in given.items() if part is not None and not _is_empty(part)}
        return f"{type(value).__name__}({_words(stated, parameter)})"
    if isinstance(value, partial):
        return str(value.func.__name__)
    name = getattr(value, "__name__", None)
    if name == "<lambda>":
        return parameter
    return name if name is not None else re.sub(r"<.*|\(.*", "", repr(value)).strip() or type(value).__name__


def _is_empty(part: Any) -> bool:
    return part is False or (isinstance(part, Sequence) and not part)
