"""What a report says about randomised arms."""

from typing import NamedTuple

from drbo.claims.arm_effects import ArmEffect
from drbo.result.files.export import printable
from drbo.result.report.plain_words import listed
from drbo.result.result import Result
from drbo.result.words.arm_words import adjusted_words, chance_words, difference_words, side_words


class ArmTable(NamedTuple):
    """The comparison of arms."""

    notes: list[str]  # how to read it
    rows: list[list[str]]  # what is compared, both sides, their difference, and the adjusted one


def arm_table(result: Result) -> ArmTable | None:
    """Return what randomised columns change; None: no column was randomised, or nothing could be compared."""
    found = result.claims.arms
    return ArmTable(_notes(result), [_row(one) for one in found]) if found else None


def _row(one: ArmEffect) -> list[str]:
    return [printable(one.of), *side_words(one), difference_words(one), adjusted_words(one)]


def _notes(result: Result) -> list[str]:
    found = result.claims.arms
    adjusted = sorted({printable(name) for one in found for name in one.adjusted_for})
    words = [
        f"Chance alone decided {listed([printable(name) for name in result.table.randomised])}, so a plain difference "
        "between its arms is an effect, whatever the graph shows. Brackets hold 95% intervals: one that holds 0 "
        "neither shows an effect nor rules it out.",
        f"Adjusted differences compare rows that are alike in {listed(adjusted)}, which cannot follow from the arm."
        if adjusted
        else "To adjust for what was measured before, name it with --root, or in an early tier of --tiers.",
    ]
    return words + ([f"{chance[0].upper()}{chance[1:]}."] if (chance := chance_words(found)) else [])
