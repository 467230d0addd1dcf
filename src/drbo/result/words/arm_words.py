"""What randomised arms show, in words: means or shares side by side, and their difference with an interval."""

from collections.abc import Sequence
from math import floor, log10
from typing import TYPE_CHECKING

from drbo.claims.arm_effects import Arm, ArmEffect
from drbo.result.files.export import printable

if TYPE_CHECKING:
    from drbo.result.result import Result

#: Differences that a summary lists.
SHOWN_ARMS = 6
#: Decimals at most.
MOST_DECIMALS = 6


def amounts(values: Sequence[float], low: float, high: float, *, share: bool) -> list[str]:
    """Return numbers with as many decimals as an interval supports; shares as percentages, without the sign."""
    scale = 100 if share else 1
    half = scale * (high - low) / 2
    decimals = 2 if half <= 0 else min(max(1 - floor(log10(half)), 0), MOST_DECIMALS)
    return [f"{round(scale * value, decimals) + 0:,.{decimals}f}" for value in values]


def with_interval(value: float, low: float, high: float, *, share: bool) -> str:
    """Return a difference and its interval.

    Examples
    --------
    >>> with_interval(-0.0771, -0.1312, -0.0229, share=True)
    '-7.7 points (-13.1 to -2.3)'
    """
    shown, first, last = amounts([value, low, high], low, high, share=share)
    return f"{shown}{' points' if share else ''} ({first} to {last})"


def level_words(arm: Arm, *, share: bool) -> str:
    """Return the mean or the share of an arm."""
    (shown,) = amounts([arm.value], arm.low, arm.high, share=share)
    return f"{shown}%" if share else shown


def difference_words(one: ArmEffect) -> str:
    """Return the difference between two arms and its interval."""
    return with_interval(one.difference, one.low, one.high, share=bool(one.level))


def adjusted_words(one: ArmEffect) -> str:
    """Return the difference between rows that are equal in prognostic columns; empty where there are none."""
    if one.adjusted is None or one.adjusted_low is None or one.adjusted_high is None:
        return ""
    return with_interval(one.adjusted, one.adjusted_low, one.adjusted_high, share=bool(one.level))


def chance_words(found: Sequence[ArmEffect]) -> str:
    """Return how many of several differences chance alone makes look clear; empty for a single one."""
    if len(found) < 2:
        return ""
    return (
        f"of {len(found)} comparisons, chance alone makes about {max(1, round(0.05 * len(found)))} look clear: trust "
        "those that were planned"
    )


def side_words(one: ArmEffect) -> list[str]:
    """Return the means or shares of both arms; of a dose, what is compared."""
    if one.arm is None or one.reference is None:
        return [f"one unit more of {printable(one.cause)}", ""]
    share = bool(one.level)
    return [f"{level_words(arm, share=share)} with {printable(arm.label)}" for arm in (one.arm, one.reference)]


def arm_lines(result: "Result") -> list[str]:
    """Return the lines of a summary about randomised columns."""
    found = result.claims.arms
    lines = []
    for one in found[:SHOWN_ARMS]:
        fine = adjusted_words(one)
        fine = fine and f"; adjusted for {', '.join(map(printable, one.adjusted_for))} {fine}"
        sides = ", ".join(filter(None, side_words(one)))
        lines.append(f"{printable(one.of)}: {sides}; difference {difference_words(one)}{fine}")
    if more := len(found) - len(lines):
        lines.append(f"{more} more comparisons: see arms (result_.arms, or --json)")
    lines += [words] if (words := chance_words(found)) else []
    return [f"{'' if k else 'randomised':<12} {line}" for k, line in enumerate(lines)]
