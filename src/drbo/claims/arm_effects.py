"""The records of what randomised arms show: two arms, and the difference between them."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Arm:
    """The mean of a column in an arm, or the share of one of its levels, with its 95% interval."""

    label: str
    rows: float  # that they count as
    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class ArmEffect:
    """The difference between an arm of a randomised column and the first one, with its 95% interval."""

    cause: str  # the randomised column
    effect: str
    level: str = ""  # of the effect, of which shares are compared; empty: means are
    arm: Arm | None = None  # None: the cause is a dose, and the difference that of one unit more
    reference: Arm | None = None  # the first arm
    difference: float
    low: float
    high: float
    adjusted: float | None = None  # the same between rows that are equal in prognostic columns; None: there are none
    adjusted_low: float | None = None
    adjusted_high: float | None = None
    adjusted_for: tuple[str, ...] = ()

    @property
    def size(self) -> float:
        """How many half-widths of the interval the difference is from 0; above 1, the interval leaves 0 out."""
        half = (self.high - self.low) / 2
        return abs(self.difference) / half if half > 0 else np.inf if self.difference else 0.0

    @property
    def of(self) -> str:
        """What is compared: a column, or one of its levels."""
        return f"{self.effect} = {self.level}" if self.level else self.effect
