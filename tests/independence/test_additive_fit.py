"""Penalised additive fits against dense regressions and fresh inverses."""

import itertools

import numpy as np
import pytest

from drbo.independence.additive_fit import GCV_FACTOR, LEAST_VARIANCE, FitDesign, _Step
from drbo.independence.residuals import AdditiveRegressions, category_term, smooth_term


def _curved(seed, n=200):
    """Return a table whose last column is an additive function of two of the three others."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    x[:, 1] += 0.7 * x[:, 0]
    return np.column_stack([x, np.sin(2 * x[:, 0]) + 0.4 * x[:, 1] ** 2 + 0.5 * rng.normal(size=n)])


@pytest.mark.parametrize("parents", [(0,), (0, 1)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_smoothness_minimises_gcv_over_all_combinations(seed, parents):
    """Every combination of strengths, each as a dense penalised regression with its own hat matrix."""
    fits = AdditiveRegressions(_curved(seed))
    terms = [smooth_term(column) for column in fits.values[:, parents].T]
    basis, y = np.hstack([term.basis for term in terms]), fits.values[:, 3]
    best = (np.inf, y)
    for chosen in itertools.product(*(term.strengths for term in terms)):
        penalty = np.concatenate([s * term.penalty + LEAST_VARIANCE for s, term in zip(chosen, terms, strict=True)])
        hat = basis @ np.linalg.solve(basis.T @ basis / 200 + np.diag(penalty), basis.T) / 200
        residual = y - hat @ y
        criterion = np.mean(residual**2) / (1 - GCV_FACTOR * (np.trace(hat) + 1) / 200) ** 2
        best = min(best, (criterion, residual), key=lambda pair: pair[0])
    np.testing.assert_allclose(fits.residual(3, parents), best[1], atol=1e-9)


def _design(seed):
    values = AdditiveRegressions(_curved(seed)).values
    terms = [*(smooth_term(column) for column in values[:, :3].T), category_term(np.arange(200) % 3)]
    basis = np.hstack([term.basis for term in terms])
    pairs = itertools.combinations(range(4), 2)
    design = FitDesign.of(terms, {(k, m): terms[k].basis.T @ terms[m].basis / 200 for k, m in pairs})
    np.testing.assert_allclose(design.gram, basis.T @ basis / 200, atol=1e-9)
    return design, basis, values[:, 3]


def test_a_step_changes_inverse_and_coefficients_as_a_fresh_inverse_does():
    design, basis, y = _design(3)
    start = [2, 3, 1, 0]
    projections, ridge, block = basis.T @ y / 200, design.ridge(start), design.blocks[1]
    step = _Step(design.inverse(start), design.inverse(start) @ projections, projections, 1.0, ridge, block)
    penalties = LEAST_VARIANCE + design.terms[1].strengths[:, None] * design.terms[1].penalty
    criteria, inverses = step.gcv(penalties, 200)
    for penalty, criterion, own in zip(penalties, criteria, inverses, strict=True):
        ridge[block] = penalty
        fresh = np.linalg.inv(design.gram + np.diag(ridge))
        inverse, coefficients = step.changed(own)
        np.testing.assert_allclose(inverse, fresh, atol=1e-8 * np.abs(fresh).max())
        np.testing.assert_allclose(coefficients, fresh @ projections, atol=1e-8)
        hat = basis @ fresh @ basis.T / 200
        left = np.log(1 - GCV_FACTOR * (np.trace(hat) + 1) / 200)
        assert criterion == pytest.approx(np.log(np.mean((y - hat @ y) ** 2)) - 2 * left)
