"""Tests of pairs given many sets: one by one they agree with partial correlations."""

import numpy as np
import pytest

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
    sets = np.array([[2, 3], [4, 5], [6, 11]])
    np.testing.assert_allclose(fast.p_values(0, 1, sets), slow.p_values(0, 1, sets), rtol=0.05, atol=1e-3)


def test_the_strongest_candidates_are_few_and_in_order(columns):
    slow = OneByOne(GaussianTests(Statistics.from_array(columns)))
    assert slow.strongest(0, 1, [2, 5, 3]) == [2, 5, 3]
    found = slow.strongest(0, 1, list(range(2, 12)))
    assert len(found) == slow.most_candidates
    assert found == sorted(found)


def test_tests_end_with_the_time(columns):
    slow = OneByOne(GaussianTests(Statistics.from_array(columns)))
    with Deadline(0.0), pytest.raises(OutOfTimeError):
        slow.p_values(0, 1, np.array([[2]]))
