"""The penalty that keeps chance associations between columns out of a linear graph."""

import numpy as np
from scipy.special import chdtrc

from drbo.arrays import Floats
from drbo.deadline import current

#: Edges that independent columns with the same values would have on average.
ALLOWED_EDGES = 0.2
#: Shuffled tables at least and at most; pairs of columns in all of them that are enough; and pairs at most.
MIN_SHUFFLES, MAX_SHUFFLES, ENOUGH_PAIRS, MAX_PAIRS = 16, 200, 100_000, 2_000_000
#: Cells of all shuffled tables beyond the first ones, at most.
SHUFFLED_CELLS = 2 * 10**6
#: Cells of the largest table that is shuffled: sorting more takes longer than many searches.
MAX_CELLS = 2**22
#: The largest gains in all shuffled tables, from which the tail is extrapolated: so many of each table, and at least
#: so many in all.
TAIL_SHARE, MIN_TAIL = 0.6, 10
#: Pairs of columns whose gains are computed together.
BLOCK_PAIRS = 2**24
#: More rows are not shuffled: the distribution of the gains hardly changes any more.
MAX_ROWS = 2_000
#: With fewer rows, nothing can be said about a tail.
MIN_ROWS = 10
#: Why a penalty is as large as it is.
BY_CHANCE = "calibrated on shuffled columns"
#: Digits of the penalty: the last bits of the values must not decide anything.
DIGITS = 2


def chance_penalty(values: Floats, weights: Floats | None = None, chosen_from: int = 0) -> float | None:
    """Return the BIC penalty at which a table with the same columns, but independent ones, has 0.2 edges on average.

    Every column is shuffled on its own, at least 16 times, which keeps outliers and all else about a single column; few
    columns are shuffled more often, a thousand and more less often. The gain of an edge between two shuffled columns is
    -n ln(1 - r^2); the penalty must be larger than the gains that occur by chance, whose tail is extrapolated by an
    exponential distribution. The penalty is never smaller than that of the extended BIC, 1 + 2 ln d / ln n, where d
    counts all columns that these were chosen from by their relations. Units, signs and the order of rows and columns do
    not matter, and a row of weight w counts as w equal rows. None: the table is too large to be shuffled, or has too
    few rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> chance_penalty(rng.normal(size=(100, 50))) < chance_penalty(rng.standard_t(3, size=(100, 50)))
    True
    """
    n = len(values) if weights is None else round(float(weights.sum()))
    d = values.shape[1]
    if n < MIN_ROWS or max(n, len(values)) * d > MAX_CELLS:
        return None
    least = 1.0 + 2.0 * np.log(max(d, chosen_from)) / np.log(n)
    if d < 2:
        return float(least)
    gains, tables = _chance_gains(ordered(sorted_columns(values, weights, n)))
    return float(np.ceil(max(least, exceeded(gains, tables) / np.log(n)) * 10**DIGITS) / 10**DIGITS)


def chance_parents(n_rows: float, n_columns: int) -> float:
    """Return how many of the other columns would be worth penalty 1 as the only parent of a column unrelated to them.

    Examples
    --------
    >>> [round(chance_parents(400, d), 1) for d in (10, 100)]
    [0.1, 1.4]
    """
    return float((n_columns - 1) * chdtrc(1, np.log(n_rows)))


def exceeded(gains: Floats, tables: int) -> float:
    """Return the gain that so few pairs exceed as there may be false edges; the tail is taken to be exponential."""
    count = min(_tail(tables), len(gains) - 1)
    tail = np.sort(gains)[::-1][: count + 1]
    return float(tail[-1] + (tail[:-1] - tail[-1]).mean() * np.log(count / (ALLOWED_EDGES * tables)))


def sorted_columns(values: Floats, weights: Floats | None, n: int) -> Floats:
    """Return the sorted values of each column, (n, d); a row of weight w counts as w rows."""
    if weights is None:
        return np.sort(values, axis=0)
    columns = np.empty((n, values.shape[1]))
    places = (np.arange(n) + 0.5) * (weights.sum() / n)
    for j, column in enumerate(values.T):
        order = np.argsort(column, kind="stable")
        reached = np.searchsorted(np.cumsum(weights[order]), places)
        columns[:, j] = column[order][np.minimum(reached, len(column) - 1)]
    return columns


def ordered(columns: Floats) -> Floats:
    """Return sorted columns standardised and skewed to the right, in an order that only their values decide."""
    columns = columns - columns.mean(axis=0)
    spread = columns.std(axis=0)
    columns = columns / np.where(spread > 0, spread, 1.0)
    columns = np.sort(columns * np.where(np.round((columns**3).mean(axis=0), 9) < 0, -1.0, 1.0), axis=0)
    places = np.linspace(0, len(columns) - 1, 9).astype(np.intp)
    return columns[:, np.lexsort(np.round(columns[places], 9))]


def _tail(tables: int) -> int:
    """Return how many of the largest gains the tail is extrapolated from."""
    return max(MIN_TAIL, round(TAIL_SHARE * tables))


def _chance_gains(columns: Floats) -> tuple[Floats, int]:
    """Return the largest gains of pairs in shuffled tables, and how many tables were shuffled."""
    rng = np.random.default_rng(0)
    n, d = columns.shape
    count = shuffles(min(n, MAX_ROWS), d, d * (d - 1) // 2)
    largest = np.empty(0)
    for _ in range(count):
        rows = columns if n <= MAX_ROWS else columns[np.sort(rng.choice(n, MAX_ROWS, replace=False))]
        shuffled = rng.permuted(rows, axis=0)
        shuffled = shuffled - shuffled.mean(axis=0)
        length = np.linalg.norm(shuffled, axis=0)
        shuffled /= np.where(length > 0, length, 1.0)
        step = max(1, BLOCK_PAIRS // d)
        for start in range(0, d, step):
            if start:
                current().check()
            products = shuffled[:, start : start + step].T @ shuffled[:, start:]
            above = np.arange(len(products))[:, None] < np.arange(products.shape[1])
            squares = np.append(largest, np.square(products[above]))
            rest = max(0, len(squares) - _tail(count) - 1)
            largest = np.partition(squares, rest)[rest:]
    return -min(n, MAX_ROWS) * np.log1p(-np.minimum(largest, 1.0 - 1e-12)), count


def shuffles(n_rows: int, n_columns: int, pairs: int) -> int:
    """Return how many tables are shuffled."""
    affordable = SHUFFLED_CELLS // (n_rows * n_columns)
    wanted = max(MIN_SHUFFLES, min(MAX_SHUFFLES, -(-ENOUGH_PAIRS // pairs), affordable))
    return max(1, min(wanted, MAX_PAIRS // pairs))
