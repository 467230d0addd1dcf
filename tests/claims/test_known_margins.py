import numpy as np
import pytest

from drbo.claims import known_margins
from drbo.claims.known_margins import KnownAlternatives
from drbo.claims.likely_families import neighbours
from drbo.claims.margins import Alternatives
from drbo.claims.probabilities import posterior
from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import dag_to_cpdag, is_acyclic
from drbo.knowledge import Knowledge
from drbo.scores.families import Families
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import all_tables, families_of, legal_rows
from drbo.settings import Settings


@pytest.fixture(params=["bic-nv", "bge"])
def solved(request, every_dag):
    data = simulate("4ER1.5", "linear", n=60, seed=3)
    evaluator = Evaluator(build_score(request.param, Statistics.from_array(data.X)), Settings(max_evals=10**6))
    best = every_dag[np.argmax(evaluator.evaluate(every_dag).scores)]
    return evaluator, best


def test_with_all_families_known_the_climbs_find_the_exact_margins(solved):
    evaluator, best = solved
    for node in range(4):
        evaluator.families(families_of(4, node))
    exact = Alternatives(all_tables(evaluator, Constraints.none(4)), evaluator.score, best).margins
    found = KnownAlternatives(evaluator, best, None).margins
    np.testing.assert_allclose(found.removed, exact.removed, atol=1e-7)
    np.testing.assert_allclose(found.reversed, exact.reversed, atol=1e-7)
    assert not found.exact


@pytest.mark.parametrize("climbed", [True, False])
def test_a_neighbourhood_gives_an_upper_bound_for_every_edge(solved, climbed, monkeypatch):
    evaluator, best = solved
    monkeypatch.setattr(known_margins, "MAX_CLIMBED", 10_000 if climbed else 0)
    exact = Alternatives(all_tables(evaluator, Constraints.none(4)), evaluator.score, best).margins
    fresh = Evaluator(evaluator.score, Settings())
    fresh.evaluate(best[None])
    fresh.families(neighbours(best))
    others = KnownAlternatives(fresh, best, None)
    found = others.margins
    assert (found.removed[best] >= exact.removed[best] - 1e-7).all()
    there = ~np.isnan(found.reversed[best])
    assert (found.reversed[best][there] >= exact.reversed[best][there] - 1e-7).all()
    classes = others.classes[:4]
    keys = [dag_to_cpdag(other.dag).tobytes() for other in classes]
    assert len(set(keys)) == len(keys)
    assert all(is_acyclic(other.dag) for other in classes)
    assert classes[0].score == max(other.score for other in classes)


def test_in_a_large_graph_only_the_nodes_of_an_edge_choose_again(monkeypatch):
    monkeypatch.setattr(known_margins, "MAX_CLIMBED", 0)
    data = simulate("12ER2", "linear", n=200, seed=1)
    evaluator = Evaluator(build_score("bic-nv", Statistics.from_array(data.X)), Settings())
    top = evaluator.evaluate(data.dag[None]).scores[0]
    evaluator.families(neighbours(data.dag))
    others = KnownAlternatives(evaluator, data.dag, None)
    found = others.margins
    for a, b in np.argwhere(data.dag):
        less, turned = data.dag.copy(), data.dag.copy()
        less[a, b] = turned[a, b] = False
        turned[b, a] = True
        assert found.removed[a, b] <= top - evaluator.evaluate_one(less).scores[0] + 1e-7
        assert np.isfinite(found.reversed[a, b]) or not is_acyclic(turned)
        if is_acyclic(turned):
            assert found.reversed[a, b] <= top - evaluator.evaluate_one(turned).scores[0] + 1e-7
    assert all(is_acyclic(other.dag) for other in others.classes)
    monkeypatch.setattr(known_margins, "MAX_CLASS_NODES", 11)
    assert len(KnownAlternatives(evaluator, data.dag, None).classes) == 1


def test_rows_that_the_knowledge_allows():
    known = Constraints.of(Knowledge(required=["a -> b"], roots=["c"], max_parents=1), "abc")
    families = Families.from_sets(3, [(1, [0]), (1, []), (1, [0, 2]), (2, [0]), (2, []), (0, [2])])
    assert legal_rows(families, known).tolist() == [0, 4, 5]


def test_posterior_by_chains_is_that_of_the_exact_sum_over_orders(solved, monkeypatch):
    evaluator, best = solved
    for node in range(4):
        evaluator.families(families_of(4, node))
    found, prior = KnownAlternatives(evaluator, best, None).posterior(0.75)
    monkeypatch.setattr(posterior, "MAX_DAG_SUM", 3)
    exact, other = Alternatives(all_tables(evaluator, Constraints.none(4)), evaluator.score, best).posterior(0.75)
    np.testing.assert_allclose(found, exact, atol=0.03)
    assert prior == f"{other}, sampled by MCMC"
    monkeypatch.setattr(known_margins, "MAX_SPREAD", 0.0)
    assert KnownAlternatives(evaluator, best, None).posterior(0.75) == (None, "")  # chains that disagree


def test_no_posterior_where_an_order_has_no_known_dag(solved):
    evaluator, best = solved
    fresh = Evaluator(evaluator.score, Settings())
    fresh.evaluate(best[None])
    assert KnownAlternatives(fresh, best, None).posterior(None) == (None, "")


def test_an_edge_is_turned_within_the_order(rng):
    evaluator = Evaluator(build_score("bic-nv", Statistics.from_array(rng.normal(size=(50, 8)))), Settings())
    turned = {True: 0, False: 0}
    for _ in range(20):
        shuffled = rng.permutation(8)
        dag = np.triu(rng.random((8, 8)) < 0.4, 1)[np.ix_(shuffled, shuffled)]
        evaluator.evaluate(dag[None])
        others = KnownAlternatives(evaluator, dag, None)
        for a, b in np.argwhere(dag):
            changed = dag.copy()
            changed[a, b], changed[b, a] = False, True
            order = others._turned_order(a, b)
            place = np.argsort(order)
            assert sorted(order) == list(range(8))
            assert place[b] < place[a]
            if is_acyclic(changed):
                assert (place[np.argwhere(changed)[:, 0]] < place[np.argwhere(changed)[:, 1]]).all()
            else:
                assert place[b] == place[a] - 1
            turned[is_acyclic(changed)] += 1
    assert min(turned.values()) > 20
