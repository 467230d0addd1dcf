"""COSMO: the orientation, its loss, and a graph it finds."""

import numpy as np
import pytest
import torch

from benchmarks.methods import cosmo
from drbo.data.files.simulate import simulate
from drbo.graph.dag import is_acyclic
from drbo.graph.metrics import shd


def model(hidden=None):
    made = cosmo.Model(3, hidden, 0.1, torch.Generator().manual_seed(0), "cpu")
    with torch.no_grad():
        made.priority.copy_(torch.tensor([0.0, 0.5, 0.05]))
    return made


def test_an_edge_needs_a_priority_that_is_higher_by_the_shift():
    oriented = model().weights(1e-4)[:, :, 0] != 0
    assert oriented.int().tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 0]]


def test_a_warm_orientation_is_the_sigmoid_of_the_difference():
    made = model()
    expected = made.adjacency[1, 0, 0] / (1 + np.exp((0.5 + 0.1) / 0.45))
    assert made.weights(0.45)[1, 0, 0].item() == pytest.approx(expected.item())
    assert made.weights(0.45).diagonal().abs().max() == 0


def test_a_node_depends_on_its_parents_alone():
    for hidden in (None, 4):
        made = model(hidden)
        row = torch.tensor([[0.3, -1.0, 2.0]], requires_grad=True)
        made(row, 1e-4)[0, 1].backward()
        assert (row.grad != 0).tolist() == [[True, False, True]]


def test_the_temperature_and_the_steps_are_those_that_are_asked_for(monkeypatch):
    seen = []
    weights = cosmo.Model.weights
    monkeypatch.setattr(cosmo.Model, "weights", lambda self, t: seen.append(t) or weights(self, t))
    cosmo.learn(simulate("4ER1", n=100, seed=100).X, seed=0, max_steps=5)
    assert len(seen) == 6
    assert seen[0] == cosmo.FIRST_TEMPERATURE
    assert seen[-1] == cosmo.LINEAR["temperature"]
    assert sorted(seen, reverse=True) == seen


def test_a_sparse_linear_graph_is_found_and_recorded():
    data = simulate("5ER1", seed=100)
    steps = []
    found = cosmo.learn(data.X, seed=0, max_steps=1_000, record=lambda step, graph: steps.append(step))
    assert is_acyclic(found)
    assert shd(found, data.dag) <= 1
    assert steps == list(range(100, 1_001, 100))


def test_networks_find_what_linear_weights_cannot():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=500)
    values = np.column_stack([np.sin(2 * cause) * 2 + 0.3 * rng.normal(size=500), cause])
    found = cosmo.learn(values, seed=0, nonlinear=True, max_steps=500, learning_rate=0.01)
    assert found.astype(int).tolist() == [[0, 0], [1, 0]]
    first, second = (cosmo.learn(values, seed=0, nonlinear=True, max_steps=100) for _ in range(2))
    assert np.array_equal(first, second)


def test_a_setting_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="unknown settings: rate"):
        cosmo.learn(np.zeros((5, 2)), seed=0, rate=0.1)
