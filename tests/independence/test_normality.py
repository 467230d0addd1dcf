import numpy as np
import pytest
from statsmodels.stats.diagnostic import normal_ad

from drbo.independence.normality import normality


@pytest.mark.parametrize("name", ["uniform", "laplace", "exponential", "normal"])
def test_p_values_are_those_of_statsmodels(name):
    for seed in range(10):
        column = getattr(np.random.default_rng(seed), name)(size=60)
        expected = float(normal_ad(column)[1])
        if expected < 0.1:
            assert normality(column) == pytest.approx(expected, rel=0.05)
        else:
            assert normality(column) >= 0.1


def test_units_do_not_matter(rng):
    column = rng.exponential(size=40)
    assert normality(1e-6 * column + 3) == pytest.approx(normality(column), rel=1e-6)


def test_a_constant_is_not_normal():
    assert normality(np.ones(20)) == 0.0
    assert normality(np.array([0.0] * 500 + [1.0])) < 1e-6
