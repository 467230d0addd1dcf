from itertools import permutations

import numpy as np
import pytest

from drbo.claims.probabilities import dag_sums


def _shares(weights, every_dag):
    weights = np.exp(weights - weights.max())
    return np.einsum("k,kij->ij", weights / weights.sum(), every_dag)


@pytest.mark.parametrize("spread", [0.1, 3.0, 200.0])
@pytest.mark.parametrize("seed", range(3))
def test_every_dag_counts_once(seed, spread, every_dag, weigh):
    logs = spread * np.random.default_rng(seed).normal(size=(4, 8))
    inside = dag_sums.sum_inside(logs)
    passed = dag_sums.over_dags(inside, logs)
    np.testing.assert_allclose(passed.sum(axis=1), 1.0, rtol=1e-10)
    np.testing.assert_allclose(dag_sums.edge_sums(inside, passed), _shares(weigh(logs), every_dag), atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_every_order_counts_once(seed, every_dag, weigh):
    logs = 3 * np.random.default_rng(seed).normal(size=(4, 8))
    places = np.array([np.argsort(order) for order in permutations(range(4))])
    fits = [(~every_dag | (place[:, None] < place)).all(axis=(1, 2)) for place in places]
    expected = _shares(weigh(logs) + np.log(np.sum(fits, axis=0)), every_dag)
    inside = dag_sums.sum_inside(logs)
    np.testing.assert_allclose(dag_sums.edge_sums(inside, dag_sums.over_orders(inside)), expected, atol=1e-10)


def test_families_that_may_not_be_used(every_dag, weigh):
    logs = np.random.default_rng(5).normal(size=(4, 8))
    logs[0] = [0.0, *[-np.inf] * 7]  # node 0 is a root
    logs[2, [0, 1, 2, 3]] = -np.inf  # node 3 is always a parent of node 2
    inside = dag_sums.sum_inside(logs)
    edges = dag_sums.edge_sums(inside, dag_sums.over_dags(inside, logs))
    np.testing.assert_allclose(edges, _shares(weigh(logs), every_dag), atol=1e-10)
    assert edges[3, 2] == pytest.approx(1.0)
