"""Are numbers counts or ordered codes, of which only the order counts?

A count or a grade moves in steps, so no sum of causes and noise describes it, and tests of residuals reject all models
of that kind. What is left is the order of its values, which a score of ranks uses. Codes of unordered categories have
no order to use: there, tables of counts explain more than ranks do.
"""

import numpy as np
import numpy.typing as npt

from drbo.arrays import Floats, Indices
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.units import ranked

#: A column of whole numbers moves in steps if its most frequent value has at least this share of the rows.
STEP_SHARE = 0.1
#: A numeric column with so few distinct values is discrete: ten grades, or a 0/1 answer.
FEW_LEVELS = 10
#: And a value must be repeated: on average so many rows per distinct value.
ROWS_PER_LEVEL = 5
#: Rows that are looked at first: most columns of numbers show in them that they are not discrete.
FIRST_ROWS = 1_000
#: Rows of which codes are looked at, and columns.
CODED_ROWS, CODED_COLUMNS = 2_000, 60
#: Codes have no order if tables of counts explain so many times as much as ranks.
UNORDERED = 1.25


def stepped(table: Statistics) -> list[int]:
    """Return the columns of numbers that are counts or ordered codes, if some of them have more than two values.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> stepped(Statistics.from_array(np.column_stack([rng.poisson(3, 200), rng.normal(size=200)])))
    [0]
    """
    found = [j for j, kind in enumerate(table.kinds) if kind == "numeric" and _in_steps(table.values[:, j])]
    return found if any(len(np.unique(table.values[:, j])) > 2 for j in found) else []


def _in_steps(column: Floats) -> bool:
    if has_few_values(column):
        return True
    first = column[:FIRST_ROWS]
    if (first != np.round(first)).any():  # so no step is a whole one
        return False
    values, counts = np.unique(column, return_counts=True)
    often = counts.max() >= max(ROWS_PER_LEVEL, STEP_SHARE * len(column))
    return bool(often and (values == np.round(values)).all())


def has_few_values(column: Floats) -> bool:
    """Tell whether a column has few distinct values, whatever its units.

    Examples
    --------
    >>> has_few_values(np.tile([0.1, 0.2, 0.4], 5)), has_few_values(np.arange(15.0))
    (True, False)
    """
    if len(np.unique(column[:FIRST_ROWS])) > FEW_LEVELS:  # so do all rows
        return False
    count = len(np.unique(column))
    return count <= FEW_LEVELS and (count <= 2 or count * ROWS_PER_LEVEL <= len(column))


def codes_are_ordered(table: Statistics) -> bool:
    """Tell whether the order of codes explains about as much as the codes themselves.

    For each pair of columns, what a table of counts is worth to a BIC is compared with what a straight line between
    normal scores of ranks is worth. Categories have no order, and two values need none.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(500, 1)) + 0.5 * np.random.default_rng(1).normal(size=(500, 3))
    >>> grades = np.clip(np.round(x), -2, 2)
    >>> codes_are_ordered(Statistics.from_array(grades)), codes_are_ordered(Statistics.from_array(grades > 0))
    (True, False)
    """
    if "categorical" in table.kinds or all(len(np.unique(column)) <= 2 for column in table.values.T):
        return False
    values = table.values[_some_rows(table)][:, :CODED_COLUMNS]
    codes = [np.unique(column, return_inverse=True)[1] for column in values.T]
    counted, by_order = 0.0, 0.0
    scores = ranked(values)
    for i, one in enumerate(codes):
        for j in range(i):
            counted += max(0.0, _worth_of_counts(one, codes[j]))
            by_order += max(0.0, _worth_of_order(scores[:, i], scores[:, j]))
    return bool(counted <= UNORDERED * by_order)


def _some_rows(table: Statistics) -> Indices:
    """Return rows that do not depend on their order."""
    rows, _ = table.canonical_order()
    if len(rows) <= CODED_ROWS:
        return rows
    return rows[np.sort(np.random.default_rng(0).choice(len(rows), CODED_ROWS, replace=False))]


def _worth_of_counts(one: npt.NDArray[np.intp], other: npt.NDArray[np.intp]) -> float:
    """Return the gain in BIC of one table of counts over two independent columns."""
    n, shape = len(one), (one.max() + 1, other.max() + 1)
    table = np.bincount(one * shape[1] + other, minlength=shape[0] * shape[1]).reshape(shape) / n
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0)
    seen = table > 0
    information = (table[seen] * np.log(table[seen] / expected[seen])).sum()
    return float(2 * n * information - (shape[0] - 1) * (shape[1] - 1) * np.log(n))


def _worth_of_order(one: Floats, other: Floats) -> float:
    """Return the gain in BIC of a straight line between two columns."""
    if not (one.std() and other.std()):
        return 0.0
    square = min(float(np.corrcoef(one, other)[0, 1] ** 2), 1 - 1e-12)
    return float(-len(one) * np.log1p(-square) - np.log(len(one)))
