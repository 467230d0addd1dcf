"""Command-line options from the signature of a function, so that parameters, types, defaults and help stand once.

A parameter ``seeds: Seeds = range(10)`` is the option ``--seeds 0-9``. Its help is the text of its ``Annotated`` type.
"""

import argparse
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

Names = tuple[str, ...]
Numbers = Sequence[int]
Seeds = Annotated[Numbers, "seeds of the data sets"]
Graphs = Annotated[Names, "random graphs: nodes, type, edges per node"]
SampleSize = Annotated[int, "rows of each table"]
Workers = Annotated[int, "runs at a time"]
Device = Annotated[Literal["cpu", "cuda"], "where the search computes"]


def names(text: str) -> Names:
    """Read "a,b" as two names."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def numbers(text: str) -> list[int]:
    """Read "0-4,7" as 0, 1, 2, 3, 4, 7."""
    ends = [part.split("-") for part in text.split(",")]
    return [number for part in ends for number in range(int(part[0]), int(part[-1]) + 1)]


def add_options(parser: argparse.ArgumentParser, function: Callable[..., Any], quick: Mapping[str, Any]) -> None:
    """Add an option for each parameter of a function; ``quick`` holds defaults that replace its own."""
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        kind, words = parameter.annotation, ""
        if get_origin(kind) is Annotated:
            kind, words = get_args(kind)
        words, default = words.replace("%", "%%"), quick.get(name, parameter.default)
        option: dict[str, Any] = {"default": default, "help": words}
        if kind is bool:
            option["action"] = "store_true"
        else:
            option["type"] = _reader(kind)
            option["choices"] = get_args(kind) if get_origin(kind) is Literal else None
            option["help"] += f"; default: {_text(default)}" if default is not None else ""
        parser.add_argument(f"--{name.replace('_', '-')}", **option)


def _reader(kind: Any) -> Callable[[str], Any]:
    """Return the function that reads the text of an option."""
    if NoneType in get_args(kind):
        return _reader(next(part for part in get_args(kind) if part is not NoneType))
    if get_origin(kind) is Literal:
        return str
    reader: Callable[[str], Any] = {Names: names, Numbers: numbers}.get(kind, kind)
    return reader


def _text(value: Any) -> str:
    """Return a default as it would be typed."""
    if isinstance(value, range) and len(value) > 1:
        return f"{value[0]}-{value[-1]}"
    return ",".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)
