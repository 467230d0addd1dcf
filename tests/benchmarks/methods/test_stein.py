"""SCORE: the Hessian where it is known, and the case its paper solves."""

import numpy as np
import pytest

from benchmarks.methods import stein
from drbo.data.files.simulate import simulate
from drbo.graph.dag import topological_order
from drbo.graph.metrics import compare


def test_the_hessian_of_a_gaussian_is_minus_the_diagonal_of_its_precision():
    rng = np.random.default_rng(0)
    covariance = np.array([[1.0, 0.6], [0.6, 1.0]])
    values = rng.multivariate_normal([3.0, -1.0], covariance, size=1_500)
    hessian = stein.stein_hessian(values, 1e-3, 1e-3)
    centre = np.linalg.norm(values - values.mean(axis=0), axis=1) < 1.5  # few rows tell of the tails
    assert hessian[centre].mean(axis=0) == pytest.approx(-np.diag(np.linalg.inv(covariance)), rel=0.1)


def test_sums_by_matrix_products_are_the_sums_over_pairs():
    x = np.random.default_rng(1).normal(size=(40, 3))
    difference = x[:, None] - x[None]  # (k, i, j)
    distance = np.linalg.norm(difference, axis=2)
    s = np.median(distance)
    kernel = np.exp(-(distance**2) / (2 * s**2)) / s
    gradient = np.linalg.solve(kernel + 0.01 * np.eye(40), -np.einsum("kij,ik->kj", difference, kernel) / s**2)
    sums = np.einsum("kij,ik->kj", difference**2 / s**4 - 1 / s**2, kernel)
    expected = np.linalg.solve(kernel + 0.02 * np.eye(40), sums) - gradient**2
    assert stein.stein_hessian(x, 0.01, 0.02) == pytest.approx(expected)


def test_nonlinear_additive_data_are_ordered_and_pruned():
    found = []
    for seed in (100, 101, 102):
        data = simulate("5ER1", model="gp", n=500, seed=seed)
        place = np.argsort(stein.stein_order(data.X))
        wrong = sum(place[i] > place[j] for i, j in zip(*np.nonzero(data.dag), strict=True))
        found.append((wrong, compare(stein.learn(data.X, seed=0), data.dag).shd))
    assert np.mean(found, axis=0) == pytest.approx([0.0, 0.5], abs=1.0)


def test_every_node_has_one_place():
    data = simulate("6ER2", n=100, seed=100)
    assert sorted(stein.stein_order(data.X)) == list(range(6))
    assert len(topological_order(stein.learn(data.X, seed=0, prune="threshold"))) == 6
