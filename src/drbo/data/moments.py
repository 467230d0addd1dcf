"""Means and covariance of rows that are weighted or incomplete; all that a linear-Gaussian score needs of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.errors import DataError

Floats = npt.NDArray[np.float64]

#: EM ends when no correlation moves by more than this in a round, or after so many rounds.
EM_TOLERANCE = 1e-8
EM_ROUNDS = 2_000
#: Added to the correlations of the cells that are seen: an exact copy still has a regression.
EM_RIDGE = 1e-10


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean, covariance (divided by n, not n - 1), and how many rows stand behind them.

    Examples
    --------
    >>> found = moments(np.array([[0.0, 0.0], [2.0, 1.0]]), weights=np.array([3.0, 1.0]))
    >>> found.mean.tolist(), found.covariance.tolist(), found.n
    ([0.5, 0.25], [[0.75, 0.375], [0.375, 0.1875]], 4.0)
    """

    mean: Floats  # (d,)
    covariance: Floats  # (d, d)
    n: float  # the (effective) number of rows
    pairs: Floats  # (d, d) rows in which both columns are seen; the diagonal: one column


def moments(
    values: Floats,  # (n, d), NaN where a cell is missing
    weights: Floats | None = None,  # (n,) > 0
    names: Sequence[str] | None = None,
) -> Moments:
    r"""Return the maximum-likelihood moments of a Gaussian table, weighted or with missing cells.

    A row of weight w counts as w equal rows. With missing cells the observed-data likelihood is maximised by the EM
    algorithm (Dempster, Laird & Rubin 1977; Little & Rubin 2019, ch. 11). That is right where values are missing at
    random given the values that are seen.

    The effective number of rows is the harmonic mean of the numbers of rows in which two columns are seen together,
    over all pairs: a correlation seen in :math:`n_{ij}` rows has a variance of about :math:`1 / n_{ij}`, and
    :math:`1 / n` is the mean of these. Without missing cells it is the number of rows.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [4.0, np.nan]])
    >>> found = moments(x)
    >>> found.mean.round(4).tolist(), found.n
    ([2.5, 5.0], 3.0)
    """
    seen = ~np.isnan(values)
    weight = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    if seen.all():
        mean = weight @ values / weight.sum()
        centred = (values - mean) * np.sqrt(weight)[:, None]
        total = float(weight.sum())
        return Moments(mean, centred.T @ centred / total, total, np.full((values.shape[1],) * 2, total))
    pairs = (seen * weight[:, None]).T @ seen.astype(np.float64)
    _check_pairs(pairs, [str(j) for j in range(len(pairs))] if names is None else names)
    upper = pairs[np.triu_indices(len(pairs), 1)]
    n = 1.0 / float(np.mean(1.0 / upper))
    low, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    mean, covariance = _em((values - low) / spread, seen, weight)
    return Moments(mean * spread + low, covariance * np.outer(spread, spread), n, pairs)


def _check_pairs(pairs: Floats, names: Sequence[str]) -> None:
    never = np.argwhere(np.triu(pairs == 0, 1))
    if len(never):
        i, j = never[0]
        raise DataError(
            f"columns '{names[i]}' and '{names[j]}' are never seen in the same row: their covariance is unknown",
            hint="drop one of the two columns",
        )


def _em(values: Floats, seen: npt.NDArray[np.bool_], weight: Floats) -> tuple[Floats, Floats]:
    """Return mean and covariance of standardised columns; rows with the same missing cells are treated together."""
    patterns, member = np.unique(seen, axis=0, return_inverse=True)
    groups = []
    for number, pattern in enumerate(patterns):
        rows = member.ravel() == number
        if pattern.any():
            groups.append((np.flatnonzero(pattern), np.flatnonzero(~pattern), values[rows], weight[rows]))
    mean, covariance = np.zeros(values.shape[1]), np.eye(values.shape[1])
    for _ in range(EM_ROUNDS):
        before = mean, covariance
        mean, covariance = _em_round(groups, *before)
        if max(np.abs(mean - before[0]).max(), np.abs(covariance - before[1]).max()) < EM_TOLERANCE:
            break
    return mean, covariance


def _em_round(groups: list[Any], mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Expected sums of the completed rows under the last moments, and the moments that they give."""
    d, total = len(mean), 0.0
    sums, products = np.zeros(d), np.zeros((d, d))
    for known, lost, rows, weight in groups:
        filled = rows.copy()
        if len(lost):
            inner = covariance[np.ix_(known, known)] + EM_RIDGE * np.eye(len(known))
            slopes = np.linalg.solve(inner, covariance[np.ix_(known, lost)])
            filled[:, lost] = mean[lost] + (rows[:, known] - mean[known]) @ slopes
            rest = covariance[np.ix_(lost, lost)] - covariance[np.ix_(lost, known)] @ slopes
            products[np.ix_(lost, lost)] += weight.sum() * rest
        sums += weight @ filled
        products += (filled * weight[:, None]).T @ filled
        total += float(weight.sum())
    centre = sums / total
    spread = products / total - np.outer(centre, centre)
    return centre, (spread + spread.T) / 2
