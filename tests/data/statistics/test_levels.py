"""Codes of columns with few values; scores of categories test them further."""

import numpy as np
import pytest

from drbo.data.statistics.levels import CODE_LIMIT, configurations, level_codes, renumbered
from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError


def test_numbers_get_the_codes_of_their_order():
    codes, cardinalities = level_codes(
        Statistics.from_array([[5.0, 1.0], [7.0, 1.0], [5.0, 0.0], [7.0, 0.0]]), "the test"
    )
    assert (codes.tolist(), cardinalities.tolist()) == ([[0, 1, 0, 1], [1, 1, 0, 0]], [2, 2])


def test_columns_of_one_or_many_values_are_refused(rng):
    with pytest.raises(ScoreError, match="is continuous"):
        level_codes(Statistics.from_array(rng.normal(size=(50, 1))), "the test")
    with pytest.raises(ScoreError, match="1 distinct value"):
        level_codes(Statistics.from_array(np.zeros((50, 1))), "the test")


def test_codes_stay_below_the_limit(rng):
    columns = rng.integers(32, size=(20, 40)).astype(np.int32)
    code, span = configurations(columns, np.full(20, 32))
    assert span <= CODE_LIMIT
    assert len(np.unique(code)) == len(np.unique(columns, axis=1).T)
    places, count = renumbered(code)
    assert places.max() == count - 1
