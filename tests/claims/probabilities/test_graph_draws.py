"""Graphs drawn from a posterior, against the exact probabilities of edges."""

from itertools import permutations

import numpy as np
import pytest

from drbo.claims.known_margins import Chains
from drbo.claims.probabilities.graph_draws import by_chains, by_sums, drawn_dags, orders_of
from drbo.claims.probabilities.order_sampling import order_chains
from drbo.claims.probabilities.posterior import edge_sums
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError
from drbo.graph.dag import is_acyclic
from drbo.knowledge import Knowledge
from drbo.scores.families import Families
from drbo.scores.linear import BicEV, BicNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import families_of
from drbo.search.known_orders import pack
from drbo.settings import Settings
from tests.claims.test_orientations import random_dag


def test_orders_are_counted(rng):
    for d in (1, 3, 5):
        dag = random_dag(rng, d)
        fits = sum(not any(dag[b, a] for k, a in enumerate(one) for b in one[k:]) for one in permutations(range(d)))
        assert orders_of(dag) == pytest.approx(fits)


def test_draws_have_the_probabilities_of_all_dags(rng):
    logs = 1.5 * rng.normal(size=(4, 8))
    found = by_sums(logs, 1500, rng)
    exact = edge_sums(logs)
    np.testing.assert_allclose(np.tensordot(found.shares, found.dags, 1), exact, atol=0.06)
    assert found.shares.sum() == pytest.approx(1.0)
    assert all(is_acyclic(dag) for dag in found.dags)
    assert "1500 draws from the exact posterior" in found.how


@pytest.mark.parametrize(("d", "words"), [(4, "exact posterior"), (16, "chains over orders")])
def test_the_posterior_of_a_score(d, words):
    x = np.random.default_rng(0).normal(size=(300, d))
    x[:, 1] += x[:, 0]
    evaluator = Evaluator(BicNV(Statistics.from_array(x)), Settings())
    dag = np.zeros((d, d), dtype=bool)
    dag[0, 1] = True
    found = drawn_dags(evaluator, Constraints.none(d), dag, None, 60, seed=0)
    assert words in found.how
    linked = np.tensordot(found.shares, found.dags, 1)
    assert linked[0, 1] + linked[1, 0] == pytest.approx(1.0)
    assert 0.2 < linked[0, 1] < 0.8
    only = Constraints.of(Knowledge(required=["x0 -> x1"]), [f"x{k}" for k in range(d)])
    fresh = Evaluator(BicNV(Statistics.from_array(x)), Settings())
    if d == 4:
        assert drawn_dags(fresh, only, dag, None, 20, seed=0).dags[:, 0, 1].all()
    else:  # an order in which x1 comes first has no graph
        with pytest.raises(SettingsError, match="no graph near the best one"):
            drawn_dags(fresh, only, dag, None, 20, seed=0)


def test_a_score_without_a_posterior():
    x = np.random.default_rng(0).normal(size=(50, 2))
    evaluator = Evaluator(BicEV(Statistics.from_array(x)), Settings())
    with pytest.raises(SettingsError, match="not a log evidence"):
        drawn_dags(evaluator, Constraints.none(2), np.zeros((2, 2), dtype=bool), None, 5, seed=0)


def test_draws_from_chains_have_the_probabilities_of_orders(rng):
    logs = 1.5 * rng.normal(size=(4, 8))
    every = [families_of(4, node) for node in range(4)]
    families = Families(np.concatenate([one.nodes for one in every]), np.concatenate([one.parents for one in every]))
    heaviest = np.lexsort((-logs.ravel(), families.nodes))
    listed, weights = families[heaviest], logs.ravel()[heaviest]
    starts = np.array([rng.permutation(4) for _ in range(2)])
    bounds = np.arange(5) * 8
    edges, orders = order_chains(starts, pack(listed.parents), weights, bounds, steps=40_000, seed=0)
    found = by_chains(Chains(edges, orders, listed, weights), 1500, rng)
    exact = edge_sums(logs, "orders")
    np.testing.assert_allclose(np.tensordot(found.shares, found.dags, 1), exact, atol=0.06)
    assert "differ by at most 0.0" in found.how
