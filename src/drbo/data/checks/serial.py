"""Rows that are like the rows before them: how alike, and how many independent rows they are worth."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from drbo.arrays import Floats, Indices
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.units import normal_scores
from drbo.deadline import current

#: A lag-1 autocorrelation this many standard errors above 0 does not come from rows in random order.
SERIAL = 5.0
SERIAL_SHARE = 1 / 3  # of the numeric columns
#: Rows that are worth nearly as much as independent ones are taken as such.
WORTH_ALL = 0.95
#: Given a column along which neighbours are alike, hardly any other may have so many standard errors of it.
LEFT, LEFT_SHARE = 3.0, 0.1
#: Where rows are surely sorted, what is left must be as much as this to count.
LEFT_SORTED = 0.25
LEAST_ROWS = 10
#: A category that occurs in one run is a block of a sorted table if there are at most so many.
MOST_BLOCKS = 20
#: Columns that are tried as what the rows are sorted by, those with the most similar neighbours first.
MOST_KEYS = 20
#: A curve along a column has so many knots, or one per so many rows.
KNOTS, ROWS_PER_KNOT = 12, 15
#: Rows are sorted by a sum of functions of two columns if that explains so much of their places (R2).
PLACED = 0.95
#: Rows are sorted by so many columns at most, each among rows that are equal in the ones before it.
MOST_LEVELS = 3
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
    sorted_by: tuple[str, ...]  # columns by which neighbours are alike, given which they are not; empty: none
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
    """Return how alike neighbouring rows are, if they are so in more than a third of the numeric columns, two or more.

    A table that is sorted by one of its columns has neighbours that are alike in all that depends on it. Given that
    column, they are not, so that each row tells something new about the others: a curve along it is removed first. The
    same holds for blocks of a category, for a series that acts on columns without a memory of their own, and for rows
    that are sorted by a sum of functions of two columns. Columns that count up like a clock are left out.
    ``most_rows``: only so many are looked at, the first ones.

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
    found = Serial(names, lagged, tuple(alike), (), lags=False)
    if len(alike) <= SERIAL_SHARE * len(names) or found.share(whole.n_rows) > WORTH_ALL:
        return None
    order = [j for j in np.argsort(-lagged, kind="stable").tolist() if j in alike][:MOST_KEYS]
    key = _sorted_key(whole, values, names, clocks)
    key = key or tuple(names[k] for k in _one_key(values, order, clocks) or _sum_key(values, order, clocks))
    return found._replace(sorted_by=key, lags=not key and holds_its_past(values))


def first_rows(table: Statistics, most_rows: int | None) -> Statistics:
    """Return the first rows of a table, those without a missing cell: neighbours stay neighbours."""
    if most_rows is not None and table.n_rows > most_rows:
        table = table.take(np.arange(most_rows), np.arange(table.n_columns))
    return table.complete_rows


def holds_its_past(values: Floats) -> bool:
    """Tell whether a column is another one of the row before, as ``drbo lag`` makes them."""
    part = values[:PAST_ROWS]
    part = part[:, [len(np.unique(column)) > PAST_LEVELS for column in part.T]]
    late, early = part[:-1], part[1:]
    first = slice(0, 1 + int((1 - PAST_SHARE) * len(late)))  # a past is equal in one of these rows, at least
    for j in range(part.shape[1]):
        near = np.flatnonzero((late[first, j, None] == early[first]).any(axis=0))
        near = near[near != j]
        if ((late[:, j, None] == early[:, near]).mean(axis=0) > PAST_SHARE).any():
            return True
    return False


def is_clock(column: Floats) -> bool:
    """Tell whether a column changes by the same amount from row to row."""
    steps = np.diff(column)
    return bool(len(steps) > 2 and steps[0] != 0 and np.ptp(steps) <= 1e-9 * np.abs(steps).max())


def _alike(values: Floats, clocks: list[int], errors: float = SERIAL) -> tuple[Floats, list[int]]:
    """Return the lag-1 autocorrelations, corrected for their bias (Kendall 1954), and the columns with much of it."""
    n = len(values)
    centred = values - values.mean(axis=0)
    squares = (centred**2).sum(axis=0)
    least = np.maximum(squares, np.finfo(float).eps * n * (values**2).max(axis=0) + np.finfo(float).tiny)
    lagged = (centred[1:] * centred[:-1]).sum(axis=0) / least
    found = [j for j in np.flatnonzero(lagged > errors / np.sqrt(n)).tolist() if j not in clocks]
    return np.minimum(lagged + (1 + 3 * lagged) / n, 1.0), found


