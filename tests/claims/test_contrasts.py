"""Intervals of means, shares and their differences, against SciPy and statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from drbo.claims import contrasts

CASES = ((3, 40, 9, 35), (0, 20, 4, 25), (30, 30, 1, 50))


@pytest.mark.parametrize(("count", "n", "other", "m"), CASES)
def test_shares_have_the_intervals_of_statsmodels(count, n, other, m):
    assert contrasts.share_of(count, n)[1:] == pytest.approx(proportion_confint(count, n, method="wilson"), abs=1e-12)
    wanted = confint_proportions_2indep(count, n, other, m, method="newcomb")
    found = contrasts.share_difference(count, n, other, m)
    assert found.value == pytest.approx(count / n - other / m)
    assert found[1:] == pytest.approx(wanted, abs=1e-9)


def test_means_have_the_intervals_of_scipy(rng):
    one, two = rng.normal(size=12), 3 * rng.normal(size=30) + 1
    wanted = stats.ttest_ind(one, two, equal_var=False).confidence_interval()
    found = contrasts.mean_difference(one, np.ones(12), two, np.ones(30))
    assert found[1:] == pytest.approx((wanted.low, wanted.high))
    wanted = stats.ttest_1samp(one, 0).confidence_interval()
    assert contrasts.mean_of(one, np.ones(12))[1:] == pytest.approx((wanted.low, wanted.high))


def test_means_without_spread_differ_exactly():
    assert contrasts.mean_difference(np.ones(4), np.ones(4), np.zeros(5), np.ones(5)) == (1.0, 1.0, 1.0)


def test_slopes_have_the_robust_intervals_of_statsmodels(rng):
    design = rng.normal(size=(60, 3))
    outcome = design @ [1.0, -0.5, 0.0] + rng.normal(size=60) * np.exp(design[:, 0])
    fit = sm.OLS(outcome, sm.add_constant(design)).fit(cov_type="HC3", use_t=True)
    found = contrasts.robust_slopes(outcome, design, np.ones(60), 2)
    np.testing.assert_allclose([one.value for one in found], fit.params[1:3])
    np.testing.assert_allclose([one[1:] for one in found], fit.conf_int()[1:3])


def test_weights_count_rows(rng):
    values, weights = rng.normal(size=20), rng.integers(1, 4, size=20)
    design, repeated = rng.normal(size=(20, 2)), np.repeat(np.arange(20), weights)
    ones = np.ones(len(repeated))
    assert contrasts.mean_of(values, weights.astype(float)) == pytest.approx(contrasts.mean_of(values[repeated], ones))
    found = contrasts.robust_slopes(values, design, weights.astype(float), 2)
    wanted = contrasts.robust_slopes(values[repeated], design[repeated], ones, 2)
    np.testing.assert_allclose(found, wanted)
