"""Sort and regress: good where variances give the order away, bad where nothing does."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from benchmarks.methods import sorting
from drbo.data.files.simulate import simulate, simulate_linear, standardize
from drbo.graph.metrics import shd


def mean_shd(criterion, standardised):
    distances = []
    for seed in range(100, 106):
        data = simulate("10ER2", seed=seed)
        values = standardize(data.X) if standardised else data.X
        distances.append(shd(sorting.learn(values, seed=seed, criterion=criterion), data.dag))
    return np.mean(distances)


def test_variances_tell_the_order_of_raw_data_and_nothing_of_standardised_data():
    assert mean_shd("variance", standardised=False) < 8
    assert mean_shd("variance", standardised=True) > 15
    assert mean_shd("random", standardised=False) > 15


def test_r2_does_not_look_at_units():
    data = simulate("10ER2", seed=100)
    raw, standardised = (sorting.learn(x, seed=0, criterion="r2") for x in (data.X, standardize(data.X)))
    assert np.array_equal(raw, standardised)
    assert mean_shd("r2", standardised=True) < mean_shd("random", standardised=True) - 3


def test_r2_is_that_of_a_regression_on_all_others():
    data = simulate("6ER2", seed=100)
    others = [np.delete(data.X, j, axis=1) for j in range(6)]
    r2 = [LinearRegression().fit(x, y).score(x, y) for x, y in zip(others, data.X.T, strict=True)]
    assert sorting.sort_nodes(data.X, "r2", seed=0) == np.argsort(r2).tolist()


def test_ties_and_random_orders_follow_the_seed():
    values = np.tile(np.random.default_rng(0).normal(size=(50, 1)), 6)
    for criterion in ("variance", "random"):
        orders = {tuple(sorting.sort_nodes(values, criterion, seed)) for seed in (0, 1, 2, 2)}
        assert len(orders) == 3
    with pytest.raises(ValueError, match="criterion must be one of"):
        sorting.sort_nodes(values, "mean", 0)


def test_the_lasso_finds_a_chain_whose_variances_grow():
    weights = np.diag([1.5, -1.2, 1.1], k=1)
    values = simulate_linear(weights, 1_000, np.random.default_rng(100))
    steps = []
    found = sorting.learn(values, seed=0, record=lambda step, graph: steps.append((step, graph)))
    assert np.array_equal(found, weights != 0)
    assert np.array_equal(sorting.learn(values, seed=0, prune="threshold"), weights != 0)
    assert steps[0][0] == 1
    assert np.array_equal(steps[0][1], found)
