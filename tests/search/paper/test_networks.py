import numpy as np
import pytest
import torch
from torch import nn

from drbo.constraints import Constraints
from drbo.knowledge import Knowledge
from drbo.search.paper import networks as module
from drbo.search.paper.history import History
from drbo.search.paper.inputs import Inputs
from drbo.search.paper.networks import DropoutSurrogate
from drbo.settings import Settings

pytestmark = pytest.mark.floats

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
    a = torch.relu(z * mask / (1 - net.settings.paper.dropout))
    norm = nn.functional.batch_norm(a, None, None, p["gamma"], p["beta"], training=True, eps=module.BATCH_NORM_EPS)
    return norm @ p["w2"] + p["b2"]


class Twin:
    """The same networks as leaves of torch's autograd and Adam."""

    def __init__(self, net):
        self.net, self.settings = net, net.settings
        self.leaves = net.flat.clone().requires_grad_()
        self.shapes = {name: tuple(value.shape) for name, value in net._p.items()}
        self.adam = torch.optim.Adam([self.leaves], lr=net.settings.paper.learning_rate)

    @property
    def _p(self):
        return module._views(self.leaves, self.shapes, [value.numel() for value in self.net._p.values()])

    def gradient(self, parents, targets, masks):
        self.adam.zero_grad()
        outputs = torch.stack([_reference(self, node, parents[node], masks[node]) for node in range(len(parents))])
        ((outputs - targets) ** 2).mean().backward()
        return self.leaves.grad.clone()


def test_batched_training_steps_equal_autograd_with_adam(rng):
    net = DropoutSurrogate(D, Settings().with_(hidden=H, dropout=0.3), _generator())
    twin = Twin(net)
    dags, local = _batch(rng)
    parents = torch.as_tensor(dags.transpose(2, 0, 1), dtype=torch.float32)
    targets = torch.as_tensor(local.T, dtype=torch.float32)
    masks = torch.as_tensor(rng.random((D, N, H)) > 0.3)
    for _ in range(3):
        net._gradients(parents, targets, masks)
        assert torch.allclose(net._gradient, twin.gradient(parents, targets, masks), atol=1e-5)
        net._adam(torch.tensor(net._corrections()))
        nn.utils.clip_grad_norm_([twin.leaves], module.GRAD_CLIP)
        twin.adam.step()
        # A unit whose gradient is zero up to rounding may step either way under Adam: compare what they compute.
        with torch.no_grad():
            theirs = torch.stack([_reference(twin, node, parents[node], masks[node]) for node in range(D)])
            ours = torch.stack([_reference(net, node, parents[node], masks[node]) for node in range(D)])
        assert torch.allclose(ours, theirs, atol=2e-3)


def _trained(rng, monkeypatch, batched, **changes):
    """Train on learnable values and return the networks; ``batched``: as on a GPU."""
    net = DropoutSurrogate(D, Settings().with_(hidden=H, n_replay=64, **changes), _generator())
    if batched:

        def step(codes, values, generator):
            batch = History(D, torch.device("cpu"))
            batch.codes, batch.values = codes, values
            net._batched_steps(batch, torch.arange(values.shape[1])[None], generator)

        monkeypatch.setattr(net, "_compiled_step", step)
    history = History(D, torch.device("cpu"))
    for _ in range(12):
        dags, _ = _batch(rng)
        history.append(dags, 3.0 + 2 * dags.sum(1) + 0.1 * dags[:, 0])
        net.update(history, N, _generator(len(history)))
    return net


def test_compiled_and_batched_training_agree_without_dropout(monkeypatch):
    changes = {"dropout": 0.0, "learning_rate": 0.01, "standardize_targets": True}
    compiled = _trained(np.random.default_rng(1), monkeypatch, False, **changes)
    batched = _trained(np.random.default_rng(1), monkeypatch, True, **changes)
    assert compiled.steps == batched.steps == 120
    parents = torch.as_tensor(_batch(np.random.default_rng(2))[0].transpose(2, 0, 1))
    nodes = torch.arange(D)
    ours, theirs = (net.draw(1, _generator()).local(nodes, parents) for net in (compiled, batched))
    # Adam steps either way where a gradient is zero up to rounding, a hundred times here; the values are of size 1.
    assert torch.allclose(ours, theirs, atol=0.1)


def test_threads_do_not_change_the_answer(monkeypatch):
    monkeypatch.setattr("drbo.machine.threads.SMALL_WORK", 1)
    alone = _trained(np.random.default_rng(1), monkeypatch, False)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        together = _trained(np.random.default_rng(1), monkeypatch, False)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(alone.flat, together.flat)


@pytest.mark.parametrize("batch_norm", ["candidates", "training"])
def test_sample_rows_equals_the_definition(rng, monkeypatch, batch_norm):
    net = DropoutSurrogate(D, Settings().with_(hidden=H, dropout=0.4, masks="row", batch_norm=batch_norm), _generator())
    dags, _ = _batch(rng)
    parents = torch.as_tensor(dags.transpose(2, 0, 1))
    masks = torch.as_tensor(rng.random((D, N, H)) > 0.4)
    coins = torch.where(masks, net._threshold, net._threshold - 1).flatten(1)
    monkeypatch.setattr(net, "_coins", lambda size, generator, times: coins)
    drawn = net.sample_rows(torch.arange(D), parents.float(), _generator())
    for node in range(D):
        if batch_norm == "candidates":
            expected = _reference(net, node, parents[node].float(), masks[node])
        else:  # fresh networks: mean 0, variance 1
            p = {name: value[node] for name, value in net._p.items()}
            a = torch.relu((parents[node].float() @ p["w1"] + p["b1"]) * masks[node] / 0.6)
            expected = (a / (1 + module.BATCH_NORM_EPS) ** 0.5 * p["gamma"] + p["beta"]) @ p["w2"] + p["b2"]
        assert torch.allclose(drawn[node], expected, atol=1e-5)


