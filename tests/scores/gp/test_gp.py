import warnings

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.units import standardized, winsorized
from drbo.scores.families import Families
from drbo.scores.gp import gp
from drbo.scores.gp.gp import GpScore
from drbo.scores.gp.kernels import KernelData

N = 90


@pytest.fixture
def values(rng):
    x = rng.normal(size=(N, 4))
    x[:, 1] += 1.5 * np.sin(2 * x[:, 0])
    x[:, 2] += x[:, 1] ** 2 - x[:, 0]
    return x


FAMILIES = Families.from_sets(4, [(1, (0,)), (0, (1,)), (2, (0, 1)), (2, (1,)), (3, (0,)), (3, (0, 1, 2)), (1, ())])


def _sklearn(columns, family, kernel, optimizer):
    node, parents = int(FAMILIES.nodes[family]), np.flatnonzero(FAMILIES.parents[family])
    model = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=optimizer, n_restarts_optimizer=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # parameters at the end of their range
        return model.fit(columns[:, parents], columns[:, node]).log_marginal_likelihood_value_


def test_the_evidence_is_sklearns_at_the_same_parameters_and_not_below_its_optimum(values):
    score = GpScore(Statistics.from_array(values))
    columns = standardized(winsorized(values))
    fit = score.fit(FAMILIES)
    for family in range(6):
        if fit.amplitude[family] > 0:
            kernel = ConstantKernel(fit.amplitude[family]) * RBF(fit.length_scale[family])
            kernel += WhiteKernel(fit.noise[family])
            assert fit.log_evidence[family] == pytest.approx(_sklearn(columns, family, kernel, None), abs=1e-4)
        start = ConstantKernel(1.0, (1e-6, 1e6)) * RBF(1.0, (1e-3, 1e4)) + WhiteKernel(0.5, (1e-6, 1e3))
        assert fit.log_evidence[family] >= _sklearn(columns, family, start, "fmin_l_bfgs_b") - 0.05


def test_the_empty_family_is_a_normal_distribution(values):
    local = GpScore(Statistics.from_array(values)).local(FAMILIES)
    column = standardized(winsorized(values))[:, 1]
    assert local[6] == pytest.approx(-0.5 * (N * np.log(2 * np.pi) + column @ column))


def test_units_do_not_matter(values):
    scaled = values * np.array([0.01, 100.0, 1.0, 30.0]) + 5.0
    first, second = (GpScore(Statistics.from_array(x)).local(FAMILIES) for x in (values, scaled))
    assert first == pytest.approx(second, abs=1e-3)


def test_a_nonlinear_cause_is_found_and_noise_does_not_pay(values):
    score = GpScore(Statistics.from_array(values))
    share = score.gain * score.local(FAMILIES) + score.family_price(FAMILIES)
    assert share[0] > share[6] + 20  # 0 -> 1
    empty = Families.from_sets(4, [(3, ())])
    assert share[4] < score.gain * score.local(empty)[0]  # nothing causes 3


def test_the_optimum_is_that_of_many_starts(values):
    """scikit-learn in the same ranges, from nine starts, finds nothing better."""
    columns = standardized(winsorized(values))
    found = GpScore(Statistics.from_array(values)).local(FAMILIES)
    for family in range(6):
        root = FAMILIES.parents[family].sum() ** 0.5
        low, high = (bound * root for bound in gp.SCALE_RANGE)
        starts = [(scale * root, noise) for scale in (0.4, 1.0, 4.0) for noise in (0.05, 0.5, 5.0)]
        others = [
            _sklearn(
                columns,
                family,
                ConstantKernel(1.0, (1e-6, 1e6)) * RBF(scale, (low, high)) + WhiteKernel(noise, (1e-6, 1e3)),
                "fmin_l_bfgs_b",
            )
            for scale, noise in starts
        ]
        assert found[family] == pytest.approx(max(others), abs=0.01)


