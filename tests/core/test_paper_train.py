import numpy as np
import pytest
import torch

from drbo import _core
from drbo.search.paper.history import History
from drbo.search.paper.networks import BATCH_NORM_EPS, DropoutSurrogate
from drbo.settings import Settings

pytestmark = pytest.mark.floats

D, H, N = 11, 6, 40


def _scene(rng, dropout):
    net = DropoutSurrogate(D, Settings().with_(hidden=H, dropout=dropout), torch.Generator().manual_seed(0))
    history = History(D, torch.device("cpu"))
    history.append(rng.random((60, D, D)) < 0.4, 5 + 2 * rng.normal(size=(60, D)))
    net.mean += 5.0
    net.spread *= 2.0
    return net, history, torch.as_tensor(rng.integers(60, size=N))


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_gradients_equal_the_batched_ones(dropout, rng, random_words):
    """The batched ones are compared with autograd by the tests of the surrogate."""
    net, history, rows = _scene(rng, dropout)
    seed, per_row = 77, (H + 3) // 4
    words = random_words(seed, D * N * per_row)
    coins = words.reshape(D, N, per_row).view(np.uint16)[:, :, :H]
    kept = torch.as_tensor(coins >= round(dropout * 65_536))
    assert kept.double().mean() == pytest.approx(1 - dropout, abs=0.05)
    targets = (history.local(rows) - net.mean) / net.spread
    net._gradients(history.parents(rows), targets, kept)
    expected = net._gradient.clone()
    net._gradient.fill_(float("nan"))
    squares = _core.network_gradients(
        history.codes[:, rows].contiguous().numpy(),
        history.values[:, rows].contiguous().numpy(),
        torch.cat([net.mean, net.spread], 1).T.contiguous().numpy(),
        _core.Networks(*(value.numpy() for value in net._p.values())),
        _core.Networks(*(value.numpy() for value in net._g.values())),
        seed,
        dropout,
        BATCH_NORM_EPS,
        1,
    )
    assert torch.allclose(net._gradient, expected, atol=1e-5 * float(expected.abs().max()) + 1e-7)
    assert squares.sum() == pytest.approx(float(expected.square().sum()), rel=1e-4)


def test_activation_moments(rng):
    net, history, rows = _scene(rng, 0.1)
    act = torch.relu(torch.bmm(history.parents(rows), net._p["w1"]) + net._p["b1"][:, None])
    mean, second = np.empty((D, H), np.float32), np.empty((D, H), np.float32)
    _core.activation_moments(history.codes[:, rows].contiguous().numpy(), net.parameters(), mean, second, 1)
    assert mean == pytest.approx(act.mean(1).numpy(), abs=1e-5)
    assert second == pytest.approx(act.square().mean(1).numpy(), abs=1e-5)


def test_adam_is_torchs(rng):
    start, gradients = rng.normal(size=9), rng.normal(size=(5, 9))
    leaf = torch.tensor(start, dtype=torch.float32, requires_grad=True)
    theirs = torch.optim.Adam([leaf], lr=0.05)
    flat, moment1, moment2 = start.astype(np.float32), np.zeros(9, np.float32), np.zeros(9, np.float32)
    for step, gradient in enumerate(gradients, 1):
        leaf.grad = torch.tensor(0.5 * gradient, dtype=torch.float32)
        theirs.step()
        rate, correction = 0.05 / (1 - 0.9**step), 1 / (1 - 0.999**step)
        g = gradient.astype(np.float32)
        _core.adam_step(flat, moment1, moment2, g, 0.5, 0.9, 0.999, rate, correction, 1e-8, 1)
        assert flat == pytest.approx(leaf.detach().numpy(), abs=1e-6)


def test_random_words_look_random(random_words):
    words = random_words(12_345, 4_000)
    bits = np.unpackbits(words.view(np.uint8)).reshape(len(words), 64)
    assert len(np.unique(words)) == len(words)
    assert bits.mean(axis=0) == pytest.approx(0.5, abs=5 * 0.5 / len(words) ** 0.5)
    correlation = np.corrcoef(bits.T) - np.eye(64)
    assert np.abs(correlation).max() < 6 / len(words) ** 0.5
    assert (random_words(12_345 + 7, 10) == words[7:17]).all()  # a counter: the order of the calls is free
