"""Tests of two columns given many sets of others, as a search for a separating set asks for them."""

from dataclasses import replace
from itertools import combinations
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from drbo import _core
from drbo.arrays import Floats
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.independence.conditional import ConditionalTests, CountTests, GaussianTests

#: Rows of categories that are tested, at most.
MOST_ROWS = 5_000


class SetTests(Protocol):
    """Tests of two columns given sets of others."""

    most_members: int  # of a set of neighbours
    most_candidates: int  # that sets are made of

    def best(self, i: int, j: int, candidates: list[int], size: int) -> tuple[float, tuple[int, ...]]:
        """Return the largest p-value of a pair given so many of the candidates that depend most on either, and the set.

        It is 0 where there are not so many.
        """
        ...


class PartialCorrelations:
    """Fisher's test of a partial correlation.

    Examples
    --------
    >>> chain = np.array([[1.0, 0.6, 0.36], [0.6, 1.0, 0.6], [0.36, 0.6, 1.0]])
    >>> tests = PartialCorrelations(chain, 500)
    >>> p_value, given = tests.best(0, 2, [1], 1)
    >>> round(p_value, 3), given
    (1.0, (1,))
    """

    most_members, most_candidates = 4, 12

    def __init__(self, correlation: Floats, n_rows: float) -> None:
        self._correlation, self._n_rows = np.ascontiguousarray(correlation, dtype=np.float64), n_rows

    def best(self, i: int, j: int, candidates: list[int], size: int) -> tuple[float, tuple[int, ...]]:
        """Return the largest p-value given a set of the candidates that are most correlated, and the set.

        It is 1 where the columns are collinear.
        """
        if size > min(len(candidates), self.most_candidates):
            return 0.0, ()
        strongest = np.array(self._strongest(i, j, candidates), dtype=np.int64)
        partial, given = _core.separating_set(self._correlation, i, j, strongest, size)
        statistic = np.arctanh(min(partial, 1 - 1e-12)) * np.sqrt(max(1.0, self._n_rows - size - 3))
        return float(2 * ndtr(-statistic)), tuple(given.tolist())

    def _strongest(self, i: int, j: int, candidates: list[int]) -> list[int]:
        if len(candidates) <= self.most_candidates:
            return candidates
        size = np.maximum(np.abs(self._correlation[i, candidates]), np.abs(self._correlation[j, candidates]))
        return sorted(candidates[k] for k in np.argsort(-size, kind="stable")[: self.most_candidates])


class OneByOne:
    """Any tests of conditional independence, one set at a time; sets are smaller, because each test takes longer.

    Examples
    --------
    >>> a, b = np.random.default_rng(0).normal(size=(2, 500))
    >>> tests = OneByOne(GaussianTests(Statistics.from_array(np.column_stack([a, a + b, b]))))
    >>> tests.best(0, 2, [1], 1)[0] < 0.01
    True
    """

    most_members, most_candidates = 3, 8

    def __init__(self, tests: ConditionalTests) -> None:
        self._tests = tests

    def best(self, i: int, j: int, candidates: list[int], size: int) -> tuple[float, tuple[int, ...]]:
        """Return the largest p-value given a set of the candidates with the smallest p-values, and the set.

        Raises an OutOfTimeError if the run has to end.
        """
        found: tuple[float, tuple[int, ...]] = (0.0, ())
        deadline, other = current(), np.array([j])
        sets = combinations(self._strongest(i, j, candidates), size)
        for number, given in enumerate(sets):
            deadline.check()
            p_value = float(self._tests(i, other, np.array(given, dtype=np.intp))[0])
            if number == 0 or p_value > found[0]:
                found = p_value, given
        return found

    def _strongest(self, i: int, j: int, candidates: list[int]) -> list[int]:
        if len(candidates) <= self.most_candidates:
            return candidates
        others, nothing = np.array(candidates), np.empty(0, dtype=np.intp)
        smallest = np.minimum(self._tests(i, others, nothing), self._tests(j, others, nothing))
        return sorted(candidates[k] for k in np.argsort(smallest, kind="stable")[: self.most_candidates])


def set_tests_of(table: Statistics, seed: int, *, counted: bool) -> OneByOne | None:
    """Return likelihood ratios of counts, or of columns and indicators, of complete rows; None: there are none."""
    rows = table.complete_rows
    if not rows.n_rows:
        return None
    return OneByOne(CountTests(_sampled(rows, seed)) if counted else GaussianTests(rows))


def _sampled(rows: Statistics, seed: int) -> Statistics:
    """Return at most so many rows; of rows that are counted, a sample of those that were counted."""
    if rows.n_rows <= MOST_ROWS:
        return rows
    rng, columns = np.random.default_rng(seed), np.arange(rows.n_columns)
    if rows.weights is None:
        return rows.take(np.sort(rng.choice(rows.n_rows, MOST_ROWS, replace=False)), columns)
    times = np.rint(rows.weights).astype(np.int64)
    if (times != rows.weights).any():  # no counts
        return rows
    counts = rng.multivariate_hypergeometric(times, MOST_ROWS, method="marginals")
    drawn = np.flatnonzero(counts)
    return replace(rows.take(drawn, columns), weights=counts[drawn].astype(np.float64))
