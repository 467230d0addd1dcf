"""Intervals that count graphs without an effect: the value is 0 with some probability, and an estimate otherwise.

The best graph may lack an edge that is there, or have one that is not. The probability of an effect is that of the
link, where the score gives one, and else that of the slope by its BIC at even odds (Kass & Raftery 1995).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtr, ndtri, xlogy

from drbo.arrays import Bools, Floats
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics

#: Ends of a 95% interval.
ENDS = (0.025, 0.975)
#: No score is trusted so far that it narrows an interval to 0: an effect counts with this probability at least.
LEAST_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Doubt:
    """What is known about effects beside the graph."""

    limits: Constraints  # by what was stated
    p_link: Floats | None = None  # (d, d) probability that two columns are linked
    randomised: tuple[str, ...] = ()  # causes whose effects are estimated in any case

    def is_randomised(self, source: int) -> bool:
        """Tell whether chance alone decided a column."""
        return self.limits.names[source] in self.randomised

    def possible(self, source: int) -> Bools:
        """Return (d,) True for the columns that may follow from one, by what was stated."""
        return self.limits.possible_effects(source)

    def share(
        self,
        source: int,
        target: int,
        values: Floats,  # (k,) of a slope for each contrast
        errors: Floats,  # (k,)
        n: float,
        *,
        direct: bool,  # a link of both would be the effect
    ) -> Floats:
        """Return (k,) the probability that there is an effect."""
        if self.is_randomised(source):
            return np.ones(len(values))
        if self.p_link is not None and direct:
            return np.full(len(values), float(self.p_link[source, target]))
        return evidence_of(values, errors, n)

    def share_of_categories(self, source: int, target: int, table: Statistics) -> float:
        """Return the probability that two categories depend on each other: of a link, or by the BIC of their table."""
        if self.p_link is not None:
            return float(self.p_link[source, target])
        codes = table.values[:, [source, target]].astype(np.intp).T
        counts = np.zeros(codes.max(axis=1) + 1)
        np.add.at(counts, tuple(codes), 1.0 if table.weights is None else table.weights)
        n = counts.sum()
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
        gain = 2 * float(xlogy(counts, np.divide(counts, expected, out=np.ones_like(counts), where=expected > 0)).sum())
        freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
        return float(expit((gain - freedom * np.log(n)) / 2))


def evidence_of(
    values: Floats,  # (k,)
    errors: Floats,  # (k,)
    n: float,
) -> Floats:
    """Return (k,) the probability that slopes differ from 0, at even odds before n rows were seen.

    Examples
    --------
    >>> evidence_of(np.array([0.0, 0.2, 0.5]), np.full(3, 0.1), 100).round(2).tolist()
    [0.09, 0.42, 1.0]
    """
    squares = np.divide(values, errors, out=np.full(len(values), np.inf), where=errors > 0) ** 2
    found: Floats = 1 / (1 + np.sqrt(n) * np.exp(-squares / 2))
    return found


def interval(value: float, error: float, share: float) -> tuple[float, float]:
    """Return the ends of the 95% interval of a value that is 0 unless there is an effect, which has a probability."""
    below = share * float(ndtr(-value / error)) if error > 0 else share * (value < 0)
    ends = []
    for level in ENDS:
        inside = level if level <= below else level - (1 - share)
        if below < level <= below + 1 - share:
            ends.append(0.0)
        else:
            ends.append(value + error * float(ndtri(min(max(inside / share, 0.0), 1.0))) if error > 0 else value)
    return ends[0], ends[1]
