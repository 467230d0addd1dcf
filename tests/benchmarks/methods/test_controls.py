"""Controls: a tabu search that keeps its books, and a random DAG."""

import itertools

import numpy as np
import pytest

from benchmarks.methods import controls
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import is_acyclic
from drbo.graph.metrics import shd
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.settings import Settings


def evaluator(values, score="bic-ev", max_evals=10**9):
    return Evaluator(build_score(score, Statistics.from_array(values)), Settings(max_evals=max_evals))


def neighbours(dag):
    """All DAGs that differ from a DAG by one addition, removal or reversal."""
    for i, j in itertools.permutations(range(len(dag)), 2):
        toggled = dag.copy()
        toggled[i, j] ^= True
        yield toggled
        if dag[i, j]:
            yield toggled | (np.arange(len(dag))[:, None] == j) & (np.arange(len(dag)) == i)


def test_every_move_is_the_best_of_all_neighbours_and_the_books_are_right():
    values = simulate("5ER2", n=100, seed=100).X
    for score in ("bic-ev", "bic-nv"):
        moves, truth = controls.Moves(evaluator(values, score), 5), evaluator(values, score)
        for _ in range(12):
            allowed = [dag for dag in neighbours(moves.dag) if is_acyclic(dag)]
            best = truth.evaluate(np.array(allowed)).scores.max()
            assert moves.make_best(controls.deque())
            assert moves.current == pytest.approx(best)
            assert truth.evaluate(moves.dag[None]).scores[0] == pytest.approx(moves.current)


def test_a_banned_graph_does_not_come_back():
    values = simulate("4ER1", n=100, seed=100).X
    moves, seen = controls.Moves(evaluator(values), 4), controls.deque()
    for _ in range(30):
        seen.append(moves.dag.tobytes())
        assert moves.make_best(seen)
        assert moves.dag.tobytes() not in seen


def test_tabu_search_solves_small_raw_data_and_beats_plain_climbing():
    scores = []
    for seed in range(100, 106):
        data, found = simulate("12ER3", seed=seed), []
        for max_worse in (1, 30):
            dag = controls.tabu(evaluator(data.X), np.copy, length=max_worse, max_worse=max_worse)
            found.append(evaluator(data.X).evaluate(dag[None]).scores[0])
        scores.append(found)
    climbing, tabu = np.array(scores).T
    assert (tabu >= climbing).all()
    assert (tabu > climbing + 1).any()
    data = simulate("8ER1", seed=100)
    assert shd(controls.learn(data.X, seed=0, method="tabu", prune="threshold"), data.dag) == 0


def test_the_budget_ends_the_search_and_new_bests_are_recorded():
    data = simulate("10ER2", seed=100)
    steps = []
    limited = evaluator(data.X, max_evals=15)
    controls.tabu(limited, np.copy, record=lambda step, graph: steps.append((step, graph)))
    assert steps
    assert all(step <= 15 + 2 for step, _ in steps)
    assert steps[-1][1].sum() < data.dag.sum()


def test_random_dags_have_the_density_and_are_not_those_of_the_simulator():
    values = np.zeros((2, 30))
    graphs = [controls.learn(values, seed=seed, method="random", degree=3.0) for seed in range(20)]
    assert all(is_acyclic(graph) for graph in graphs)
    assert np.mean([graph.sum() for graph in graphs]) == pytest.approx(90, rel=0.1)
    assert not any(np.array_equal(graphs[s], simulate("30ER3", n=1, seed=s).dag) for s in range(20))
    assert np.array_equal(graphs[3], controls.learn(values, seed=3, method="random", degree=3.0))