def test_masks_of_rows_do_not_depend_on_which_nodes_come_together(rng):
    """Also where the masks of a node do not fill whole words of random bits."""
    net = DropoutSurrogate(D, Settings().with_(hidden=5, dropout=0.4, masks="row"), _generator())
    parents = torch.as_tensor(_batch(rng, 7)[0].transpose(2, 0, 1)).float()
    whole, generator = net.sample_rows(torch.arange(D), parents, _generator(3)), _generator(3)
    parts = [net.sample_rows(nodes, parents[nodes], generator) for nodes in torch.arange(D).split([1, 2, 1])]
    assert torch.allclose(torch.cat(parts), whole, atol=1e-5)


def test_a_draw_is_one_function(rng):
    """Equal parent sets have equal values under one draw, and the draws scatter around the mean."""
    net = DropoutSurrogate(D, Settings().with_(hidden=H, dropout=0.5), _generator())
    history = History(D, torch.device("cpu"))
    dags, local = _batch(rng)
    history.append(dags, local)
    net.update(history, N, _generator(1))
    draws = net.draw(2000, _generator(2))
    parents = torch.as_tensor(dags.transpose(2, 0, 1))
    twice = torch.cat([parents, parents], dim=1)
    values = draws.local(torch.arange(D), twice)
    assert torch.allclose(values[:, :N], values[:, N:], atol=1e-5)  # a product rounds by the place of a row in it
    # The mean over masks is the network without dropout.
    p = net._p
    hidden = torch.relu(torch.einsum("dnj,djh->dnh", parents.float(), p["w1"]) + p["b1"][:, None])
    v = p["gamma"] * p["w2"] * (net.activation_var + module.BATCH_NORM_EPS).rsqrt()
    offset = (p["beta"] * p["w2"]).sum(1)[:, None] + p["b2"]
    mean = ((hidden - net.activation_mean[:, None]) * v[:, None]).sum(-1) + offset
    error = values[:, :N].std(-1) / 2000**0.5
    assert ((values[:, :N].mean(-1) - mean).abs() < 5 * error + 1e-5).all()


def test_masks_are_kept_with_the_right_probability():
    net = DropoutSurrogate(D, Settings().with_(hidden=H, dropout=0.3), _generator())
    kept = net._kept(torch.Size((100, 1003)), _generator(3))
    assert kept.double().mean() == pytest.approx(0.7, abs=0.005)
    assert DropoutSurrogate(D, Settings().with_(dropout=0.0), _generator())._kept(torch.Size((99,)), _generator()).all()


def test_networks_learn_local_scores(rng):
    """After training, predictions of held-out DAGs follow an additive truth."""
    settings = Settings().with_(hidden=32, dropout=0.1, n_replay=256, learning_rate=0.05)
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
    net, history = DropoutSurrogate(D, Settings().with_(hidden=H), _generator()), History(D, torch.device("cpu"))
    dags, local = _batch(rng)
    history.append(dags, local)
    net.update(history, N, _generator())
    wild = torch.full((D, 3), 1e9)
    top = net.to_local(torch.arange(D), wild)[:, 0].numpy()
    span = local.max(0) - local.min(0)
    assert top == pytest.approx(local.max(0) + module.RANGE_MARGIN * span, rel=1e-4)


def test_networks_over_few_candidate_parents(rng):
    """With at most two allowed parents each, a network has two inputs, and learns as well."""
    allowed = np.zeros((6, 6), dtype=bool)
    for node in range(1, 6):
        allowed[max(0, node - 2) : node, node] = True
    known = Knowledge(forbidden=[(f"x{i}", f"x{j}") for i, j in np.argwhere(~allowed) if i != j])
    inputs = Inputs.allowed(Constraints.of(known, [f"x{i}" for i in range(6)]))
    net = DropoutSurrogate(6, Settings().with_(hidden=32, dropout=0.1, learning_rate=0.05), _generator(), inputs)
    history = History(6, torch.device("cpu"), inputs)
    assert net._p["w1"].shape == (6, 2, 32)
    for _ in range(20):
        dags = (rng.random((16, 6, 6)) < 0.5) & allowed
        history.append(dags, dags.sum(1) - 5.0)
        net.update(history, 16, _generator(len(history)))
    dags = (rng.random((50, 6, 6)) < 0.5) & allowed
    nodes, parents = torch.arange(6), torch.as_tensor(dags.transpose(2, 0, 1))
    drawn = net.to_local(nodes, net.draw(32, _generator(5)).local(nodes, parents)).mean(-1).T.numpy()
    for node in range(2, 6):
        assert np.corrcoef(drawn[:, node], dags.sum(1)[:, node])[0, 1] > 0.95
