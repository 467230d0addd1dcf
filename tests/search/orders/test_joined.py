from itertools import pairwise

import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import dag_to_cpdag, is_acyclic, markov_equivalent, topological_order
from drbo.knowledge import Knowledge
from drbo.scores.linear import BicEV, BicNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.joined import alike, joined
from drbo.search.orders.search import OrderSearch
from drbo.settings import Settings


def _dag(d, density, rng):
    dag = np.triu(rng.random((d, d)) < density, 1)
    order = rng.permutation(d)
    return dag[np.ix_(order, order)]


@pytest.mark.parametrize("seed", range(40))
def test_an_equivalent_graph_follows_the_order_where_the_class_lets_it(seed):
    rng = np.random.default_rng(seed)
    dag, order = _dag(9, 0.3, rng), rng.permutation(9)
    found = alike(dag, order)
    assert is_acyclic(found)
    assert markov_equivalent(found, dag)
    assert (alike(dag, topological_order(found)) == found).all()


@pytest.mark.parametrize("seed", range(20))
def test_two_members_of_a_class_are_the_same_graph_along_one_order(seed):
    rng = np.random.default_rng(seed)
    dag = _dag(9, 0.3, rng)
    other = alike(dag, rng.permutation(9))
    assert (alike(other, topological_order(dag)) == alike(dag, topological_order(dag))).all()
    assert (dag_to_cpdag(other) == dag_to_cpdag(dag)).all()


def _blocks(count, seed=0):
    """Return unrelated tables side by side, and their true graph."""
    parts = [simulate("6ER2", n=300, seed=seed + k) for k in range(count)]
    dag = np.zeros((6 * count, 6 * count), dtype=bool)
    for k, part in enumerate(parts):
        dag[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = part.dag
    return np.concatenate([part.X for part in parts], axis=1), dag


def test_each_neighbourhood_comes_from_the_better_graph():
    values, true = _blocks(4)
    evaluator = Evaluator(BicNV(Statistics.from_array(values), penalty=2.0), Settings())
    rng = np.random.default_rng(0)
    graphs = [true.copy() for _ in range(2)]
    for graph, spoiled in zip(graphs, ([0, 2], [1, 3]), strict=True):
        for k in spoiled:
            graph[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = np.triu(rng.random((6, 6)) < 0.3, 1)
    scores = evaluator.evaluate(np.array([*graphs, true])).scores
    for best, other in (graphs, graphs[::-1]):
        found = joined(evaluator, best, other, free=True, least=1e-6)
        assert is_acyclic(found)
        assert evaluator.evaluate(found[None]).scores[0] == pytest.approx(scores[2])
    assert joined(evaluator, true, graphs[0], free=True, least=1e-6) is None
    assert joined(evaluator, true, true, free=False, least=1e-6) is None


@pytest.mark.parametrize("kind", [BicNV, BicEV])
def test_what_is_joined_is_a_legal_graph_and_never_worse(kind):
    names = tuple(f"x{j}" for j in range(12))
    values, _ = _blocks(2, seed=5)
    score = kind(Statistics.from_array(values), penalty=2.0)
    limits = Constraints.of(Knowledge(forbidden=["x1 -> x2", "x2 -> x1"], required=["x3 -> x0"], max_parents=2), names)
    evaluator, found = Evaluator(score, Settings()), []
    for seed in range(6):
        outcome = OrderSearch(score, Settings(order_patience=1), constraints=limits, seed=seed, max_searches=1).run()
        found.append(outcome.best)
    for one, other in pairwise(found):
        best, worse = (one, other) if one.scores[0] >= other.scores[0] else (other, one)
        if score.level_of(best.local[0]) is not None:
            continue  # the search joins additive scores alone
        dag = joined(evaluator, best.dags[0], worse.dags[0], free=False, least=1e-6)
        if dag is not None:
            assert not limits.violations(dag)
            assert evaluator.evaluate(dag[None]).scores[0] > best.scores[0]


def test_a_search_of_many_columns_ends_no_lower_than_its_parts():
    values, _ = _blocks(40, seed=20)
    score = BicNV(Statistics.from_array(values), penalty=2.5)
    search = OrderSearch(score, Settings(order_patience=1), seed=0, max_searches=2)
    outcome = search.run()
    assert outcome.best.scores[0] >= max(one.scores[0] for one in search.ends)
    assert is_acyclic(outcome.best.dags[0])
