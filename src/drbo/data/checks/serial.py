"""Rows that are like the rows before them: how alike, and how many independent rows they are worth."""

from typing import NamedTuple

import numpy as np

from drbo.arrays import Floats
from drbo.data.statistics.statistics import Statistics

#: A lag-1 autocorrelation this many standard errors above 0 does not come from rows in random order.
SERIAL = 5.0
SERIAL_SHARE = 1 / 3  # of the numeric columns
LEAST_ROWS = 10
#: A category that occurs in one run is a block of a sorted table if there are at most so many.
MOST_BLOCKS = 20
#: Degree of the curve that a sorted column draws in all columns that depend on it.
DEGREE = 3
#: Rows are worth at least so many: with fewer, no score could be computed.
LEAST_WORTH = 10.0
PAST_ROWS = 200  # looked at to find out whether a column is the past of another
PAST_SHARE = 0.9  # of the rows: series of several persons break off
PAST_LEVELS = 10  # a column with no more distinct values may repeat itself by chance


class Serial(NamedTuple):
    """The numeric columns, and how far each row of them is like the row before."""

    names: tuple[str, ...]
    lagged: Floats  # autocorrelation with the row before
    alike: tuple[int, ...]  # columns with more of it than rows in random order have
    sorted_by: str  # the column that the rows are sorted by, if that explains it; empty: none
    lags: bool  # columns hold the past of others, given which rows may be independent

    @property
    def dependent(self) -> bool:
        """Whether nothing explains why neighbours are alike but that rows depend on each other."""
        return not self.sorted_by and not self.lags

    def share(self, n_rows: int) -> float:
        """Return how many independent rows one row is worth for a correlation, on average over the pairs of columns.

        A correlation of two series with the autocorrelations r and s, each of order 1, varies as if there were
        n (1 - rs) / (1 + rs) rows (Bartlett 1935).
        """
        steady = np.zeros(len(self.names))
        steady[list(self.alike)] = np.clip(self.lagged[list(self.alike)], 0.0, 0.999)
        first, second = np.triu_indices(len(steady), 1)
        both = steady[first] * steady[second]
        inflation = float(np.mean((1 + both) / (1 - both))) if len(both) else 1.0
        return min(1.0, max(LEAST_WORTH / n_rows, 1.0 / inflation))


def serial(table: Statistics, most_rows: int | None = None) -> Serial | None:
    """Return how alike neighbouring rows are, if they are so in more than a third of the numeric columns.

    A table that is sorted by one of its columns has no serial dependence but along the curve that the sorting draws in
    the others, so that curve is removed first. Columns that count up like a clock are left out. ``most_rows``: only so
    many are looked at, the first ones.

    Examples
    --------
    >>> walk = np.cumsum(np.random.default_rng(0).normal(size=(300, 2)), axis=0)
    >>> found = serial(Statistics.from_array(walk))
    >>> found.alike, found.share(300) < 0.1
    ((0, 1), True)
    >>> serial(Statistics.from_array(np.random.default_rng(0).normal(size=(300, 2)))) is None
    True
    """
    whole = first_rows(table, most_rows)
    numeric = [j for j, levels in enumerate(whole.levels) if levels is None]
    if whole.n_rows < LEAST_ROWS or (np.ptp(whole.values[:, numeric], axis=0) == 0).any():
        return None
    values = whole.within_experiments(whole.values[:, numeric])  # a shift between them makes neighbours alike
    names = tuple(whole.names[j] for j in numeric)
    clocks = [j for j, column in enumerate(values.T) if is_clock(column)]
    lagged, alike = _alike(values, clocks)
    if len(alike) <= SERIAL_SHARE * len(names):
        return None
    for name, curve in _sorters(whole):
        rest = values - curve @ np.linalg.lstsq(curve, values)[0]
        if len(_alike(rest, clocks)[1]) <= SERIAL_SHARE * len(names):
            return Serial(names, lagged, tuple(alike), name, lags=False)
    return Serial(names, lagged, tuple(alike), "", lags=holds_its_past(values))


def first_rows(table: Statistics, most_rows: int | None) -> Statistics:
    """Return the first rows of a table, those without a missing cell: neighbours stay neighbours."""
    if most_rows is not None and table.n_rows > most_rows:
        table = table.take(np.arange(most_rows), np.arange(table.n_columns))
    return table.complete_rows


def holds_its_past(values: Floats) -> bool:
    """Tell whether a column is another one of the row before, as ``drbo lag`` makes them.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(50, 1))
    >>> holds_its_past(np.hstack([x[1:], x[:-1]])), holds_its_past(np.hstack([x, x]))
    (True, False)
    """
    part = values[:PAST_ROWS]
    many = [column for column in part.T if len(np.unique(column)) > PAST_LEVELS]
    return any(
        (late[:-1] == early[1:]).mean() > PAST_SHARE
        for j, late in enumerate(many)
        for early in many[:j] + many[j + 1 :]
    )


def is_clock(column: Floats) -> bool:
    """Tell whether a column changes by the same amount from row to row."""
    steps = np.diff(column)
    return bool(len(steps) > 2 and steps[0] != 0 and np.ptp(steps) <= 1e-9 * np.abs(steps).max())


def _alike(values: Floats, clocks: list[int]) -> tuple[Floats, list[int]]:
    """Return the lag-1 autocorrelations, corrected for their bias (Kendall 1954), and the columns with much of it."""
    n = len(values)
    centred = values - values.mean(axis=0)
    squares = (centred**2).sum(axis=0)
    least = np.maximum(squares, np.finfo(float).eps * n * (values**2).max(axis=0) + np.finfo(float).tiny)
    lagged = (centred[1:] * centred[:-1]).sum(axis=0) / least
    found = [j for j in np.flatnonzero(lagged > SERIAL / np.sqrt(n)).tolist() if j not in clocks]
    return lagged + (1 + 3 * lagged) / n, found


def _sorters(table: Statistics) -> list[tuple[str, Floats]]:
    """Return the columns that rows may be sorted by, each with the curve (n, k) that it may draw in other columns."""
    place = np.linspace(-1, 1, table.n_rows)
    found = []
    for name, levels, column in zip(table.names, table.levels, table.values.T, strict=True):
        steps, distinct = np.diff(column), np.unique(column)
        if len(distinct) <= MOST_BLOCKS and np.count_nonzero(steps) == len(distinct) - 1:
            found.append((name, (column[:, None] == distinct).astype(np.float64)))
        elif levels is None and ((steps >= 0).all() or (steps <= 0).all()) and not is_clock(column):
            found.append((name, np.vander(place, DEGREE + 1)))
    return found
