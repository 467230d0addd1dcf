"""Multiple imputation: missing cells filled in several times, so that what is unknown stays visible.

Chained equations (van Buuren & Groothuis-Oudshoorn 2011) with predictive mean matching (Little 1988): a missing cell
gets the value of a row whose prediction is near its own. Values that occur nowhere in the column never arise,
categories stay categories, and no shape of the noise is assumed.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from drbo.data.table import Table

Floats = npt.NDArray[np.float64]

SWEEPS = 10  # rounds over the columns; the value that mice's documentation advises is 5 to 10
DONORS = 5  # near rows of which one gives its value
#: Ridge of the regressions as a share of the rows: keeps copies and empty indicators solvable.
RIDGE = 1e-5
TIE = 1e-6  # standard deviation of what separates equal predictions; columns have standard deviation 1


def imputations(
    table: Table,  # NaN where a cell is missing
    m: int,
    seed: int,
) -> Iterator[Table]:
    """Yield m completed copies of a table; copy k depends on the table, the seed and k alone.

    Every column is regressed on all others, categories as indicators, on a bootstrap of the rows in which it is seen,
    so that the uncertainty of the regression shows in the copies. A missing cell takes the value of one of the 5 rows
    with the nearest predictions.

    Examples
    --------
    >>> table = Table.from_array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, np.nan]])
    >>> copies = list(imputations(table, m=2, seed=0))
    >>> [bool(np.isfinite(copy.values).all()) for copy in copies]
    [True, True]
    """
    rows, columns = table.canonical_order(seed)
    ordered = table.take(rows, columns)  # the order of rows and columns must not decide what is drawn
    for number in range(m):
        filled = _completed(ordered, np.random.default_rng([seed, number]))
        values = np.empty_like(filled)
        values[np.ix_(rows, columns)] = filled
        yield replace(table, values=values)


def _completed(table: Table, rng: np.random.Generator) -> Floats:
    missing = np.isnan(table.values)
    filled = table.values.copy()
    for j in np.flatnonzero(missing.any(axis=0)).tolist():
        filled[missing[:, j], j] = rng.choice(table.values[~missing[:, j], j], size=int(missing[:, j].sum()))
    holes: list[int] = sorted(np.flatnonzero(missing.any(axis=0)).tolist(), key=lambda j: int(missing[:, j].sum()))
    blocks = [_block(table, filled, j) for j in range(table.n_columns)]
    for _ in range(SWEEPS if len(holes) > 1 else 1):
        for j in holes:
            others = np.column_stack([np.ones(len(filled)), *(blocks[i] for i in range(len(blocks)) if i != j)])
            filled[missing[:, j], j] = _matched(others, blocks[j], filled[:, j], missing[:, j], rng)
            blocks[j] = _block(table, filled, j)
    return filled


def _block(table: Table, filled: Floats, j: int) -> Floats:
    """Return a column as predictors: standardised numbers, or indicators of all levels but the first."""
    levels = table.levels[j]
    if levels is not None:
        indicators: Floats = (filled[:, [j]] == np.arange(1, len(levels))).astype(np.float64)
        return indicators
    seen = table.values[~np.isnan(table.values[:, j]), j]
    scaled: Floats = ((filled[:, [j]] - seen.mean()) / (seen.std() or 1.0)).astype(np.float64)
    return scaled


def _matched(
    others: Floats,  # (n, p)
    block: Floats,  # (n, q) the column itself, as numbers
    column: Floats,  # (n,)
    missing: npt.NDArray[np.bool_],
    rng: np.random.Generator,
) -> Floats:
    """Return a value for each missing cell of a column: that of a near row in which it is seen."""
    seen = np.flatnonzero(~missing)
    drawn = rng.choice(seen, size=len(seen))
    ridge = RIDGE * len(seen) * np.eye(others.shape[1])
    whole = np.linalg.solve(others[seen].T @ others[seen] + ridge, others[seen].T @ block[seen])
    again = np.linalg.solve(others[drawn].T @ others[drawn] + ridge, others[drawn].T @ block[drawn])
    # Type 1 matching: rows that are seen by the fit of all, those that are not by a drawn one (van Buuren 2018, 3.4.2).
    known = others[seen] @ whole
    # Of rows with the same prediction, as categories have, any may be the nearest.
    tree = cKDTree(known + TIE * rng.normal(size=known.shape))
    _, near = tree.query(others[missing] @ again, k=min(DONORS, len(seen)))
    near = near.reshape(int(missing.sum()), -1)
    chosen = near[np.arange(len(near)), rng.integers(near.shape[1], size=len(near))]
    return column[seen[chosen]]
