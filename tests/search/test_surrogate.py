import numpy as np
import pytest
import torch
from torch import nn

from drbo.search import surrogate as module
from drbo.search.history import History
from drbo.search.surrogate import DropoutSurrogate
from drbo.settings import Settings

D, H, N = 4, 6, 32


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


def _batch(rng, n=N):
    dags = np.triu(rng.random((n, D, D)) < 0.5, 1)
    return dags, rng.normal(size=(n, D))


def _reference(net, node, parents, mask):
    """The same network by torch's own layers, for one node."""
    p = {name: value[node] for name, value in net._p.items()}
    z = parents @ p["w1"] + p["b1"]
    a = torch.relu(z * mask / (1 - net.settings.dropout))
    norm = nn.functional.batch_norm(a, None, None, p["gamma"], p["beta"], training=True, eps=module.BATCH_NORM_EPS)
    return norm @ p["w2"] + p["b2"]


def test_a_training_step_equals_autograd_with_adam(rng, monkeypatch):
    settings = Settings(hidden=H, dropout=0.3)
    net = DropoutSurrogate(D, settings, _generator())
    dags, local = _batch(rng)
    parents = torch.as_tensor(dags.transpose(2, 0, 1), dtype=torch.float32)
    targets = torch.as_tensor(local.T, dtype=torch.float32)
    masks = torch.as_tensor(rng.random((D, N, H)) > 0.3)
    monkeypatch.setattr(net, "_kept", lambda shape, generator: masks)
    leaves = net.flat.clone().requires_grad_()
    twin = DropoutSurrogate(D, settings, _generator())
    twin.flat = leaves
    shapes = {name: tuple(value.shape) for name, value in net._p.items()}
    twin._p = module._views(leaves, shapes, [value.numel() for value in net._p.values()])
    adam = torch.optim.Adam([leaves], lr=settings.learning_rate)
    for _ in range(3):
        net._step(parents, targets, _generator())
        adam.zero_grad()
        twin._p = module._views(leaves, shapes, [value.numel() for value in net._p.values()])
        outputs = torch.stack([_reference(twin, node, parents[node], masks[node]) for node in range(D)])
        loss = ((outputs - targets) ** 2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_([leaves], module.GRAD_CLIP)
        adam.step()
        # A unit whose gradient is zero up to rounding may step either way under Adam: compare what they compute.
        with torch.no_grad():
            theirs = torch.stack([_reference(twin, node, parents[node], masks[node]) for node in range(D)])
            ours = torch.stack([_reference(net, node, parents[node], masks[node]) for node in range(D)])
        assert torch.allclose(ours, theirs, atol=2e-3)


@pytest.mark.parametrize("batch_norm", ["candidates", "training"])
def test_sample_rows_equals_the_definition(rng, monkeypatch, batch_norm):
    net = DropoutSurrogate(D, Settings(hidden=H, dropout=0.4, masks="row", batch_norm=batch_norm), _generator())
    dags, _ = _batch(rng)
    parents = torch.as_tensor(dags.transpose(2, 0, 1))
    masks = torch.as_tensor(rng.random((D, N, H)) > 0.4)
    monkeypatch.setattr(net, "_kept", lambda shape, generator: masks)
    drawn = net.sample_rows(torch.arange(D), parents, _generator())
    for node in range(D):
        if batch_norm == "candidates":
            expected = _reference(net, node, parents[node].float(), masks[node])
        else:  # fresh networks: mean 0, variance 1
            p = {name: value[node] for name, value in net._p.items()}
            a = torch.relu((parents[node].float() @ p["w1"] + p["b1"]) * masks[node] / 0.6)
            expected = (a / (1 + module.BATCH_NORM_EPS) ** 0.5 * p["gamma"] + p["beta"]) @ p["w2"] + p["b2"]
        assert torch.allclose(drawn[node], expected, atol=1e-5)


def test_a_draw_is_one_function(rng):
    """Equal parent sets have equal values under one draw, and the draws scatter around the mean."""
    net = DropoutSurrogate(D, Settings(hidden=H, dropout=0.5), _generator())
    history = History(D, torch.device("cpu"))
    dags, local = _batch(rng)
    history.append(dags, local)
    net.update(history, N, _generator(1))
    draws = net.draw(2000, _generator(2))
    parents = torch.as_tensor(dags.transpose(2, 0, 1))
    twice = torch.cat([parents, parents], dim=1)
    values = draws.local(torch.arange(D), twice)
    assert torch.equal(values[:, :N], values[:, N:])
    # The mean over masks is the network without dropout.
    p = net._p
    hidden = torch.relu(torch.einsum("dnj,djh->dnh", parents.float(), p["w1"]) + p["b1"][:, None])
    v = p["gamma"] * p["w2"] * (net.activation_var + module.BATCH_NORM_EPS).rsqrt()
    offset = (p["beta"] * p["w2"]).sum(1)[:, None] + p["b2"]
    mean = ((hidden - net.activation_mean[:, None]) * v[:, None]).sum(-1) + offset
    error = values[:, :N].std(-1) / 2000**0.5
    assert ((values[:, :N].mean(-1) - mean).abs() < 5 * error + 1e-5).all()


def test_masks_are_kept_with_the_right_probability():
    net = DropoutSurrogate(D, Settings(hidden=H, dropout=0.3), _generator())
    kept = net._kept(torch.Size((100, 1003)), _generator(3))
    assert kept.double().mean() == pytest.approx(0.7, abs=0.005)
    assert DropoutSurrogate(D, Settings(dropout=0.0), _generator())._kept(torch.Size((99,)), _generator()).all()


def test_networks_learn_local_scores(rng):
    """After training, predictions of held-out DAGs follow an additive truth."""
    settings = Settings(hidden=32, dropout=0.1, n_replay=256, learning_rate=0.05)
    effect = rng.normal(size=(D, D))

    def truth(dags):
        return 100 * (1 + np.einsum("bij,ij->bj", dags, effect))  # far from mean 0 and variance 1

    net, history = DropoutSurrogate(D, settings, _generator()), History(D, torch.device("cpu"))
    for _ in range(30):
        dags = np.stack([np.triu(rng.random((D, D)) < 0.5, 1) for _ in range(16)])
        history.append(dags, truth(dags))
        net.update(history, 16, _generator(4))
    dags, _ = _batch(rng)
    parents = torch.as_tensor(dags.transpose(2, 0, 1))
    nodes = torch.arange(D)
    drawn = net.to_local(nodes, net.draw(64, _generator(5)).local(nodes, parents)).mean(-1).T.numpy()
    for node in range(1, D):  # node 0 has no parents here
        assert np.corrcoef(drawn[:, node], truth(dags)[:, node])[0, 1] > 0.95
    assert np.abs(drawn - truth(dags)).mean() < 0.25 * truth(dags).std()


def test_predictions_stay_near_the_known_range(rng):
    net, history = DropoutSurrogate(D, Settings(hidden=H), _generator()), History(D, torch.device("cpu"))
    dags, local = _batch(rng)
    history.append(dags, local)
    net.update(history, N, _generator())
    wild = torch.full((D, 3), 1e9)
    top = net.to_local(torch.arange(D), wild)[:, 0].numpy()
    span = local.max(0) - local.min(0)
    assert top == pytest.approx(local.max(0) + module.RANGE_MARGIN * span, rel=1e-4)


def test_node_chunks_cover_all_nodes_within_the_memory():
    net = DropoutSurrogate(10, Settings(hidden=8, max_memory=0.01), _generator())
    chunks = list(net.node_chunks(50_000, n_values=1))
    assert len(chunks) > 1
    assert torch.equal(torch.cat(chunks), torch.arange(10))
