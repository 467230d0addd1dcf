"""NOTEARS with TMPI: the constraint, the gradients, and graphs its paper finds."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from benchmarks.methods import notears
from drbo.data.files.simulate import random_dag, simulate
from drbo.graph.dag import is_acyclic
from drbo.graph.metrics import shd


def test_the_constraint_is_the_sum_of_the_traces_of_powers():
    squares = np.random.default_rng(0).uniform(0, 0.3, size=(6, 6))  # powers up to 8 count: none vanishes
    expected = sum(np.trace(np.linalg.matrix_power(squares, k)) for k in range(1, 9))
    assert notears.tmpi(squares)[0] == pytest.approx(expected)


def test_the_gradient_of_the_constraint_is_the_numeric_one():
    squares = np.random.default_rng(1).uniform(0, 0.3, size=(5, 5))
    numeric = approx_fprime(squares.ravel(), lambda b: notears.tmpi(b.reshape(5, 5))[0]).reshape(5, 5)
    assert notears.tmpi(squares)[1] == pytest.approx(numeric, rel=1e-4)


def test_the_sum_ends_where_powers_vanish():
    squares = np.full((64, 64), 1e-4 / 64)  # B^2 has entries 1.6e-10
    expected = np.trace(squares) + np.trace(squares @ squares)
    assert notears.tmpi(squares)[0] == pytest.approx(expected, rel=1e-12)


def test_the_constraint_is_zero_for_dags_alone():
    rng = np.random.default_rng(2)
    dag = random_dag(12, 4, rng)
    squares = np.where(dag, rng.uniform(0.2, 4.0, dag.shape), 0.0)
    assert notears.tmpi(squares)[0] == pytest.approx(0.0, abs=1e-12)
    i, j = np.argwhere(dag)[0]
    squares[j, i] = 0.1
    assert notears.tmpi(squares)[0] > 0.01


def test_the_gradient_of_the_lagrangian_is_the_numeric_one():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(50, 4))
    parts = rng.uniform(0, 0.5, size=32)
    arguments = (x.T @ x / 50, 0.1, 3.0, 0.7)
    numeric = approx_fprime(parts, lambda p: notears._objective(p, *arguments)[0])
    value, gradient = notears._objective(parts, *arguments)
    assert gradient == pytest.approx(numeric, rel=1e-4, abs=1e-5)
    weights = (parts[:16] - parts[16:]).reshape(4, 4)
    h = notears.tmpi(weights**2)[0]
    fit = 0.5 / 50 * np.sum((x - x @ weights) ** 2)
    assert value == pytest.approx(fit + 0.1 * parts.sum() + 0.7 * h + 1.5 * h**2)


def test_sparse_raw_data_are_solved():
    steps, found = [], []
    for seed in (100, 101, 102):
        data = simulate("10ER1", seed=seed)
        graph = notears.learn(data.X, seed=0, record=lambda step, graph: steps.append((step, graph)))
        assert is_acyclic(graph)
        found.append(shd(graph, data.dag))
    assert np.mean(found) <= 1
    assert len(steps) > 30
    assert np.array_equal(steps[-1][1], graph)
