"""Slopes of linear regressions on numeric and categorical columns, from means and covariances."""

import numpy as np

from drbo.arrays import Floats
from drbo.data.statistics.moments import moments
from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError


class Slopes:
    """Regressions between the columns of one table; a category is entered as one indicator per level but the first.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> x[:, 1] += 3 * x[:, 0]
    >>> values, errors = Slopes(Statistics.from_array(x)).of(0, 1, [])
    >>> values.round(), errors.shape
    (array([[3.]]), (1, 1))
    """

    def __init__(self, table: Statistics) -> None:
        self._levels = table.levels
        if all(levels is None for levels in table.levels):
            self._rows = moments(table.values, table.weights) if table.moments is None else table.moments
            self._places = [[k] for k in range(table.n_columns)]
            return
        if table.incomplete:
            raise DataError(
                "effects on tables with categories need complete rows", hint="drop rows with missing values"
            )
        parts, self._places, n = [], [], 0
        for k, levels in enumerate(table.levels):
            column = table.values[:, [k]]
            part = column if levels is None else (column == np.arange(1, len(levels))).astype(np.float64)
            self._places.append(list(range(n, n + part.shape[1])))
            parts.append(part)
            n += part.shape[1]
        self._rows = moments(np.hstack(parts), table.weights)

    def contrasts(self, node: int) -> tuple[str, ...]:
        """Return what the slopes of a column compare: levels with the first one; an empty text for a number."""
        levels = self._levels[node]
        return ("",) if levels is None else tuple(f"{level} instead of {levels[0]}" for level in levels[1:])

    @property
    def n(self) -> float:
        """The (effective) number of rows."""
        return self._rows.n

    def outcomes(self, node: int) -> tuple[str, ...]:
        """Return the levels of a column whose shares are regressed on others; an empty text for a number."""
        levels = self._levels[node]
        return ("",) if levels is None else levels[1:]

    def of(self, source: int, target: int, others: list[int]) -> tuple[Floats, Floats]:
        """Return the slopes (contrasts, outcomes) of the source and their standard errors, in a regression."""
        own, goals = self._places[source], self._places[target]
        used = [*own, *(place for other in others for place in self._places[other])]
        covariance = self._rows.covariance
        inner, cross = covariance[np.ix_(used, used)], covariance[np.ix_(used, goals)]
        inverse = np.linalg.pinv(inner, hermitian=True)
        slopes = inverse @ cross
        left = np.maximum(np.diag(covariance)[goals] - (cross * slopes).sum(axis=0), 0.0)
        freedom = self._rows.n - 1 - len(used)
        if freedom < 1:
            raise DataError(
                f"{self._rows.n:.0f} rows are too few to adjust for {len(others)} columns",
                hint="use more rows or a sparser graph",
            )
        first = range(len(own))
        return slopes[first], np.sqrt(np.outer(np.maximum(inverse[first, first], 0.0), left) / freedom)
