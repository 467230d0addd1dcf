"""Means and shares of groups of rows, their differences, and 95% intervals for both.

A row of weight w counts as w equal rows. Only SciPy's special functions are needed, which load quickly.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from drbo.arrays import Floats
from drbo.data.statistics.regressions import slopes

NORMAL_95 = 1.959963984540054  # standard errors of a 95% interval


class Estimate(NamedTuple):
    """A value with the ends of its 95% interval."""

    value: float
    low: float
    high: float


def mean_of(
    values: Floats,  # (n,)
    weights: Floats,  # (n,)
) -> Estimate:
    """Return a mean with Student's interval."""
    mean, variance, n = _moments(values, weights)
    half = float(stdtrit(n - 1, 0.975)) * sqrt(variance / n)
    return Estimate(mean, mean - half, mean + half)


def share_of(count: float, n: float) -> Estimate:
    """Return a share with Wilson's score interval."""
    share, z = count / n, NORMAL_95
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return Estimate(share, max(centre - half, 0.0), min(centre + half, 1.0))


def mean_difference(
    values: Floats,  # (n,) of the one group
    weights: Floats,
    others: Floats,  # (m,) of the group that it is compared with
    other_weights: Floats,
) -> Estimate:
    """Return the difference of two means with Welch's interval."""
    (mean, variance, n), (other, spread, m) = _moments(values, weights), _moments(others, other_weights)
    first, second = variance / n, spread / m
    if first + second == 0:
        return Estimate(mean - other, mean - other, mean - other)
    freedom = (first + second) ** 2 / (first**2 / (n - 1) + second**2 / (m - 1))
    half = float(stdtrit(freedom, 0.975)) * sqrt(first + second)
    return Estimate(mean - other, mean - other - half, mean - other + half)


def share_difference(count: float, n: float, other: float, m: float) -> Estimate:
    """Return the difference of two shares with Newcombe's interval, made of Wilson's (Newcombe 1998, method 10)."""
    one, two = share_of(count, n), share_of(other, m)
    value = one.value - two.value
    low = value - np.hypot(one.value - one.low, two.high - two.value)
    return Estimate(value, float(low), float(value + np.hypot(one.high - one.value, two.value - two.low)))


def robust_slopes(
    outcome: Floats,  # (n,)
    design: Floats,  # (n, k) without a column of ones
    weights: Floats,  # (n,)
    wanted: int,  # the first so many columns of the design
) -> list[Estimate] | None:
    """Return slopes of a least-squares regression, with intervals that allow unequal spread (HC3, Student's t).

    None: there are too few rows for it, or columns of the design repeat each other.
    """
    if (found := slopes(outcome, design, weights)) is None:
        return None
    half = float(stdtrit(found.freedom, 0.975)) * found.robust
    ends = zip(found.values[:wanted].tolist(), half.tolist(), strict=False)
    return [Estimate(value, value - width, value + width) for value, width in ends]


def _moments(values: Floats, weights: Floats) -> tuple[float, float, float]:
    """Return mean, variance (over n - 1) and number of rows."""
    n = float(weights.sum())
    mean = float(weights @ values) / n
    return mean, float(weights @ (values - mean) ** 2) / (n - 1), n