def _sorted_key(table: Statistics, values: Floats, names: tuple[str, ...], clocks: list[int]) -> tuple[str, ...]:
    """Return the columns that rows are surely sorted by, if not much more than that makes neighbours alike."""
    key = _sorted_by(table)
    others = [j for j, name in enumerate(names) if name not in key]
    if not key or not others:
        return ()
    curve = np.hstack([curves_along(table.values[:, table.index(name)]) for name in key])
    lagged, alike = _alike(_without(values, curve), clocks, LEFT)
    much = [j for j in others if j in alike and lagged[j] > LEFT_SORTED]
    return key if len(much) <= SERIAL_SHARE * len(others) else ()


def _one_key(values: Floats, order: list[int], clocks: list[int]) -> tuple[int, ...]:
    """Return a column along which neighbours are alike, given which others are not, while it is given these."""
    left = dict[int, list[int]]()
    for k in order:
        current().check()
        left[k] = _alike(_without(values, curves_along(values[:, k])), clocks, LEFT)[1]
    for k in order:
        others = [j for j in left[k] if j != k]
        if len(others) <= LEFT_SHARE * (values.shape[1] - 1) and all(k in left[j] for j in order if j != k):
            return (k,)
    return ()


def _sum_key(values: Floats, order: list[int], clocks: list[int]) -> tuple[int, ...]:
    """Return two columns if rows are sorted by a sum of functions of them, which alone makes neighbours alike."""
    place = np.arange(len(values), dtype=np.float64)
    wanted, curves = normal_scores(place), {k: curves_along(values[:, k]) for k in order}
    for pair in combinations(order, 2):
        rest = _without(wanted, np.hstack([curves[k] for k in pair]))
        if rest.var() < (1 - PLACED) * wanted.var():
            left = _alike(_without(values, curves_along(place)), clocks, LEFT)[1]
            if len([j for j in left if j not in pair]) <= LEFT_SHARE * (values.shape[1] - len(pair)):
                return pair
    return ()


def _without(values: Floats, curves: Floats) -> Floats:
    """Return what curves leave of columns."""
    basis, sizes, _ = np.linalg.svd(curves, full_matrices=False)
    basis = basis[:, sizes > np.finfo(float).eps * max(curves.shape) * sizes.max(initial=0.0)]
    rest: Floats = values - basis @ (basis.T @ values)
    return rest


def _sorted_by(table: Statistics) -> tuple[str, ...]:
    """Return the columns by which rows are sorted, each among rows that are equal in those before it; empty: none."""
    found, block = list[str](), np.zeros(table.n_rows, dtype=np.intp)
    while len(found) < MOST_LEVELS:
        column = next(
            (j for j in range(table.n_columns) if table.names[j] not in found and _rises(table, j, block)), None
        )
        if column is None:
            break
        found.append(table.names[column])
        steps = (np.diff(table.values[:, column]) != 0) | (np.diff(block) != 0)
        block = np.concatenate([[0], np.cumsum(steps)])
    return tuple(found)


def _rises(table: Statistics, column: int, block: Indices) -> bool:
    """Tell whether a column is sorted among the rows of each block, or has its few values one after the other there."""
    values, within = table.values[:, column], np.diff(block) == 0
    steps = np.diff(values)[within]
    if not steps.any() or is_clock(values):
        return False
    if table.levels[column] is None and ((steps >= 0).all() or (steps <= 0).all()):
        return True
    runs = len(np.unique(np.column_stack([block, values]), axis=0)) - len(np.unique(block))
    return len(np.unique(values)) <= MOST_BLOCKS and int(np.count_nonzero(steps)) == runs


def curves_along(column: Floats) -> Floats:
    """Return functions (n, k) of a column that span curves along it, or a mean for each of a few values.

    Examples
    --------
    >>> curves_along(np.array([1.0, 1.0, 5.0])).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    knots = np.unique(column)
    if len(knots) > MOST_BLOCKS:
        count = int(np.clip(len(column) // ROWS_PER_KNOT, 2, KNOTS))
        knots = np.unique(np.quantile(column, np.linspace(0, 1, count)))
    return np.column_stack([np.interp(column, knots, hat) for hat in np.eye(len(knots))])
