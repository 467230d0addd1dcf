"""Weights of rows: what they may be, and what is said about them."""

import numpy as np
import pytest

from drbo.data.checks.weights import checked_weights, weights_in_words
from drbo.errors import DataError


def test_good_weights_come_back_as_numbers():
    given = [1, 0, 2.5]
    found = checked_weights(given, 3)
    assert found.tolist() == [1.0, 0.0, 2.5]
    array = np.ones(3)
    checked_weights(array, 3)[0] = 7
    assert array[0] == 1  # a copy


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (["a", 1, 1], "must be numbers"),
        ([1, 1], r"each of 3 rows, got shape \(2,\)"),
        ([[1], [1], [1]], r"got shape \(3, 1\)"),
        ([1, -1, 5], "got -1 in row 1"),
        ([1, np.nan, 5], "got nan in row 1"),
        ([0.2, 0.3, 0.5], "sum to 1, but a weight is a number of rows"),
        ([0, 0, 0], "all sample weights are zero"),
        ([1, 1, 1e300], r"sum to 1e\+300, but a weight is a number of rows, and at most 1e\+12"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(DataError, match=message):
        checked_weights(weights, 3)


def test_weights_that_are_no_counts_are_told_what_they_are_worth():
    weights = np.array([0.5, 0.5, 3.0, 2.0])
    text = weights_in_words(weights)
    kish = 36 / 13.5
    assert f"only {kish:.6g} (Kish)" in text
    scaled = weights * kish / weights.sum()
    assert scaled.sum() == pytest.approx(kish)
    assert "Kish" not in weights_in_words(np.array([1.0, 4.0]))
