"""The penalty that keeps chance associations between columns out of a linear graph."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Edges that independent columns with the same values would have on average.
ALLOWED_EDGES = 0.2
#: Shuffled tables, and pairs of columns in all of them, at least.
MIN_SHUFFLES, MIN_PAIRS = 16, 4_000
#: The largest gains in all shuffled tables, from which the tail is extrapolated.
TAIL = 10
#: More rows are not shuffled: the distribution of the gains hardly changes any more.
MAX_ROWS = 2_000
#: Digits of the penalty: the last bits of the values must not decide anything.
DIGITS = 2


def chance_penalty(values: Floats) -> float:
    """Return the BIC penalty at which a table with the same columns, but independent ones, has 0.2 edges on average.

    Every column is shuffled on its own, at least 16 times, which keeps outliers and all else about a single column. The
    gain of an edge between two shuffled columns is -n ln(1 - r^2); the penalty must be larger than the gains that occur
    by chance, whose tail is extrapolated by an exponential distribution. The penalty is never smaller than that of the
    extended BIC, 1 + 2 ln d / ln n. Units, signs and the order of rows and columns do not matter.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> chance_penalty(rng.normal(size=(100, 50))) < chance_penalty(rng.standard_t(3, size=(100, 50)))
    True
    """
    n, d = values.shape
    least = 1.0 + 2.0 * np.log(d) / np.log(n)
    if d < 2:
        return float(least)
    gains, shuffles = _chance_gains(_ordered(values))
    tail = np.sort(gains)[::-1][: TAIL + 1]
    needed = tail[-1] + (tail[:-1] - tail[-1]).mean() * np.log(TAIL / (ALLOWED_EDGES * shuffles))
    return float(np.ceil(max(least, needed / np.log(n)) * 10**DIGITS) / 10**DIGITS)


def _ordered(values: Floats) -> Floats:
    """Return standardised columns, each sorted and skewed to the right, in an order that only their values decide."""
    columns = values - values.mean(axis=0)
    spread = columns.std(axis=0)
    columns = columns / np.where(spread > 0, spread, 1.0)
    columns = np.sort(columns * np.where(np.round((columns**3).mean(axis=0), 9) < 0, -1.0, 1.0), axis=0)
    places = np.linspace(0, len(columns) - 1, 9).astype(np.intp)
    return columns[:, np.lexsort(np.round(columns[places], 9))]


def _chance_gains(columns: Floats) -> tuple[Floats, int]:
    """Return the gains of all pairs in shuffled tables, and how many tables were shuffled."""
    rng = np.random.default_rng(0)
    n, d = columns.shape
    pairs = np.triu_indices(d, 1)
    shuffles = max(MIN_SHUFFLES, -(-MIN_PAIRS // len(pairs[0])))
    gains = []
    for _ in range(shuffles):
        rows = columns if n <= MAX_ROWS else columns[np.sort(rng.choice(n, MAX_ROWS, replace=False))]
        shuffled = rng.permuted(rows, axis=0)
        shuffled = shuffled - shuffled.mean(axis=0)
        length = np.linalg.norm(shuffled, axis=0)
        shuffled /= np.where(length > 0, length, 1.0)
        squares = np.square(shuffled.T @ shuffled)[pairs]
        gains.append(-len(rows) * np.log1p(-np.minimum(squares, 1.0 - 1e-12)))
    return np.concatenate(gains), shuffles
