"""The prior over the number of edges, against sums over all DAGs one by one."""

from itertools import combinations, product

import numpy as np
import pytest

from drbo.claims.probabilities.edge_prior import EXPECTED_PARENTS, averaged, edge_log_odds, expected_edges, nearest
from drbo.claims.probabilities.posterior import edge_sums
from drbo.graph.dag import is_acyclic


def every_dag(d):
    """Return all DAGs on a few nodes, each pair of nodes in one of three states."""
    pairs = list(combinations(range(d), 2))
    found = []
    for states in product(range(3), repeat=len(pairs)):
        dag = np.zeros((d, d), dtype=bool)
        for (i, j), state in zip(pairs, states, strict=True):
            dag[i, j], dag[j, i] = state == 1, state == 2
        if is_acyclic(dag):
            found.append(dag)
    return np.array(found)


@pytest.mark.parametrize("odds", [0.05, 1.0, 4.0])
def test_the_expected_number_of_edges_is_that_over_all_dags(odds):
    edges = every_dag(4).sum(axis=(1, 2))
    weights = odds**edges
    assert expected_edges(4, np.log(odds)) == pytest.approx(weights @ edges / weights.sum())


@pytest.mark.parametrize("d", [2, 3, 10, 16])
def test_odds_give_the_number_of_parents_that_is_asked_for_or_what_fits(d):
    for parents in EXPECTED_PARENTS:
        edges = min(parents * d, 0.9 * d * (d - 1) / 2)
        assert expected_edges(d, edge_log_odds(d, parents, "DAGs")) == pytest.approx(edges)
        by_order = 1 / (1 + np.exp(-edge_log_odds(d, parents, "orders")))
        assert by_order * d * (d - 1) / 2 == pytest.approx(edges)


def test_the_average_is_that_of_a_prior_over_graphs_and_numbers_of_parents(rng):
    """Mix the priors of all numbers of parents, each of total 1, and sum over all DAGs one by one."""
    d, dags = 4, every_dag(4)
    logs = rng.normal(size=(d, 8))
    logs -= logs.mean(axis=1, keepdims=True)
    sizes = np.bitwise_count(np.arange(8))
    columns = np.array([[np.delete(dag[:, i], i) @ (1, 2, 4) for i in range(d)] for dag in dags])
    likelihood = np.exp(logs[np.arange(d), columns].sum(axis=1))
    edges, prior = dags.sum(axis=(1, 2)), np.zeros(len(dags))
    grid = [one for one in EXPECTED_PARENTS if one * d <= 0.9 * 6]
    for parents in grid:
        weights = np.exp(edge_log_odds(d, parents, "DAGs") * edges)
        prior += weights / weights.sum()
    exact = np.tensordot(prior * likelihood, dags, 1) / (prior @ likelihood)
    for start in (grid[0], grid[-1]):
        found, mean = averaged(lambda odds: edge_sums(logs + odds * sizes), d, "DAGs", start)
        np.testing.assert_allclose(found, exact, atol=0.01)
        assert grid[0] < mean < grid[-1]


def test_numbers_of_parents_that_explain_nothing_are_not_looked_at():
    asked = []

    def posterior(odds):
        asked.append(odds)
        return np.full((30, 30), 60 / 900)  # two per column, whatever the odds

    _, mean = averaged(posterior, 30, "orders", start=1.0)
    assert mean == pytest.approx(2.0, abs=0.2)
    assert len(asked) < len(EXPECTED_PARENTS)


@pytest.mark.parametrize(("parents", "expected"), [(0.0, 0.125), (0.6, 0.5), (1.5, 2.0), (9.0, 4.0)])
def test_nearest_number_of_parents(parents, expected):
    assert nearest(parents) == expected
