"""Columns whose units and far-out values decide nothing: standardised, ranked, or with such values pulled in."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from drbo.arrays import Floats
from drbo.data.statistics.blocks import is_large
from drbo.deadline import current

#: Digits after the point of standardised columns that count.
UNIT_DIGITS = 9
#: Values further than this many interquartile ranges outside the quartiles are "far out" (Tukey 1977).
FAR_OUT = 3.0


def standardized(values: Floats) -> Floats:
    """Return the columns with mean 0 and variance 1; a constant column becomes 0, a missing cell stays NaN."""
    if np.isnan(values).any():
        centred = values - np.nanmean(values, axis=0)
        deviation = np.nanstd(centred, axis=0)
    else:
        centred = values - values.mean(axis=0)
        deviation = centred.std(axis=0)
    scaled: Floats = centred / np.where(deviation > 0, deviation, 1.0)
    return scaled


def unit_free(values: Floats) -> Floats:
    """Return standardised columns that are the same to the last bit in all units, but for rare cases.

    The rounding errors of other units sit in the digits that are cut off; left in, they decide ties, and from there on
    a search takes another way.
    """
    rounded: Floats = np.round(standardized(values), UNIT_DIGITS)
    return rounded


def normal_scores(column: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Floats:
    """Return the standard normal quantiles of a column's ranks; equal values share the mean of their ranks.

    A row of weight w counts as w equal rows.
    """
    x = np.asarray(column, dtype=np.float64)
    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    if weights is not None:
        counts = np.bincount(place, np.asarray(weights, dtype=np.float64))
    below = np.cumsum(counts) - counts / 2  # and half of the equal ones: the mean rank, less a half
    scores: Floats = ndtri(below[place] / counts.sum())
    return scores


def ranked(values: Floats, categorical: Sequence[int] = (), weights: npt.ArrayLike | None = None) -> Floats:
    """Return the table with the normal scores of every numeric column in its place; the deadline ends a large one."""
    kept, columns = set(categorical), list[Floats]()
    for j, column in enumerate(values.T):
        if is_large(*values.shape):
            current().check()
        columns.append(column if j in kept else normal_scores(column, weights))
    return np.column_stack(columns)


def winsorized(values: npt.ArrayLike) -> Floats:
    """Return the columns with far-out values pulled in to Tukey's outer fences.

    A Gaussian likelihood pays any price for one wild value: without this an isolated outlier "proves" an edge.
    Fences are three interquartile ranges outside the quartiles: two in a million values of a Gaussian column. A column
    with half of its values equal has no spread to measure by and stays as it is.
    """
    array = np.asarray(values, dtype=np.float64)
    pulled: Floats = np.clip(array, *far_out(array))
    return pulled


def far_out(values: Floats) -> tuple[Floats, Floats]:
    """Return Tukey's outer fences of each column (d,): what lies beyond them is far out."""
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    reach = np.where(high > low, FAR_OUT * (high - low), np.inf)
    return low - reach, high + reach
