"""Tests of two columns given many sets of others, as a search for a separating set asks for them."""

from dataclasses import replace
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from drbo.arrays import Floats, Indices
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.independence.conditional import ConditionalTests, CountTests, GaussianTests

#: Rows of categories that are tested, at most.
MOST_ROWS = 5_000


class SetTests(Protocol):
    """Tests of two columns given each of some sets."""

    most_members: int  # of a set of neighbours
    most_candidates: int  # that sets are made of

    def p_values(self, i: int, j: int, sets: Indices) -> Floats:  # sets (m, k)
        """Return the p-values (m,) of a pair given each set."""
        ...

    def strongest(self, i: int, j: int, candidates: list[int]) -> list[int]:
        """Return the candidates that depend most on either column, in order of their number."""
        ...


class PartialCorrelations:
    """Fisher's test of a partial correlation, for many conditioning sets of one size at once.

    Examples
    --------
    >>> chain = np.array([[1.0, 0.6, 0.36], [0.6, 1.0, 0.6], [0.36, 0.6, 1.0]])
    >>> tests = PartialCorrelations(chain, 500)
    >>> [float(tests.p_values(0, 2, np.array([given]).reshape(1, -1))[0].round(3)) for given in ([], [1])]
    [0.0, 1.0]
    """

    most_members, most_candidates = 4, 12

    def __init__(self, correlation: Floats, n_rows: float) -> None:
        self._correlation, self._n_rows = correlation, n_rows

    def p_values(self, i: int, j: int, sets: Indices) -> Floats:  # sets (m, k)
        """Return the p-values of the pair given each set; 1 where the columns are collinear."""
        m, k = sets.shape
        columns = np.column_stack([np.full(m, i), np.full(m, j), sets]).astype(np.intp)
        blocks = self._correlation[columns[:, :, None], columns[:, None, :]]
        try:
            inverse = np.linalg.inv(blocks)
        except np.linalg.LinAlgError:
            return np.ones(m)
        scale = np.sqrt(np.maximum(inverse[:, 0, 0] * inverse[:, 1, 1], np.finfo(float).tiny))
        partial = np.clip(-inverse[:, 0, 1] / scale, -1 + 1e-12, 1 - 1e-12)
        statistic = np.abs(np.arctanh(partial)) * np.sqrt(max(1.0, self._n_rows - k - 3))
        return np.asarray(2 * ndtr(-statistic))

    def strongest(self, i: int, j: int, candidates: list[int]) -> list[int]:
        """Return the candidates that are most correlated with the pair, in order of their number."""
        size = np.maximum(np.abs(self._correlation[i, candidates]), np.abs(self._correlation[j, candidates]))
        return sorted(candidates[k] for k in np.argsort(-size, kind="stable")[: self.most_candidates])


class OneByOne:
    """Any tests of conditional independence, one set at a time; sets are smaller, because each test takes longer.

    Examples
    --------
    >>> a, b = np.random.default_rng(0).normal(size=(2, 500))
    >>> tests = OneByOne(GaussianTests(Statistics.from_array(np.column_stack([a, a + b, b]))))
    >>> (tests.p_values(0, 2, np.array([[1]])) < 0.01).tolist()
    [True]
    """

    most_members, most_candidates = 3, 8

    def __init__(self, tests: ConditionalTests) -> None:
        self._tests = tests

    def p_values(self, i: int, j: int, sets: Indices) -> Floats:  # sets (m, k)
        """Return the p-values of the pair given each set; raises an OutOfTimeError if the run has to end."""
        found, deadline, other = np.empty(len(sets)), current(), np.array([j])
        for row, given in enumerate(sets):
            deadline.check()
            found[row] = self._tests(i, other, given)[0]
        return found

    def strongest(self, i: int, j: int, candidates: list[int]) -> list[int]:
        """Return the candidates with the smallest p-values of dependence on either column."""
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
