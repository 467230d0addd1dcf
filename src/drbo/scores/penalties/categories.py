"""The penalty that keeps chance associations out of graphs of categories, alone or beside numbers."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from drbo.arrays import Floats, Indices
from drbo.data.statistics.levels import MAX_LEVELS
from drbo.data.statistics.statistics import Statistics
from drbo.scores.base import EBIC_GAMMA, Score
from drbo.scores.discrete import BDeu, DiscreteBIC
from drbo.scores.experiment_counts import ExperimentCounts
from drbo.scores.logistic import LogisticBIC
from drbo.scores.mixed import DegenerateGaussian
from drbo.scores.penalties import chance

#: Indicators of all columns together, at most; and cells of all their tables of counts.
MAX_INDICATORS, COUNTED_CELLS = 2_000, 8 * 10**6
#: Levels that fewer rows have act like outliers in ``mixed``: where two of them meet by chance, no penalty helps.
RARE = 3


class _Columns(NamedTuple):
    """Columns as indicators of their levels; for ``mixed`` uncorrelated ones, and numbers as they are."""

    basis: Floats  # (n, D) every column sorted by value
    starts: Indices  # (d,) where the indicators of each column begin
    levels: Floats  # (d,) declared levels, seen or not; for mixed one more than the indicators

    @property
    def owner(self) -> Indices:
        return np.searchsorted(self.starts, np.arange(self.basis.shape[1]), side="right") - 1


def chance_gamma(kind: type[Score], table: Statistics, ess: float = 1.0) -> float | None:
    """Return gamma of ``penalty="ebic"`` at which independent columns like these have 0.2 edges on average.

    Every column is shuffled on its own, as in :func:`drbo.scores.penalties.chance.chance_penalty`: with few rows the
    gains of edges between categories exceed their limit distribution, and heavy tails beside them do so with many.
    Gamma is at least 0.5. Names of levels and the order of rows and columns do not matter; for ``mixed``, columns with
    a level of one or two rows are left out. None: the score is not one of categories, or the table is too large to be
    shuffled or has too few rows.
    """
    n = table.n_rows if table.weights is None else round(float(table.weights.sum()))
    d = table.n_columns
    known = issubclass(kind, (DegenerateGaussian, DiscreteBIC, BDeu, LogisticBIC, ExperimentCounts))
    if not known or not table.complete or d < 2 or n < chance.MIN_ROWS or max(n, table.n_rows) * d > chance.MAX_CELLS:
        return None
    columns = _columns(table, n, issubclass(kind, DegenerateGaussian))
    if columns is None:
        return None
    gains, shuffles = _chance_gains(kind, columns, ess)
    scale = kind.evidence_scale or 1.0
    gamma = chance.exceeded(gains, shuffles) / (2 * scale * np.log(d))
    return float(np.ceil(max(EBIC_GAMMA, gamma) * 10**chance.DIGITS) / 10**chance.DIGITS)


def _columns(table: Statistics, n: int, mixed: bool) -> _Columns | None:
    """Return the columns in an order that their content decides; None where they have too many levels."""
    values = chance.sorted_columns(table.values, table.weights, n)
    numeric = [j for j, levels in enumerate(table.levels) if levels is None and mixed]
    parts = [values[:, :0], *([chance.ordered(values[:, numeric])] if numeric else [])]
    widths, levels = [1] * len(numeric), [2.0] * len(numeric)
    counted = []
    for j in sorted(set(range(table.n_columns)) - set(numeric)):
        counts = np.sort(np.unique(values[:, j], return_counts=True)[1])[::-1]
        if len(counts) > MAX_LEVELS or len(counts) < 2:
            return None
        if mixed and counts[-1] < RARE:
            continue
        declared = len(counts) if mixed or table.levels[j] is None else len(table.levels[j] or ())
        counted.append((declared, tuple(counts.tolist())))
    for declared, many in sorted(counted):
        indicators = np.repeat(np.eye(len(many)), many, axis=0)
        if mixed:  # uncorrelated, with mean 0 and variance 1
            indicators = np.linalg.qr(indicators[:, 1:] - indicators[:, 1:].mean(axis=0))[0] * np.sqrt(n)
        parts.append(indicators)
        widths.append(indicators.shape[1])
        levels.append(float(declared))
    if sum(widths) > MAX_INDICATORS or len(widths) < 2:
        return None
    return _Columns(np.hstack(parts), np.cumsum([0, *widths[:-1]]), np.array(levels))


def _chance_gains(kind: type[Score], columns: _Columns, ess: float) -> tuple[Floats, int]:
    """Return what all pairs gain beyond the price of their parameters in shuffled tables, and how many there were."""
    rng = np.random.default_rng(0)
    (n, width), d = columns.basis.shape, len(columns.starts)
    pairs, owner, rows = np.triu_indices(d, 1), columns.owner, np.arange(n)
    m = min(n, chance.MAX_ROWS)
    shuffles = min(chance.shuffles(m, d, len(pairs[0])), max(1, COUNTED_CELLS // width**2))
    more = np.subtract(columns.levels, 1)
    parameters = (more[:, None] * more)[pairs] if not issubclass(kind, LogisticBIC) else np.ones(len(pairs[0]))
    price = parameters * np.log(n)
    if issubclass(kind, BDeu):  # the evidence holds the price of the rows that are counted
        price = parameters / 2 * (np.log(n) - np.log(m))
    gains = []
    for _ in range(shuffles):
        if n > m:
            rows = np.sort(rng.choice(n, m, replace=False))
        places = rng.permuted(np.tile(rows[:, None], d), axis=0)
        shuffled = columns.basis[places[:, owner], np.arange(width)]
        gains.append(_gains(kind, shuffled, columns, ess)[pairs] - price)
    return np.concatenate(gains), shuffles


def _gains(kind: type[Score], shuffled: Floats, columns: _Columns, ess: float) -> Floats:
    """Return what an edge between two columns gains (d, d), on the scale of the score."""
    if issubclass(kind, DegenerateGaussian):
        shuffled = shuffled - shuffled.mean(axis=0)
        return -len(shuffled) * _log_left(shuffled.T @ shuffled / len(shuffled), columns)
    counts = shuffled.T @ shuffled
    n = float(len(shuffled))
    own: Floats = np.diag(counts)
    if issubclass(kind, BDeu):
        share, levels = ess / columns.levels, columns.levels
        single = np.add.reduceat(_rising(own, share[columns.owner]), columns.starts)
        both = _rising(counts, ess / np.outer(levels, levels)[np.ix_(columns.owner, columns.owner)])
        evidence: Floats = _blocks(both, columns) - single[:, None] - single
        return evidence + _rising(np.array([n]), np.array([ess]))
    single = np.add.reduceat(_x_log_x(own), columns.starts)
    gains: Floats = 2 * (_blocks(_x_log_x(counts), columns) - single[:, None] - single + n * np.log(n))
    return gains


def _log_left(correlation: Floats, columns: _Columns) -> Floats:
    """Return the logarithm of what each pair of columns leaves of each other: ln det(1 - R R') for a block R."""
    left = np.log(np.clip(1 - _blocks(np.square(correlation), columns), 1e-12, 1.0))  # exact where one has width 1
    widths = np.diff(columns.starts, append=len(correlation))
    for a, b in {(a, b) for a in widths.tolist() for b in widths.tolist() if 1 < a <= b}:
        i, j = (np.flatnonzero(widths == one) for one in (a, b))
        at, beside = (columns.starts[one][:, None] + np.arange(size) for one, size in ((i, a), (j, b)))
        block = correlation[at[:, None, :, None], beside[None, :, None, :]]
        own = np.eye(a) - block @ block.swapaxes(-1, -2)
        logs = np.log(np.clip(np.linalg.det(own), 1e-12, 1.0))
        left[np.ix_(i, j)] = logs
        left[np.ix_(j, i)] = logs.T
    return left


def _blocks(cells: Floats, columns: _Columns) -> Floats:
    """Return the sums (d, d) over the indicators of two columns."""
    summed: Floats = np.add.reduceat(np.add.reduceat(cells, columns.starts, axis=0), columns.starts, axis=1)
    return summed


def _x_log_x(counts: Floats) -> Floats:
    return np.asarray(xlogy(counts, counts), dtype=np.float64)


def _rising(counts: Floats, prior: Floats) -> Floats:
    """Return ``lnG(N + a) - lnG(a)``."""
    return np.asarray(gammaln(counts + prior) - gammaln(prior), dtype=np.float64)
