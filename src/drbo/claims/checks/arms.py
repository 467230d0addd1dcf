"""What randomised arms show: the difference of their means or shares in every column that may follow from them.

Chance alone decided who is in which arm, so the plain difference estimates the effect, whatever graph was found. A
second estimate is adjusted for prognostic columns: those that lead to the outcome in the graph and that, by what was
stated, cannot follow from the arm.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.claims import contrasts
from drbo.claims.arm_effects import Arm, ArmEffect
from drbo.claims.claim import Claim, Context, Ruling
from drbo.claims.contrasts import Estimate
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.graph.dag import descendants

#: A randomised column with more different numbers than this is a dose, not a list of arms.
MOST_ARMS = 10
#: Rows of an arm that an interval needs.
LEAST_ROWS = 3
#: Names of columns with arms.
ARM_NAMES = re.compile(r"(?i)rx|trt|tx|(the|study|trial|treatment)?[ _.]?(arm|treat|treated|treatment)s?|randomi[sz]ed")
#: The labels of the arm that others are compared with; without one it is the first arm.
CONTROL = re.compile(r"(?i)placebo|control|sham|untreated|no treatment|usual|standard")


def looks_like_arms(table: Statistics, column: int) -> bool:
    """Tell whether a column has the name and the balance of the arms of a trial.

    Examples
    --------
    >>> table = Statistics.from_array(np.array([[0, 0], [0, 1], [1, 1], [1, 1]]), names=["rx", "outcome"])
    >>> looks_like_arms(table, 0), looks_like_arms(table, 1)
    (True, False)
    """
    if not ARM_NAMES.fullmatch(table.names[column]):
        return False
    _, counts = np.unique(table.values[:, column][~np.isnan(table.values[:, column])], return_counts=True)
    return 2 <= len(counts) <= MOST_ARMS and bool(counts.min() >= counts.mean() / 2)


class RandomisedArms(Claim):
    """The differences between the arms of a trial."""

    name, title = "arms", "the differences between randomised arms"
    repeated = False
    always = True
    requested = True

    def relevant(self, context: Context) -> bool:
        return bool(context.inquiry.randomised)

    def run(self, context: Context) -> Ruling:
        current().check()
        asked = context.inquiry
        if not asked.given.all_kept:
            return Ruling(skipped="not all rows are in memory")
        place = [asked.table.names.index(name) for name in asked.given.names]
        dag, limits = context.answer.dag[np.ix_(place, place)], asked.constraints.permuted(place)
        trial = _Trial(asked.given, descendants(dag), limits)
        found = [one for name in asked.randomised for one in trial.effects(name)]
        return Ruling(tuple(sorted(found, key=lambda one: -one.size)))


@dataclass(frozen=True, eq=False)
class _Trial:
    """The rows of a trial, and what may follow from what, in the graph and by what was stated."""

    table: Statistics
    below: Bools  # (d, d)
    limits: Constraints

    def effects(self, randomised: str) -> Iterator[ArmEffect]:
        """Yield the differences between the arms of one column."""
        cause = self.table.index(randomised)
        possible = self.limits.possible_effects(cause)
        for effect in np.flatnonzero(possible).tolist():
            current().check()
            before = ~possible & self.below[:, effect]
            before[cause] = False
            prognostic = np.flatnonzero(before).tolist()
            for level in self._levels(effect):
                yield from self._compared(cause, effect, level, prognostic)

    def _levels(self, column: int) -> list[int]:
        """Return the levels of which shares are compared: the last of two, all of several; -1: means are."""
        levels = self.table.levels[column]
        return [-1] if levels is None else [1] if len(levels) == 2 else list(range(len(levels)))

    def _compared(self, cause: int, effect: int, level: int, prognostic: list[int]) -> Iterator[ArmEffect]:
        """Yield each arm beside the first, or a dose."""
        table, seen = self.table, self._seen([cause, effect])
        told: dict[str, Any] = {"cause": table.names[cause], "effect": table.names[effect]}
        told["level"] = "" if level < 0 else (table.levels[effect] or ())[level]
        arms = np.array(sorted(np.unique(table.values[seen, cause]), key=lambda arm: not self._is_control(cause, arm)))
        used = self._seen([cause, effect, *prognostic])
        outcome, others = self._outcome(effect, level), self._columns(prognostic)
        names = tuple(table.names[k] for k in prognostic)
        if table.levels[cause] is None and len(arms) > MOST_ARMS:
            dose = table.values[:, [cause]]
            plain = contrasts.robust_slopes(outcome[seen], dose[seen], self._weights[seen], 1)
            fine = prognostic and contrasts.robust_slopes(
                outcome[used], np.hstack([dose, others])[used], self._weights[used], 1
            )
            if plain is not None:
                yield ArmEffect(**told, **_difference(plain[0], fine[0] if fine else None, names))
            return
        large = [arm for arm in arms if self._weights[seen & (table.values[:, cause] == arm)].sum() >= LEAST_ROWS]
        if len(large) < 2:
            return
        arms, used = np.array(large), used & np.isin(table.values[:, cause], large)
        found = [self._arm(seen & (table.values[:, cause] == arm), cause, arm, outcome, level >= 0) for arm in arms]
        dummies = (table.values[:, [cause]] == arms[1:]).astype(np.float64)
        fine = prognostic and contrasts.robust_slopes(
            outcome[used], np.hstack([dummies, others])[used], self._weights[used], len(arms) - 1
        )
        for k, arm in enumerate(arms[1:]):
            plain_one = self._difference(seen, cause, (arm, arms[0]), outcome, level >= 0)
            yield ArmEffect(
                **told, arm=found[k + 1], reference=found[0],
                **_difference(plain_one, fine[k] if fine else None, names),
            )  # fmt: skip

    def _is_control(self, cause: int, arm: float) -> bool:
        levels = self.table.levels[cause]
        return levels is not None and bool(CONTROL.search(levels[int(arm)]))

    @property
    def _weights(self) -> Floats:
        """The weights of rows, which count in full even if neighbours are alike: in a trial they are often sorted."""
        weights, table = self.table.weights, self.table
        if weights is None or (table.order is not None and np.ptp(weights) == 0):
            return np.ones(table.n_rows)
        return weights

    def _seen(self, columns: list[int]) -> Bools:
        return np.asarray(~np.isnan(self.table.values[:, columns]).any(axis=1))

    def _outcome(self, effect: int, level: int) -> Floats:
        values = self.table.values[:, effect]
        return values if level < 0 else (values == level).astype(np.float64)

    def _columns(self, columns: list[int]) -> Floats:
        """Return columns of a regression: numbers, and an indicator for each level but the first."""
        parts = [np.empty((self.table.n_rows, 0))]
        for k in columns:
            levels, values = self.table.levels[k], self.table.values[:, [k]]
            parts.append(values if levels is None else (values == np.arange(1, len(levels))).astype(np.float64))
        return np.hstack(parts)

    def _arm(self, rows: Bools, cause: int, arm: float, outcome: Floats, shares: bool) -> Arm:
        weights, here = self._weights[rows], outcome[rows]
        n = float(weights.sum())
        one = contrasts.share_of(float(weights @ here), n) if shares else contrasts.mean_of(here, weights)
        levels = self.table.levels[cause]
        label = f"{arm:g}" if levels is None else levels[int(arm)]
        return Arm(label=label, rows=n, value=one.value, low=one.low, high=one.high)

    def _difference(
        self, seen: Bools, cause: int, arms: tuple[float, float], outcome: Floats, shares: bool
    ) -> Estimate:
        """Return how the rows of one arm differ from those of the other."""
        one, two = (seen & (self.table.values[:, cause] == arm) for arm in arms)
        first, second = self._weights[one], self._weights[two]
        if shares:
            counts = float(first @ outcome[one]), float(second @ outcome[two])
            return contrasts.share_difference(counts[0], float(first.sum()), counts[1], float(second.sum()))
        return contrasts.mean_difference(outcome[one], first, outcome[two], second)


def _difference(plain: Estimate, adjusted: Estimate | None, names: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {"difference": plain.value, "low": plain.low, "high": plain.high}
    if adjusted is not None:
        ends = {"adjusted": adjusted.value, "adjusted_low": adjusted.low, "adjusted_high": adjusted.high}
        found |= ends | {"adjusted_for": names}
    return found
