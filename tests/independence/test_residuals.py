"""Additive regressions against dense penalised least squares, SciPy's smoothing splines and statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.interpolate import BSpline, make_smoothing_spline

from drbo.independence.residuals import (
    DEGREES_OF_FREEDOM,
    N_KNOTS,
    AdditiveRegressions,
    b_spline_values,
    category_term,
    linear_residual,
    smooth_term,
)


def _curved(rng, n=300):
    """Return a table whose last column is an additive function of two of the three others."""
    x = rng.normal(size=(n, 3))
    x[:, 1] += 0.7 * x[:, 0]
    y = np.sin(2 * x[:, 0]) + 0.4 * x[:, 1] ** 2 + 0.5 * rng.normal(size=n)
    return np.column_stack([x, y])


def test_a_term_is_orthonormal_and_leaves_straight_lines_unpenalised(rng):
    x = rng.gamma(2.0, size=400)
    term = smooth_term(x)
    q = term.basis.shape[1]
    np.testing.assert_allclose(term.basis.T @ term.basis / 400, np.eye(q), atol=1e-9)
    np.testing.assert_allclose(term.basis.mean(axis=0), 0.0, atol=1e-12)
    assert term.penalty[0] == 0.0
    assert (term.penalty[1:] > 0).all()
    assert abs(np.corrcoef(term.basis[:, 0], x)[0, 1]) == pytest.approx(1.0)


def test_a_term_spans_the_cubic_splines_on_its_knots(rng):
    x = rng.uniform(size=500)
    x = (x - x.mean()) / x.std()
    share = np.linspace(0, 1, N_KNOTS)
    knots = (np.quantile(x, share) + x.min() + share * np.ptp(x)) / 2
    padded = np.r_[[knots[0]] * 3, knots, [knots[-1]] * 3]
    dense = BSpline.design_matrix(x, padded, 3).toarray()  # sums to 1: holds the constant
    basis = smooth_term(x).basis
    fitted = dense @ np.linalg.lstsq(dense, basis, rcond=None)[0]
    np.testing.assert_allclose(fitted, basis, atol=1e-8)
    assert basis.shape[1] == dense.shape[1] - 1


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_b_splines_are_those_of_scipy(rng, degree):
    inner = np.sort(rng.normal(size=8))
    knots = np.concatenate([np.repeat(inner[0], degree), inner, np.repeat(inner[-1], degree)])
    x = np.concatenate([rng.uniform(inner[0], inner[-1], 100), inner])
    expected = BSpline.design_matrix(x, knots, degree).toarray()
    np.testing.assert_allclose(b_spline_values(x, knots, degree), expected, atol=1e-14)


def test_strengths_have_the_degrees_of_freedom_asked_for(rng):
    term = smooth_term(rng.normal(size=300))
    freedom = (1 / (1 + term.strengths[:, None] * term.penalty)).sum(axis=1)
    np.testing.assert_allclose(freedom[:-1], DEGREES_OF_FREEDOM, rtol=0.01)
    assert freedom[-1] == len(term.penalty)


def test_few_values_and_categories(rng):
    assert smooth_term(rng.integers(2, size=50)).basis.shape == (50, 1)
    assert smooth_term(np.arange(60) % 4).basis.shape == (60, 3)
    codes = np.arange(60) % 4
    term = category_term(codes)
    np.testing.assert_allclose(term.basis.T @ term.basis / 60, np.eye(3), atol=1e-12)
    values = np.column_stack([codes, rng.normal(size=60) + codes**2])
    residual = AdditiveRegressions(values, categorical=[0]).residual(1, (0,))
    np.testing.assert_allclose([residual[codes == level].mean() for level in range(4)], 0.0, atol=1e-5)


@pytest.mark.parametrize("shape", [np.sin, np.tanh, np.square, lambda x: 0.5 * x])
def test_one_parent_agrees_with_the_smoothing_spline_of_scipy(rng, shape):
    x = np.sort(rng.uniform(-3, 3, size=400))
    noise = 0.3 * rng.normal(size=400)
    y = shape(x) + noise
    fitted = y - AdditiveRegressions(np.column_stack([x, y])).residual(1, (0,)) * y.std() - y.mean()
    theirs = make_smoothing_spline(x, y)(x)
    assert np.std(fitted - theirs) < 0.3 * 0.15  # both are estimates: a sixth of the noise
    assert np.std(fitted - shape(x)) < 1.2 * np.std(theirs - shape(x)) + 0.01


def test_two_parents_agree_with_the_additive_model_of_statsmodels(rng):
    values = _curved(rng, 500)
    x, y = values[:, :2], values[:, 3]
    smoother = sm.gam.BSplines(x, df=[12, 12], degree=[3, 3])
    theirs = sm.gam.GLMGam(y, np.ones((500, 1)), smoother=smoother, alpha=[0.1, 0.1]).fit()
    residual = AdditiveRegressions(values).residual(3, (0, 1)) * y.std()
    assert np.corrcoef(residual, y - theirs.fittedvalues)[0, 1] > 0.98


def test_units_order_and_memory_do_not_matter(rng):
    values = _curved(rng)
    plain, scaled = AdditiveRegressions(values), AdditiveRegressions(values * [1, 1e-3, 7, 1e5] + 3)
    np.testing.assert_allclose(plain.residual(3, (0, 1)), scaled.residual(3, (1, 0)), atol=1e-7)
    before = plain.residual(3, (0, 1)).copy()
    plain.residual(3, (0, 2))
    np.testing.assert_array_equal(plain.residual(3, (0, 1)), before)


def test_copies_and_few_rows_are_no_problem(rng):
    values = _curved(rng, 40)
    doubled = np.column_stack([values, values[:, 0]])
    once = AdditiveRegressions(values).residual(3, (0, 1))
    twice = AdditiveRegressions(doubled).residual(3, (0, 1, 4))
    assert np.isfinite(twice).all()
    assert np.corrcoef(once, twice)[0, 1] > 0.95
    crowded = AdditiveRegressions(rng.normal(size=(12, 9))).residual(8, range(8))
    assert np.isfinite(crowded).all()


def test_an_exact_relation_leaves_nothing(rng):
    x = rng.normal(size=100)
    fits = AdditiveRegressions(np.column_stack([x, 3 * x + 2]))
    assert not fits.residual(1, (0,)).any()
    assert not fits.residual(1, (0,), "location-scale").any()
    assert fits.residual(1, ()).std() == pytest.approx(1.0)


def test_location_scale_residuals_have_one_spread(rng):
    x = rng.uniform(-2, 2, size=2000)
    noise = rng.normal(size=2000)
    fits = AdditiveRegressions(np.column_stack([x, np.sin(x) + np.exp(0.8 * x) * noise]))
    spread = [
        abs(np.corrcoef(np.abs(fits.residual(1, (0,), kind)), x)[0, 1]) for kind in ("additive", "location-scale")
    ]
    assert spread[0] > 0.4
    assert spread[1] < 0.05
    assert np.corrcoef(fits.residual(1, (0,), "location-scale"), noise)[0, 1] > 0.97


def test_linear_residuals_are_those_of_statsmodels(rng):
    values = _curved(rng)
    theirs = sm.OLS(values[:, 3], sm.add_constant(values[:, [0, 2]])).fit().resid
    np.testing.assert_allclose(linear_residual(values, 3, (0, 2)), theirs, atol=1e-10)
    np.testing.assert_allclose(linear_residual(values, 3, ()), values[:, 3] - values[:, 3].mean())
