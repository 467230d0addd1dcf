"""DiffAN: the noise, the slopes of the network, and an order it finds."""

import numpy as np
import pytest
import torch

from benchmarks.methods import diffan


def test_slopes_are_the_numeric_ones():
    network = diffan.Network(3, 32, 0, time_scale=1.0).double()
    rows = torch.randn(6, 3, generator=torch.Generator().manual_seed(1)).double()
    levels = torch.full((6,), 33.0).double()
    for place, node in enumerate((2, 0)):
        step = torch.zeros(3).double()
        step[node] = 1e-6
        numeric = (network(rows + step, levels) - network(rows - step, levels))[:, node] / 2e-6
        found = network.slopes(rows, 33, [2, 0])[:, place]
        assert found.detach().numpy() == pytest.approx(numeric.detach().numpy(), rel=1e-3, abs=1e-5)


def test_noise_that_is_known_costs_nothing():
    class Knows(torch.nn.Module):
        def forward(self, noisy, level, kept):
            return noisy / (1 - parts[level.long()][:, None]).sqrt()  # the rows are zero

    parts = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100), 0)
    loss = diffan.noise_loss(Knows(), torch.zeros(50, 2), torch.Generator().manual_seed(0), dropout=False)
    assert loss.item() == pytest.approx(0.0, abs=1e-10)


def test_training_lowers_the_loss_and_keeps_the_best_weights():
    rows = torch.randn(200, 1, generator=torch.Generator().manual_seed(0)) @ torch.ones(1, 3)
    network = diffan.Network(3, 32, 0, time_scale=1.0)

    def loss():
        return diffan.noise_loss(network, rows, torch.Generator().manual_seed(5), dropout=False).item()

    before = loss()
    diffan.fit(network, rows, 150, seed=0)
    assert loss() < 0.8 * before


def test_a_nonlinear_pair_is_ordered_and_linked():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=600)
    values = np.column_stack([np.cos(2 * cause) + 0.4 * rng.normal(size=600), cause])
    graph = diffan.learn(values, seed=0, epochs=200, inner=64, time_scale=1.0)
    assert graph.astype(int).tolist() == [[0, 0], [1, 0]]


def test_the_same_seed_gives_the_same_order_and_leaves_global_randomness_alone():
    values = np.random.default_rng(1).normal(size=(100, 4))
    before = torch.get_rng_state()
    orders = [diffan.diffan_order(values, seed=3, epochs=20, inner=16) for _ in range(2)]
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == [0, 1, 2, 3]
    assert torch.equal(torch.get_rng_state(), before)
