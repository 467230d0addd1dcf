"""Multiple imputation: missing cells are filled in several times, so that their uncertainty stays visible.

Chained equations (van Buuren & Groothuis-Oudshoorn 2011). A missing cell is given by a row whose prediction is near its
own. A category, or a number of few distinct values, takes the value of that row, so that no other values arise:
predictive mean matching (Little 1988). Any other number takes its own prediction and the residual of that row: a local
residual draw (Schenker & Taylor 1996). It does not weaken strong relations, and goes on where values are seen in a part
of the range only.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from drbo.arrays import Bools, Floats, Indices
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current

SWEEPS = 10  # rounds over the columns; the value that mice's documentation advises is 5 to 10
DONORS = 5  # near rows of which one gives its value or residual
#: Ridge of the regressions as a share of the rows: keeps copies and empty indicators solvable.
RIDGE = 1e-5
TIE = 1e-6  # standard deviation of what separates equal predictions; columns have standard deviation 1
FEW_VALUES = 20  # a number with no more distinct values is matched as categories are


def imputations(
    table: Statistics,  # NaN where a cell is missing
    m: int,
    seed: int,
) -> Iterator[Statistics]:
    """Yield m completed copies of a table; copy k depends on the table, the seed and k alone.

    Every column is regressed on all others, categories as indicators, on a bootstrap of the rows in which it is seen,
    so that the uncertainty of the regression shows in the copies. One of the 5 rows with the nearest predictions gives
    its value or its residual. Raises an OutOfTimeError if the run has to end before a copy is complete.
    """
    rows, columns = table.canonical_order()
    ordered = table.take(rows, columns)  # the order of rows and columns must not decide what is drawn
    for number in range(m):
        filled = _completed(ordered, np.random.default_rng([seed, number]))
        values = np.empty_like(filled)
        values[np.ix_(rows, columns)] = filled
        yield replace(table, values=values)


def _completed(table: Statistics, rng: np.random.Generator) -> Floats:
    missing = np.isnan(table.values)
    filled = table.values.copy()
    for j in np.flatnonzero(missing.any(axis=0)).tolist():
        filled[missing[:, j], j] = rng.choice(table.values[~missing[:, j], j], size=int(missing[:, j].sum()))
    holes: list[int] = sorted(np.flatnonzero(missing.any(axis=0)).tolist(), key=lambda j: int(missing[:, j].sum()))
    blocks = [_block(table, filled, j) for j in range(table.n_columns)]
    matched = {j: table.levels[j] is not None or _has_few_values(table.values[:, j]) for j in holes}
    for _ in range(SWEEPS if len(holes) > 1 else 1):
        for j in holes:
            current().check()
            lost, seen = missing[:, j], np.flatnonzero(~missing[:, j])
            others = np.column_stack([np.ones(len(filled)), *(blocks[i] for i in range(len(blocks)) if i != j)])
            donors, drawn = _drawn(others, blocks[j], lost, rng)
            if matched[j]:
                filled[lost, j] = filled[seen[donors], j]
            else:
                values = table.values[seen, j]
                filled[lost, j] = values.mean() + (values.std() or 1.0) * drawn
            blocks[j] = _block(table, filled, j)
    return filled


def _has_few_values(column: Floats) -> bool:
    return len(np.unique(column[~np.isnan(column)])) <= FEW_VALUES


def _block(table: Statistics, filled: Floats, j: int) -> Floats:
    """Return a column as predictors: standardised numbers, or indicators of all levels but the first."""
    levels = table.levels[j]
    if levels is not None:
        indicators: Floats = (filled[:, [j]] == np.arange(1, len(levels))).astype(np.float64)
        return indicators
    seen = table.values[~np.isnan(table.values[:, j]), j]
    scaled: Floats = ((filled[:, [j]] - seen.mean()) / (seen.std() or 1.0)).astype(np.float64)
    return scaled


def _drawn(
    others: Floats,  # (n, p)
    block: Floats,  # (n, q) the column itself, as numbers
    missing: Bools,
    rng: np.random.Generator,
) -> tuple[Indices, Floats]:
    """Return for each missing cell a near row, as a place among those that are seen, and prediction plus residual."""
    from scipy.spatial import cKDTree  # takes longer to load than a small table to fit

    seen = np.flatnonzero(~missing)
    drawn = rng.choice(seen, size=len(seen))
    ridge = RIDGE * len(seen) * np.eye(others.shape[1])
    whole = np.linalg.solve(others[seen].T @ others[seen] + ridge, others[seen].T @ block[seen])
    again = np.linalg.solve(others[drawn].T @ others[drawn] + ridge, others[drawn].T @ block[drawn])
    # Type 1 matching: rows that are seen by the fit of all, those that are not by a drawn one (van Buuren 2018, 3.4.2).
    known, unknown = others[seen] @ whole, others[missing] @ again
    # Of rows with the same prediction, as categories have, any may be the nearest.
    tree = cKDTree(known + TIE * rng.normal(size=known.shape))
    _, near = tree.query(unknown, k=min(DONORS, len(seen)))
    near = near.reshape(int(missing.sum()), -1)
    donors = near[np.arange(len(near)), rng.integers(near.shape[1], size=len(near))]
    return donors, unknown[:, 0] + block[seen[donors], 0] - known[donors, 0]
