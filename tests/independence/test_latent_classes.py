"""Mixtures of two classes of rows against scikit-learn's and against a climb in NumPy."""

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.mixture import GaussianMixture

from drbo import _core
from drbo.independence.latent_classes import LEAST_GAIN, LEAST_VARIANCE, MAX_STEPS, _first_class, _mixture, classes_gain


def _climbed(values, share):
    """Return the log likelihood to which the EM algorithm climbs from shares (n,) of the first class."""
    shares, found = np.column_stack([share, 1 - share]), -np.inf
    for _ in range(MAX_STEPS):
        weights = shares.sum(axis=0)
        means = shares.T @ values / weights[:, None]
        variances = np.maximum(shares.T @ values**2 / weights[:, None] - means**2, LEAST_VARIANCE)
        scaled = (values[:, None] - means) ** 2 / variances + np.log(2 * np.pi * variances)
        joint = np.log(weights / len(values)) - 0.5 * scaled.sum(axis=2)
        rows = logsumexp(joint, axis=1)
        shares, before, found = np.exp(joint - rows[:, None]), found, rows.sum()
        if found - before < LEAST_GAIN * len(values):
            break
    return found


@pytest.mark.parametrize("n", [50, 511, 1000, 3000])
@pytest.mark.parametrize("d", [1, 2])
def test_the_climb_is_that_of_numpy(n, d):
    rng = np.random.default_rng([n, d])
    values = rng.normal(size=(n, d)) + 3.0 * rng.integers(2, size=(n, 1)) + (rng.random((n, 1)) < 0.01) * 40
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    for column in values.T:
        start, columns = _first_class(column), np.ascontiguousarray(values.T)
        found = _core.climb_classes(columns, start, MAX_STEPS, LEAST_GAIN, LEAST_VARIANCE)
        assert found == pytest.approx(_climbed(values, start), rel=1e-9)


def test_likelihoods_are_those_of_scikit_learn(rng):
    values = rng.normal(size=(400, 2)) + 4.0 * rng.integers(2, size=(400, 1))
    for n_classes in (1, 2):
        theirs = GaussianMixture(n_classes, covariance_type="diag", tol=1e-8, random_state=0).fit(values)
        penalty = 0.5 * (5 * n_classes - 1) * np.log(400)
        assert _mixture(values, n_classes) + penalty == pytest.approx(400 * theirs.score(values), abs=0.05)


def test_two_classes_are_told_from_an_arrow(rng):
    group = rng.integers(2, size=800)
    a, b = 2.5 * group + rng.normal(size=(2, 800))
    assert classes_gain(a, b, b - np.polyval(np.polyfit(a, b, 1), a)) > 0
    c = np.tanh(a) + 0.5 * rng.normal(size=800)
    assert classes_gain(a, c, c - np.tanh(a)) < 0
