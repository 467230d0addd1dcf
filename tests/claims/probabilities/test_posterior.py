"""Probabilities of edges: what the evidence is, which prior they have, and how it is told."""

from itertools import permutations

import numpy as np
import pytest

from drbo import DrBO, Settings
from drbo.claims.probabilities import posterior
from drbo.claims.probabilities.edge_prior import edge_log_odds
from drbo.claims.probabilities.posterior import by_sums, edge_sums, evidence
from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import all_tables

CHAIN = np.diag(np.ones(3, dtype=bool), 1)


@pytest.mark.parametrize("name", ["bic-nv", "bge", "bic-discrete", "bdeu"])
@pytest.mark.parametrize("penalty", [0.5, 2.0, "ebic"])
def test_the_evidence_does_not_depend_on_the_penalty(name, penalty, rng):
    table = Statistics.from_array(rng.integers(2, size=(60, 4)).astype(float))

    def found(penalty):
        score = build_score(name, table, {"penalty": penalty, "edge_prior": np.ones((4, 4))})
        return evidence(all_tables(Evaluator(score, Settings()), Constraints.none(4)).shares(score), score)

    np.testing.assert_allclose(found(penalty), found(1.0))


def test_a_stated_number_of_parents_weighs_every_edge(rng):
    logs = rng.normal(size=(4, 8))
    found, prior = by_sums(logs, CHAIN, parents=0.5)
    sizes = np.bitwise_count(np.arange(8))
    np.testing.assert_allclose(found, edge_sums(logs + edge_log_odds(4, 0.5, "DAGs") * sizes))
    assert prior == "0.5 parents per column expected, as stated; otherwise uniform over DAGs"
    assert found.sum() < by_sums(logs, CHAIN, parents=1.0)[0].sum()


def test_without_one_the_table_decides_and_of_many_columns_the_best_graph(rng, monkeypatch):
    logs = rng.normal(size=(4, 8))
    assert "learned from the table; otherwise uniform over DAGs" in by_sums(logs, CHAIN, None)[1]
    monkeypatch.setattr(posterior, "MAX_AVERAGED", 3)
    by_dags, prior = by_sums(logs, CHAIN, None)
    assert prior == "1 parents per column expected, as in the best graph; otherwise uniform over DAGs"
    monkeypatch.setattr(posterior, "MAX_DAG_SUM", 3)
    by_orders, prior = by_sums(logs, CHAIN, None)
    assert prior.endswith("otherwise uniform over orders of the columns")
    assert not np.allclose(by_dags, by_orders)


def test_dense_data_teach_more_parents_than_sparse_data():
    expected = []
    for graph in ("8ER1", "8ER3"):
        made = simulate(graph, n=1_000, seed=3).X
        prior = DrBO(score="bic-nv", random_state=0).fit(made / made.std(axis=0)).result_.claims.prior
        expected.append(float(prior.split()[0]))
    assert expected[0] < expected[1]


def test_the_setting_reaches_the_result():
    made = simulate("5ER1", n=60, seed=1).X
    found = {
        parents: DrBO(score="bic-nv", settings=Settings(expected_parents=parents), random_state=0).fit(made).result_
        for parents in (0.01, 1.5)
    }
    assert found[0.01].claims.prior.startswith("0.01 parents per column expected, as stated")
    assert found[0.01].posterior.sum() < found[1.5].posterior.sum()
    assert found[0.01].score == found[1.5].score


def test_one_column_has_no_edges():
    found, prior = by_sums(np.zeros((1, 1)), np.zeros((1, 1), dtype=bool), None)
    assert (found.tolist(), prior) == ([[0.0]], "uniform over DAGs")


def _shares(weights, every_dag):
    weights = np.exp(weights - weights.max())
    return np.einsum("k,kij->ij", weights / weights.sum(), every_dag)


@pytest.mark.parametrize("spread", [0.1, 3.0, 200.0])
@pytest.mark.parametrize("seed", range(3))
def test_every_dag_counts_once(seed, spread, every_dag, weigh):
    logs = spread * np.random.default_rng(seed).normal(size=(4, 8))
    np.testing.assert_allclose(edge_sums(logs), _shares(weigh(logs), every_dag), atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_every_order_counts_once(seed, every_dag, weigh):
    logs = 3 * np.random.default_rng(seed).normal(size=(4, 8))
    places = np.array([np.argsort(order) for order in permutations(range(4))])
    fits = [(~every_dag | (place[:, None] < place)).all(axis=(1, 2)) for place in places]
    expected = _shares(weigh(logs) + np.log(np.sum(fits, axis=0)), every_dag)
    np.testing.assert_allclose(edge_sums(logs, "orders"), expected, atol=1e-10)


def test_families_that_may_not_be_used(every_dag, weigh):
    logs = np.random.default_rng(5).normal(size=(4, 8))
    logs[0] = [0.0, *[-np.inf] * 7]  # node 0 is a root
    logs[2, [0, 1, 2, 3]] = -np.inf  # node 3 is always a parent of node 2
    edges = edge_sums(logs)
    np.testing.assert_allclose(edges, _shares(weigh(logs), every_dag), atol=1e-10)
    assert edges[3, 2] == pytest.approx(1.0)
