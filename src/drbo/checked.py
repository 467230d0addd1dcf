"""Dataclasses whose fields declare their range and meaning, and are checked when an object is made."""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from math import inf
from numbers import Integral, Real
from typing import Any

from drbo.errors import SettingsError


def setting(
    default: Any,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    below: float | None = None,
    options: tuple[str, ...] = (),
    symbol: str = "",
    optional: bool = False,
) -> Any:
    """Declare one setting; the limits are checked when a Settings is made and printed in the docs."""
    kind = type(default) if default is not None else (int if isinstance(low, int) else float)
    limits = {
        "meaning": meaning,
        "kind": kind,
        "low": low,
        "high": high,
        "below": below,
        "options": options,
        "symbol": symbol,
        "optional": optional,
    }
    return field(default=default, metadata=limits)


@dataclass(frozen=True)
class Checked:
    """Settings whose values are checked when they are made."""

    def __post_init__(self) -> None:
        for knob in setting_fields(type(self)):
            problem = _problem(getattr(self, knob.name), knob.metadata)
            if problem:
                raise SettingsError(
                    f"{knob.name} must be {problem}, got {getattr(self, knob.name)!r}",
                    hint=f"{knob.metadata['meaning']}; default {knob.default}",
                )


def setting_fields(kind: type[Checked]) -> list["Field[Any]"]:
    """Return the fields that were declared with :func:`setting`."""
    return [one for one in fields(kind) if one.metadata]


def _problem(value: Any, limits: Mapping[str, Any]) -> str | None:
    """Return what a value must be, in words, or None where it is fine."""
    kind, low, high, below = limits["kind"], limits["low"], limits["high"], limits["below"]
    if value is None and limits["optional"]:
        return None
    if limits["options"]:
        return None if value in limits["options"] else f"one of {', '.join(limits['options'])}"
    if kind is bool:
        return None if isinstance(value, bool) else "True or False"
    allowed = Integral if kind is int else Real
    is_number = isinstance(value, allowed) and not isinstance(value, bool)
    if not is_number or value != value or value in (inf, -inf):
        noun = "a whole number" if kind is int else "a finite number"
        return f"{noun} {_range_words(low, high, below)}".rstrip()
    inside = (low is None or value >= low) and (high is None or value <= high) and (below is None or value < below)
    return None if inside else _range_words(low, high, below)


def _range_words(low: float | None, high: float | None, below: float | None) -> str:
    if low is not None and below is not None:
        return f"in [{low:g}, {below:g})"
    if low is not None and high is not None:
        return f"in [{low:g}, {high:g}]"
    return f"at least {low:g}" if low is not None else ""
