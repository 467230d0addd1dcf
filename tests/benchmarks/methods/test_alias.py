"""ALIAS: PPO's step, and a graph it finds."""

import numpy as np
import pytest
import torch

from benchmarks.methods import alias
from drbo.data.files.simulate import simulate
from drbo.graph.dag import is_acyclic
from drbo.graph.metrics import shd


def test_the_first_gradient_is_that_of_reinforce():
    policy = alias.Policy(3, 0, "cpu")
    vectors, advantages = torch.randn(8, 4, generator=torch.Generator().manual_seed(1)).split([3, 1], dim=1)
    advantages = advantages[:, 0]
    density = policy.log_density(vectors)
    alias.clipped_gain(density - density.detach(), advantages).backward()
    mean, deviation = policy.distribution().mean.detach(), policy.distribution().stddev.detach()
    pull = (((vectors - mean) / deviation) ** 2 - 1) * advantages[:, None]  # d log N / d log sigma
    assert policy.log_deviation.grad.tolist() == pytest.approx(pull.mean(0).tolist(), abs=1e-6)


def test_the_gain_is_clipped_where_the_ratio_went_far():
    log_ratio, advantages = torch.log(torch.tensor([1.5, 1.5, 0.5])), torch.tensor([1.0, -1.0, -1.0])
    assert alias.clipped_gain(log_ratio, advantages).item() == pytest.approx((1.2 - 1.5 - 0.8) / 3)


def test_training_moves_the_policy_towards_rewarded_vectors():
    policy = alias.Policy(2, 0, "cpu")
    optimiser = torch.optim.Adam(policy.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        with torch.no_grad():
            vectors = torch.normal(*policy.moments(64), generator=generator)
        alias.train(policy, optimiser, vectors[:, 0] - vectors[:, 1], vectors, n_epochs=4)
    mean = policy.distribution().mean.tolist()
    assert mean[0] > 0.5
    assert mean[1] < -0.5


def test_a_small_graph_is_found_within_the_budget():
    data = simulate("5ER1", seed=100)
    steps = []
    found = alias.learn(data.X, seed=0, max_evals=2_000, record=lambda step, graph: steps.append((step, graph)))
    assert shd(found, data.dag) <= 1
    assert all(is_acyclic(graph) for _, graph in steps)
    assert np.array_equal(steps[-1][1], found)
    assert steps[-1][0] <= 2_000
    first, second = (alias.learn(data.X, seed=0, max_evals=200) for _ in range(2))
    assert np.array_equal(first, second)


def test_the_budget_is_not_overrun():
    data = simulate("5ER1", n=100, seed=100)
    steps = []
    alias.learn(data.X, seed=0, max_evals=70, record=lambda step, _: steps.append(step))
    assert steps[0] == 64
    assert steps[-1] in (64, 70)


def test_global_randomness_is_left_alone():
    before = torch.get_rng_state()
    alias.learn(simulate("4ER1", n=100, seed=100).X, seed=0, max_evals=128)
    assert torch.equal(torch.get_rng_state(), before)
