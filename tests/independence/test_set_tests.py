"""Tests of pairs given many sets: one by one they agree with partial correlations."""

from itertools import combinations

import numpy as np
import pytest

from drbo._core import separating_set
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline, OutOfTimeError
from drbo.independence.conditional import GaussianTests
from drbo.independence.set_tests import OneByOne, PartialCorrelations

N = 800


@pytest.fixture
def columns(rng):
    return rng.normal(size=(N, 12)) @ (np.eye(12) + 0.4 * rng.normal(size=(12, 12)))


def test_both_kinds_agree_on_numbers(columns):
    fast, slow = PartialCorrelations(np.corrcoef(columns.T), N), OneByOne(GaussianTests(Statistics.from_array(columns)))
    for size in range(4):
        (first, given), (second, same) = (tests.best(0, 1, [2, 3, 5, 6, 11], size) for tests in (fast, slow))
        assert given == same
        assert len(given) == size
        assert first == pytest.approx(second, rel=0.05, abs=1e-3)


@pytest.mark.floats
def test_the_best_set_has_the_smallest_partial_correlation(columns):
    correlation = np.corrcoef(columns.T)

    def partial(given):
        inverse = np.linalg.inv(correlation[np.ix_([3, 7, *given], [3, 7, *given])])
        return abs(inverse[0, 1]) / np.sqrt(inverse[0, 0] * inverse[1, 1])

    candidates = np.array([0, 1, 4, 5, 8, 10, 11])
    for size in range(5):
        expected = min(combinations(candidates.tolist(), size), key=partial)
        least, given = separating_set(correlation, 3, 7, candidates, size)
        assert tuple(given) == expected
        assert least == pytest.approx(partial(expected))


def test_there_is_no_set_of_more_columns_than_candidates(columns):
    tests = PartialCorrelations(np.corrcoef(columns.T), N)
    assert tests.best(0, 1, [2], 2) == (0.0, ())
    with pytest.raises(ValueError, match="size out of range"):
        separating_set(np.eye(3), 0, 1, np.array([2]), 2)


def test_the_strongest_candidates_are_few(columns):
    correlation = np.corrcoef(columns.T)
    tests = PartialCorrelations(correlation, N)
    tests.most_candidates = 3
    strength = np.maximum(*np.abs(correlation[:2, 2:]))
    assert set(tests.best(0, 1, list(range(2, 12)), 3)[1]) == set((2 + np.argsort(-strength)[:3]).tolist())
    slow = OneByOne(GaussianTests(Statistics.from_array(columns)))
    assert slow.best(0, 1, list(range(2, 12)), slow.most_candidates + 1) == (0.0, ())


def test_tests_end_with_the_time(columns):
    slow = OneByOne(GaussianTests(Statistics.from_array(columns)))
    with Deadline(0.0), pytest.raises(OutOfTimeError):
        slow.best(0, 1, [2], 1)