def _evidence(columns, node, parents, theta):
    """Log marginal likelihood with the best amplitude, by the textbook formula."""
    x, y = columns[:, parents], columns[:, node]
    distance = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    kernel = np.exp(-0.5 * distance * np.exp(-2 * theta[0])) + np.exp(theta[1]) * np.eye(len(x))
    amplitude = y @ np.linalg.solve(kernel, y) / len(y)
    return -0.5 * (len(y) * np.log(2 * np.pi * amplitude) + np.linalg.slogdet(kernel)[1] + len(y))


def test_the_gradient_is_that_of_the_evidence(values):
    columns = standardized(winsorized(values))
    parents = np.array([[True, True, False, False]] * 2)
    theta, step, both = np.array([[0.3, -1.0], [1.2, 0.5]]), 1e-5, np.arange(2)
    climb = gp._Climb(KernelData(columns, columns, "cpu"), parents, np.array([2, 2]), theta)
    evidence, _, gradient = climb._evaluate(both, theta)
    assert climb._evaluate(both, theta, slopes=False)[0] == pytest.approx(evidence)
    for row in both:
        assert evidence[row] == pytest.approx(_evidence(columns, 2, [0, 1], theta[row]))
        for k, move in enumerate(np.eye(2) * step):
            up, down = (_evidence(columns, 2, [0, 1], theta[row] + sign * move) for sign in (1, -1))
            assert gradient[row, k] == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-5)


def test_slopes_of_a_stencil_are_those_of_a_parabola():
    matrix, gradient, h = np.array([[3.0, 0.5], [0.5, 2.0]]), np.array([1.0, -2.0]), gp.STENCIL
    places = np.array([[[i * h, j * h] for j in (-1, 0, 1)] for i in (-1, 0, 1)])
    around = places @ gradient - 0.5 * np.einsum("abi,ij,abj->ab", places, matrix, places)
    slope, curvature = gp._slopes(around[None])
    assert slope[0] == pytest.approx(gradient)
    assert curvature[0] == pytest.approx(matrix)


def test_the_number_of_threads_does_not_change_a_bit(rng):
    x = rng.normal(size=(gp.SINGLE_ROWS, 4))
    x[:, 2] += np.sin(2 * x[:, 0]) * x[:, 1]
    score, before, found = GpScore(Statistics.from_array(x)), torch.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            found.append(score.local(FAMILIES))
            assert torch.get_num_threads() == count
    finally:
        torch.set_num_threads(before)
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()


def test_a_function_without_noise_has_a_finite_evidence(rng):
    x = rng.normal(size=80)
    fit = GpScore(Statistics.from_array(np.column_stack([x, np.tanh(x)]))).fit(Families.from_sets(2, [(1, (0,))]))
    assert np.isfinite(fit.log_evidence[0])
    assert fit.noise[0] < 1e-4


def test_rows_with_interventions_are_left_out(values):
    targets = np.zeros(values.shape, dtype=bool)
    targets[:30, 1] = True
    family = Families.from_sets(4, [(1, (0, 3)), (1, ())])
    assert GpScore(Statistics.from_array(values), targets=targets).local(family) == pytest.approx(
        GpScore(Statistics.from_array(values[30:])).local(family), abs=1e-6
    )


def test_independent_columns_with_wild_values_give_no_edges():
    """Without the fences an isolated outlier proves an edge: 14 of these 180 pairs."""
    rng, d = np.random.default_rng(0), 10
    pairs = Families.from_sets(d, [(j, (i,)) for i in range(d) for j in range(d) if i != j])
    for _ in range(2):
        score = GpScore(Statistics.from_array(rng.standard_cauchy(size=(100, d))))
        gain = 2 * score.local(pairs) + score.family_price(pairs) - 2 * score.local(Families.from_sets(d, [(0, ())]))
        assert (gain <= 0).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_gpu_gives_the_same_numbers(values):
    first, second = (
        GpScore(Statistics.from_array(values), device=device).local(FAMILIES) for device in ("cpu", "cuda")
    )
    assert first == pytest.approx(second, abs=1e-6)
