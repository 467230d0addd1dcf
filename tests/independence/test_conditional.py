"""Conditional tests against independent computations; more in tests/result/test_independence.py."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from drbo.data.statistics.statistics import Statistics
from drbo.independence.conditional import CountTests, GaussianTests

NOTHING = np.empty(0, dtype=np.intp)


def test_counts_agree_with_scipy(rng):
    codes = rng.integers(3, size=(300, 2)).astype(float)
    codes[:100, 1] = codes[:100, 0]
    found = CountTests(Statistics.from_array(codes))(0, np.array([1]), NOTHING)[0]
    cells = np.histogram2d(*codes.T, bins=3)[0]
    assert found == pytest.approx(chi2_contingency(cells, correction=False, lambda_="log-likelihood").pvalue)


def test_weights_count_as_repeated_rows(rng):
    codes = rng.integers(2, size=(60, 3)).astype(float)
    weights = rng.integers(1, 4, size=60).astype(float)
    levels = (("no", "yes"),) * 3
    merged = Statistics(codes, tuple("abc"), ("categorical",) * 3, levels, weights=weights)
    repeated = Statistics(np.repeat(codes, weights.astype(int), axis=0), tuple("abc"), ("categorical",) * 3, levels)
    one, two = (CountTests(table)(0, np.array([1]), np.array([2]))[0] for table in (merged, repeated))
    assert one == pytest.approx(two)


def test_categories_are_tested_as_indicators(rng):
    group = rng.integers(3, size=500).astype(float)
    values = np.column_stack([group, group == 2, rng.normal(size=500)])
    table = Statistics(values, tuple("abc"), ("categorical", "numeric", "numeric"), (("x", "y", "z"), None, None))
    tests = GaussianTests(table)
    assert tests(0, np.array([1]), NOTHING)[0] < 1e-9
    assert tests(0, np.array([2]), NOTHING)[0] > 0.001
