"""Moments of weighted and incomplete rows, against repeated rows and a direct maximum of the observed likelihood."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from drbo.data.statistics.moments import complete_moments, moments
from drbo.deadline import Deadline, OutOfTimeError
from drbo.errors import DataError


def _table(rng, n=60, holes=0.25):
    x = rng.normal(size=(n, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 1.0, -0.7], [0.0, 0.0, 0.5]]) + [1.0, -2.0, 30.0]
    x[rng.random(x.shape) < holes] = np.nan
    return x


def _observed_log_likelihood(x, mean, covariance):
    total = 0.0
    for seen in np.unique(~np.isnan(x), axis=0):
        rows = x[(~np.isnan(x) == seen).all(axis=1)][:, seen]
        if seen.any():
            total += multivariate_normal.logpdf(rows, mean[seen], covariance[np.ix_(seen, seen)]).sum()
    return total


def test_em_reaches_the_maximum_of_the_observed_likelihood(rng):
    x = _table(rng)
    lower = np.tril_indices(3)

    def unpack(vector):
        factor = np.zeros((3, 3))
        factor[lower] = vector[3:]
        return vector[:3], factor @ factor.T + 1e-9 * np.eye(3)

    start = np.concatenate([np.nanmean(x, axis=0), np.linalg.cholesky(np.diag(np.nanvar(x, axis=0)))[lower]])
    best = minimize(lambda vector: -_observed_log_likelihood(x, *unpack(vector)), start, method="BFGS", tol=1e-10)
    found = moments(x)
    mean, covariance = unpack(best.x)
    assert found.mean == pytest.approx(mean, abs=2e-4)
    assert found.covariance == pytest.approx(covariance, abs=2e-4)
    assert _observed_log_likelihood(x, found.mean, found.covariance) >= -best.fun - 1e-6


def test_without_holes_these_are_the_plain_moments(rng):
    x = _table(rng, holes=0.0)
    found = moments(x)
    assert found.covariance == pytest.approx(np.cov(x, rowvar=False, bias=True))
    assert found.n == 60


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_whole_weights_are_repeated_rows(rng, holes):
    x, times = _table(rng, holes=holes), rng.integers(1, 4, size=60)
    weighted, repeated = moments(x, times.astype(float)), moments(np.repeat(x, times, axis=0))
    assert weighted.mean == pytest.approx(repeated.mean, abs=1e-6)
    assert weighted.covariance == pytest.approx(repeated.covariance, abs=1e-6)
    assert weighted.n == pytest.approx(repeated.n)
    assert weighted.pairs == pytest.approx(repeated.pairs)


def test_the_effective_rows_are_the_harmonic_mean_over_pairs():
    x = np.random.default_rng(0).normal(size=(100, 3))
    x[:50, 0] = np.nan
    assert moments(x).pairs[0].tolist() == [50, 50, 50]
    assert moments(x).n == pytest.approx(3 / (1 / 50 + 1 / 50 + 1 / 100))


def test_correlations_of_independent_columns_have_the_variance_that_the_effective_rows_promise():
    n, holes = 200, 0.3
    found = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, 2))
        x[rng.random(x.shape) < holes] = np.nan
        part = moments(x)
        found.append(part.covariance[0, 1] / np.sqrt(np.prod(np.diag(part.covariance))) * np.sqrt(part.n))
    assert np.std(found) == pytest.approx(1.0, abs=0.1)  # 2.4 standard errors


def test_missing_at_random_biases_complete_rows_but_not_em():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4_000, 2))
    x[:, 1] += x[:, 0]
    x[x[:, 0] > 0.3, 1] = np.nan  # depends on what is seen
    complete = x[~np.isnan(x).any(axis=1)]
    assert abs(complete[:, 1].mean()) > 0.4
    assert abs(moments(x).mean[1]) < 0.1
    assert moments(x).covariance[1, 1] == pytest.approx(2.0, abs=0.15)


def test_em_ends_at_the_deadline(rng):
    holes = np.where(rng.random((50, 4)) < 0.1, np.nan, rng.normal(size=(50, 4)))
    with Deadline(0.0):
        assert moments(holes).n < 50  # a small table is not refused
    with Deadline() as deadline:
        deadline.stop()
        with pytest.raises(OutOfTimeError):
            moments(holes)


def test_columns_never_seen_together_are_refused():
    x = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, 1.0], [np.nan, 3.0]])
    with pytest.raises(DataError, match="'age' and 'dose' are never observed in the same row"):
        moments(x, names=["age", "dose"])


@pytest.mark.parametrize("order", ["C", "F"])
def test_complete_rows_by_blocks(rng, order):
    values = np.array(rng.normal(size=(40_000, 3)) * [1, 1e6, 1e-6] + [0, 1e7, 5], order=order)
    found = complete_moments(values)
    assert found.mean == pytest.approx(values.mean(axis=0))
    assert found.covariance == pytest.approx(np.cov(values.T, bias=True), rel=1e-9)
    assert found.n == 40_000
    assert (found.covariance == complete_moments(np.ascontiguousarray(values)).covariance).all()


def test_complete_rows_hold_no_matrix_of_counts(rng):
    found = complete_moments(rng.normal(size=(50, 4)))
    part = found.take(np.array([2, 0]))
    assert (part.pairs == np.full((2, 2), 50.0)).all()
    assert not any(part.pairs.strides)
    assert (part.covariance == found.covariance[np.ix_([2, 0], [2, 0])]).all()
