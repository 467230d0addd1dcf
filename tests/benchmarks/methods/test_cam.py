"""CAM: greedy edges, neighbours by boosting, and nonlinear data it solves."""

import numpy as np

from benchmarks.methods import cam
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import is_acyclic
from drbo.graph.metrics import shd
from drbo.scores.families import Families
from drbo.scores.splines import SplineScore


def test_nonlinear_additive_data_are_solved():
    distances = []
    for seed in (100, 101, 102):
        data = simulate("6ER1", model="gp", n=500, seed=seed)
        distances.append(shd(cam.learn(data.X, seed=0), data.dag))
    assert np.mean(distances) <= 1


def test_the_first_edge_has_the_largest_gain_and_the_last_graph_is_complete():
    data = simulate("4ER1", model="gp", n=200, seed=100)
    steps = []
    found = cam.add_edges(data.X, ~np.eye(4, dtype=bool), 9, lambda step, graph: steps.append(graph))
    assert len(steps) == found.sum() == 6
    assert is_acyclic(found)
    score = SplineScore(Statistics.from_array(data.X), df=9, penalty=0.0)
    pairs = [(child, (parent,)) for parent in range(4) for child in range(4) if parent != child]
    empty = score.local(Families.from_sets(4, [(child, ()) for child in range(4)]))
    drops = [
        value - empty[child] for (child, _), value in zip(pairs, score.local(Families.from_sets(4, pairs)), strict=True)
    ]
    child, (parent,) = pairs[int(np.argmax(drops))]
    assert np.argwhere(steps[0]).tolist() == [[parent, child]]


def test_gains_are_differences_of_the_likelihood():
    data = simulate("4ER2", model="gp", n=200, seed=100)
    evaluator = cam.Evaluator(
        SplineScore(Statistics.from_array(data.X), df=9, penalty=0.0), cam.Settings(max_evals=10**6)
    )
    dag = np.zeros((4, 4), dtype=bool)
    dag[1, 3] = True
    allowed = np.ones((4, 4), dtype=bool)
    allowed[[2, 3], 3] = False
    gains = cam._gains(evaluator, dag, allowed, 3)
    before, after = evaluator.families(Families.from_sets(4, [(3, (1,)), (3, (0, 1))]))
    assert np.isclose(gains[0], 200 * (after - before))
    assert gains[1:].tolist() == [-np.inf] * 3


def test_boosting_keeps_the_relatives_and_few_others():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 40))
    values[:, 0] = np.sin(2 * values[:, 1]) + values[:, 2] ** 2 / 2 + 0.3 * rng.normal(size=400)
    allowed = cam.neighbours(values)
    assert allowed[[1, 2], 0].all()
    assert not allowed.diagonal().any()
    assert allowed.sum(axis=0).max() <= 10
    graph = cam.learn(values, seed=0)
    assert graph[[1, 2], 0].all()
    assert graph.sum() <= 8
