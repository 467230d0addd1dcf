"""The GPU kernels of training; without a GPU in Triton's interpreter, where Triton is installed."""

import os

import numpy as np
import pytest
import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="needs Triton")

from drbo.constraints import Constraints
from drbo.knowledge import Knowledge
from drbo.search.paper.history import History
from drbo.search.paper.inputs import Inputs
from drbo.search.paper.networks import DropoutSurrogate
from drbo.settings import Settings

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
NAMES = [f"x{i}" for i in range(37)]
FEW = Knowledge(forbidden=[(a, b) for i, a in enumerate(NAMES) for j, b in enumerate(NAMES) if abs(i - j) > 4])


def networks(inputs, settings, seed):
    return DropoutSurrogate(len(NAMES), settings, torch.Generator(DEVICE).manual_seed(seed), inputs)


@pytest.mark.parametrize("limits", [None, FEW], ids=["all parents", "few parents"])
def test_fused_steps_are_the_batched_ones(limits, rng):
    d, n, steps, hidden = len(NAMES), 70, 2, 24
    settings = Settings().with_(hidden=hidden, dropout=0.2, learning_rate=0.05)
    inputs = Inputs.allowed(Constraints.of(limits, NAMES)) if limits else Inputs.all_nodes(d)
    batched, fused = (networks(inputs, settings, seed=0) for _ in range(2))
    history = History(d, torch.device(DEVICE), inputs)
    history.append(np.triu(rng.random((n, d, d)) < 0.2, 1), rng.normal(size=(n, d)) * 1000.0)  # gradients are clipped
    rows = torch.as_tensor(rng.permutation(n), device=DEVICE)
    codes, targets = history.codes[:, rows].repeat(steps, 1, 1, 1), history.local(rows).repeat(steps, 1, 1)
    coins = batched._coins(steps * d * n * hidden, torch.Generator(DEVICE).manual_seed(9)).view(steps, -1)
    corrections = torch.tensor([batched._corrections() for _ in range(steps)], device=DEVICE)
    before = batched.flat.clone()
    batched._steps(codes, targets, coins, corrections)
    fused._fused_steps(codes, targets, coins, corrections)
    assert (batched.flat - before).abs().max() > 0.1
    for name in ("moment1", "moment2"):
        ours, theirs = getattr(fused, name), getattr(batched, name)
        assert ours.cpu().numpy() == pytest.approx(theirs.cpu().numpy(), rel=2e-3, abs=5e-6), name
    differences = (fused.flat - batched.flat).abs()  # Adam makes a gradient near 0, mere rounding, as large as others
    assert differences.mean() < 1e-5
    assert differences.max() < 0.01
