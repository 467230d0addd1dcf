"""Means and covariance of weighted or incomplete rows, which are all that a linear-Gaussian score needs of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from drbo.arrays import Bools, Floats, Indices
from drbo.data.statistics.square import add_products, rearranged, square
from drbo.deadline import GRACE_SECONDS, Deadline, current
from drbo.errors import DataError
from drbo.machine.threads import one_blas_thread

#: EM ends when no correlation moves by more than this in a round, or after so many rounds.
EM_TOLERANCE = 1e-7
EM_ROUNDS = 2_000
#: Added to the variances of standardised columns: an exact copy still has a regression.
EM_RIDGE = 1e-10
ROOM = 2**23  # numbers of one batch of small matrices
ROWS = 2**14  # of a block


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean, covariance (divided by n, not n - 1), and how many rows stand behind them."""

    mean: Floats  # (d,)
    covariance: Floats  # (d, d)
    n: float  # the (effective) number of rows
    pairs: Floats  # (d, d) rows in which both columns are seen; the diagonal: one column

    @property
    def correlation(self) -> Floats:
        """The covariance of columns of variance 1."""
        deviation = np.sqrt(np.diag(self.covariance))
        return np.asarray(self.covariance / deviation / deviation[:, None])

    def take(self, columns: Indices) -> "Moments":
        """Return the moments of these columns, in this order."""
        both, one_number = np.ix_(columns, columns), not any(self.pairs.strides)
        pairs = np.broadcast_to(self.pairs[:1, :1], (len(columns),) * 2) if one_number else self.pairs[both]
        return Moments(self.mean[columns], rearranged(self.covariance, columns), self.n, pairs)


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
    """
    seen = ~np.isnan(values)
    weight = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    if seen.all():
        mean = weight @ values / weight.sum()
        centred = (values - mean) * np.sqrt(weight)[:, None]
        total = float(weight.sum())
        return Moments(mean, centred.T @ centred / total, total, np.full((values.shape[1],) * 2, total))
    pairs = (seen * weight[:, None]).T @ seen.astype(np.float64)
    check_pairs(pairs, [str(j) for j in range(len(pairs))] if names is None else names)
    n = effective(pairs)
    low, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    with Deadline(least=GRACE_SECONDS / 2):  # no graph is found without them: small tables are not refused
        mean, covariance = _em((values - low) / spread, seen, weight)
    return Moments(mean * spread + low, covariance * np.outer(spread, spread), n, pairs)


def complete_moments(values: Floats) -> Moments:
    """Return the moments of complete rows of equal weight, block by block: no copy of the table is made."""
    n, d = values.shape
    blocks = [slice(start, start + ROWS) for start in range(0, n, ROWS)]
    mean = np.sum([np.ascontiguousarray(values[part]).sum(axis=0) for part in blocks], axis=0) / n
    covariance = square(d)
    with one_blas_thread():
        for part in blocks:
            add_products(covariance, np.ascontiguousarray(values[part]) - mean)
    covariance /= n
    return Moments(mean, covariance, float(n), np.broadcast_to(float(n), (d, d)))


def effective_rows(values: Floats) -> float:
    """Return the effective number of rows alone: see :func:`moments`.

    Examples
    --------
    >>> effective_rows(np.array([[1.0, 2.0], [2.0, np.nan], [3.0, 1.0]]))
    2.0
    """
    seen = (~np.isnan(values)).astype(np.float64)
    return effective(seen.T @ seen)


def effective(pairs: Floats) -> float:
    """Return the harmonic mean of the numbers of rows in which two columns are seen together."""
    upper = pairs[np.triu_indices(len(pairs), 1)]
    return 1.0 / float(np.mean(1.0 / upper)) if upper.all() else 0.0


def check_pairs(pairs: Floats, names: Sequence[str]) -> None:
    """Refuse two columns that are never seen together."""
    never = np.argwhere(np.triu(pairs == 0, 1))
    if len(never):
        i, j = never[0]
        raise DataError(
            f"columns '{names[i]}' and '{names[j]}' are never observed in the same row, so their covariance is unknown",
            hint="drop one of these columns",
        )


class _Lost(NamedTuple):
    """The rows with m missing cells: which cells, pattern by pattern."""

    rows: Indices  # (R,)
    cells: Indices  # (P, m) columns
    pattern: Indices  # (R,) of each row
    weight: Floats  # (P,) of the rows of each pattern


def _em(values: Floats, seen: Bools, weight: Floats) -> tuple[Floats, Floats]:
    """Return mean and covariance of standardised columns; rows without any cell say nothing."""
    kept = seen.any(axis=1)
    values, seen, weight = values[kept], seen[kept], weight[kept]
    patterns, member = np.unique(seen, axis=0, return_inverse=True)
    member, n_lost = member.ravel(), (~patterns).sum(axis=1)
    groups = []
    for m in np.unique(n_lost[n_lost > 0]).tolist():
        which = np.flatnonzero(n_lost == m)
        cells = np.nonzero(~patterns[which])[1].reshape(-1, m)
        rows = np.flatnonzero(n_lost[member] == m)
        pattern = np.searchsorted(which, member[rows])
        heavy = np.bincount(pattern, weight[rows], minlength=len(which)).astype(np.float64)
        groups.append(_Lost(rows, cells, pattern, heavy))
    mean, covariance = np.zeros(values.shape[1]), np.eye(values.shape[1])
    for _ in range(EM_ROUNDS):
        before = mean, covariance
        mean, covariance = _em_round(values, seen, weight, groups, *before)
        if max(np.abs(mean - before[0]).max(), np.abs(covariance - before[1]).max()) < EM_TOLERANCE:
            break
    return mean, covariance


def _em_round(
    values: Floats, seen: Bools, weight: Floats, groups: list[_Lost], mean: Floats, covariance: Floats
) -> tuple[Floats, Floats]:
    """Expected sums of the completed rows under the last moments, and the moments that they give.

    With K the inverse of the covariance, lost cells given those that are seen have the covariance inv(K_lost) and the
    mean mu_lost - inv(K_lost) K_lost,seen (x - mu)_seen.
    """
    d, total = len(mean), float(weight.sum())
    precision = np.linalg.inv(covariance + EM_RIDGE * np.eye(d))
    pull = np.where(seen, values - mean, 0.0) @ precision
    filled, products = np.where(seen, values, 0.0), np.zeros((d, d))
    for lost in groups:
        current().check()
        rest = np.linalg.inv(precision[lost.cells[:, :, None], lost.cells[:, None, :]])  # (P, m, m)
        np.add.at(products, (lost.cells[:, :, None], lost.cells[:, None, :]), lost.weight[:, None, None] * rest)
        step = max(1, ROOM // rest.shape[1] ** 2)
        for start in range(0, len(lost.rows), step):
            rows, pattern = lost.rows[start : start + step, None], lost.pattern[start : start + step]
            cells = lost.cells[pattern]
            filled[rows, cells] = mean[cells] - np.einsum("rij,rj->ri", rest[pattern], pull[rows, cells])
    centre = weight @ filled / total
    products += (filled * weight[:, None]).T @ filled
    spread = products / total - np.outer(centre, centre)
    return centre, (spread + spread.T) / 2
