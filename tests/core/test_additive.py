"""Penalised additive fits against NumPy, which is checked against dense regressions and fresh inverses."""

import itertools

import numpy as np
import pytest

from drbo import _core
from drbo.deadline import Deadline, OutOfTimeError
from drbo.independence.residuals import LEAST_VARIANCE, AdditiveRegressions, category_term, smooth_term
from tests.core.additive_oracle import GCV_FACTOR, FitDesign, _Step, residual


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


def _table(seed, n=240):
    """Return a table of eight columns: dependent numbers, a copy with noise, a binary column, and categories."""
    rng = np.random.default_rng([7, seed])
    x = rng.normal(size=(n, 8))
    x[:, 1:5] += np.tanh(x[:, :1]) * rng.normal(size=4) + x[:, 5:6] ** 2
    x[:, 3] = x[:, 2] + 1e-4 * x[:, 3]
    x[:, 6], x[:, 7] = rng.integers(2, size=n), rng.integers(4, size=n)
    return x


@pytest.mark.parametrize("seed", range(6))
def test_residuals_are_those_of_numpy(seed):
    values, rng = _table(seed), np.random.default_rng(seed)
    fits = AdditiveRegressions(values, categorical=[7])
    for _ in range(12):
        node, *parents = rng.permutation(7)[: rng.integers(2, 7)].tolist()
        parents += [7] if rng.random() < 0.3 else []
        terms = [
            category_term(fits.values[:, p]) if p == 7 else smooth_term(fits.values[:, p]) for p in sorted(parents)
        ]
        np.testing.assert_allclose(fits.residual(node, parents), residual(fits.values[:, node], terms), atol=1e-7)


def test_batches_and_threads_change_no_bit():
    values = _table(9)
    families = [(node, tuple(p for p in range(8) if p != node and (p + node) % 3)) for node in range(7)] + [(0, ())]
    singly, together = AdditiveRegressions(values, [7]), AdditiveRegressions(values, [7])
    together.prepare(families)
    wanted = [singly.residual(*family) for family in families]
    np.testing.assert_array_equal([together.residual(*family) for family in families], wanted)

    core = _core.AdditiveFits(240, LEAST_VARIANCE, 0.0)
    for column, of in enumerate(singly.values.T):
        term = smooth_term(of)
        core.add(column, np.ascontiguousarray(term.basis.T), term.penalty, term.strengths)
    responses = np.ascontiguousarray(singly.values[:, [node for node, _ in families]].T)
    members = np.concatenate([np.array(parents, dtype=np.int64) for _, parents in families])
    starts = np.cumsum([0, *(len(parents) for _, parents in families)])
    one, four = (core.residuals(responses, starts, members, threads) for threads in (1, 4))
    np.testing.assert_array_equal(one, four)


@pytest.mark.parametrize(
    ("starts", "members", "message"),
    [
        ([0, 1], [5], "a parent has no term"),
        ([0, 2], [1, 0], "parents must rise"),
        ([0, 2], [0, 0], "parents must rise"),
        ([0, 2], [0], "starts must rise"),
    ],
)
def test_wrong_families_are_refused(starts, members, message):
    core, basis = _core.AdditiveFits(10, LEAST_VARIANCE, 0.0), np.linspace(-1, 1, 10)[None]
    for column in range(2):
        core.add(column, basis, np.zeros(1), np.zeros(1))
    with pytest.raises(ValueError, match=message):
        core.residuals(np.zeros((1, 10)), np.array(starts), np.array(members), 1)


def test_the_deadline_ends_a_batch_and_leaves_the_next_one_right():
    values = np.random.default_rng(0).normal(size=(400, 12))
    families = [(node, tuple(p for p in range(12) if p != node)) for node in range(12)]
    fits, fresh = AdditiveRegressions(values), AdditiveRegressions(values)
    with Deadline() as deadline:
        deadline.stop()
        with pytest.raises(OutOfTimeError):
            fits.prepare(families)
    np.testing.assert_array_equal(fits.residual(*families[0]), fresh.residual(*families[0]))
