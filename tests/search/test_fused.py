"""The GPU kernel; without a GPU in Triton's interpreter, where Triton is installed."""

import os

import numpy as np
import pytest
import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="needs Triton")

from drbo.data.table import Table
from drbo.knowledge import Constraints, Knowledge
from drbo.scores.linear import BicNV
from drbo.search.acquire import Acquisition
from drbo.search.evaluate import Evaluator
from drbo.search.inputs import Inputs
from drbo.search.region import TrustRegion
from drbo.search.space import FullRankSpace, LowRankSpace
from drbo.search.surrogate import DropoutSurrogate
from drbo.settings import Settings

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
NAMES = [f"x{i}" for i in range(37)]
FEW = Knowledge(forbidden=[(a, b) for i, a in enumerate(NAMES) for j, b in enumerate(NAMES) if abs(i - j) > 4])
TIERS = Knowledge(tiers=[NAMES[:10], NAMES[10:30], NAMES[30:]], forbidden=["x1 -> x2"])


@pytest.mark.parametrize("knowledge", [None, FEW, TIERS], ids=["none", "few parents", "tiers"])
@pytest.mark.parametrize("low_rank", [True, False])
def test_fused_values_are_the_batched_ones(knowledge, low_rank, rng):
    d, settings = len(NAMES), Settings(hidden=24, dropout=0.3, n_candidates=100)
    constraints = knowledge.compile(NAMES) if knowledge else Constraints.none(d)
    space = LowRankSpace(d, 5, constraints) if low_rank else FullRankSpace(d, constraints)
    inputs, generator = Inputs.allowed(constraints), torch.Generator(DEVICE).manual_seed(0)
    surrogate = DropoutSurrogate(d, settings, generator, inputs)
    surrogate.low, surrogate.high = torch.full((d, 1), -0.2, device=DEVICE), torch.full((d, 1), 0.2, device=DEVICE)
    evaluator = Evaluator(BicNV(Table.from_array(rng.normal(size=(60, d)))), settings)
    acquisition = Acquisition(space, surrogate, evaluator, settings)
    center = torch.as_tensor(rng.uniform(-1, 1, space.dim), dtype=torch.float32, device=DEVICE)
    candidates = TrustRegion(space.dim, settings).candidates(center, 100, generator)
    draws = surrogate.draw(5, generator)
    fused, batched = acquisition._fused(candidates, draws), acquisition._batched(candidates, draws)
    for ours, theirs in zip(fused, batched, strict=True):
        assert ours.shape == theirs.shape
        assert ours.cpu().numpy() == pytest.approx(theirs.cpu().numpy(), abs=2e-4)
    assert np.unique(fused[0].cpu().numpy()).size > 300
