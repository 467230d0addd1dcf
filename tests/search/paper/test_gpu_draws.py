"""The GPU kernels; without a GPU in Triton's interpreter, where Triton is installed."""

import os

import numpy as np
import pytest
import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="needs Triton")

from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.knowledge import Knowledge
from drbo.scores.linear import BicEV, BicNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.paper.acquire import Acquisition
from drbo.search.paper.inputs import Inputs
from drbo.search.paper.networks import DropoutSurrogate
from drbo.search.paper.region import SOBOL_BITS, RegionMoves, TrustRegion, _moved_fused
from drbo.search.paper.space import FullRankSpace, LowRankSpace
from drbo.settings import Settings

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
NAMES = [f"x{i}" for i in range(37)]
FEW = Knowledge(forbidden=[(a, b) for i, a in enumerate(NAMES) for j, b in enumerate(NAMES) if abs(i - j) > 4])
TIERS = Knowledge(tiers=[NAMES[:10], NAMES[10:30], NAMES[30:]], forbidden=["x1 -> x2"])


@pytest.mark.parametrize("knowledge", [None, FEW, TIERS], ids=["none", "few parents", "tiers"])
@pytest.mark.parametrize("low_rank", [True, False])
def test_fused_values_are_the_batched_ones(knowledge, low_rank, rng):
    d, settings = len(NAMES), Settings().with_(hidden=24, dropout=0.3, n_candidates=100)
    constraints = Constraints.of(knowledge, NAMES) if knowledge else Constraints.none(d)
    space = LowRankSpace(d, 5, constraints) if low_rank else FullRankSpace(d, constraints)
    inputs, generator = Inputs.allowed(constraints), torch.Generator(DEVICE).manual_seed(0)
    surrogate = DropoutSurrogate(d, settings, generator, inputs)
    surrogate.low, surrogate.high = torch.full((d, 1), -0.2, device=DEVICE), torch.full((d, 1), 0.2, device=DEVICE)
    evaluator = Evaluator(BicNV(Statistics.from_array(rng.normal(size=(60, d)))), settings)
    acquisition = Acquisition(space, surrogate, evaluator, settings)
    center = torch.as_tensor(rng.uniform(-1, 1, space.dim), dtype=torch.float32, device=DEVICE)
    candidates = TrustRegion(space.dim, settings).candidates(center, 100, generator)
    draws = surrogate.draw(5, generator)
    fused, batched = acquisition.fused(candidates, draws), acquisition.batched(candidates, draws)
    for ours, theirs in zip(fused, batched, strict=True):
        assert ours.shape == theirs.shape
        assert ours.cpu().numpy() == pytest.approx(theirs.cpu().numpy(), abs=2e-4)
    assert np.unique(fused[0].cpu().numpy()).size > 300


def _cube(dim, rng):
    low = torch.as_tensor(rng.uniform(-1, 0, dim), dtype=torch.float32, device=DEVICE)
    return low, torch.as_tensor(rng.uniform(0.1, 1, dim), dtype=torch.float32, device=DEVICE)


@pytest.mark.parametrize("probability", [0.05, 1.0])
def test_moves_are_points_of_the_sobol_sequence(probability, rng):
    dim, n, room = 40, 300, 40
    low, width = _cube(dim, rng)
    generator = torch.Generator(DEVICE).manual_seed(0)
    directions, shift = TrustRegion(dim, Settings()).sobol(n, generator, torch.device(DEVICE))
    moves = RegionMoves(n, room, probability, low, width, directions, shift)
    coordinate, value = (part.cpu().numpy() for part in _moved_fused(moves, generator))
    row, place = np.nonzero(coordinate < dim)
    at = coordinate[row, place]
    digits = shift.cpu().numpy()[at]
    for bit in range(directions.shape[1]):
        digits ^= np.where((row ^ (row >> 1)) >> bit & 1, directions[:, bit].cpu().numpy()[at], 0)
    expected = low.cpu().numpy()[at] + width.cpu().numpy()[at] * (digits + 0.5) / 2**SOBOL_BITS
    assert value[row, place] == pytest.approx(expected, abs=1e-5)
    assert (coordinate[:, 0] < dim).all()  # at least one moves
    assert (np.diff(coordinate, axis=1)[coordinate[:, 1:] < dim] > 0).all()  # none twice
    if probability == 1.0:
        assert (coordinate == np.arange(dim)).all()
    else:  # each as often as it should, a lone forced one apart
        several = (coordinate < dim).sum(1) > 1
        shares = np.bincount(at[several[row]], minlength=dim) / n
        assert shares.mean() == pytest.approx(probability, abs=0.01)
        assert shares.max() < 4 * probability
        assert not torch.equal(_moved_fused(moves, generator)[0].cpu(), torch.as_tensor(coordinate))  # drawn anew


def test_moves_beyond_the_sobol_sequence_are_uniform(rng):
    low, width = _cube(30, rng)
    none = torch.empty(30, 0, dtype=torch.int32, device=DEVICE)
    shift = torch.empty(30, dtype=torch.int32, device=DEVICE)
    moved = _moved_fused(RegionMoves(400, 30, 0.5, low, width, none, shift), torch.Generator(DEVICE).manual_seed(1))
    coordinate, value = (part.cpu().numpy() for part in moved)
    at = np.minimum(coordinate, 29)
    unit = ((value - low.cpu().numpy()[at]) / width.cpu().numpy()[at])[coordinate < 30]
    assert unit.min() > -1e-5
    assert unit.max() < 1 + 1e-5
    assert np.histogram(unit, 10)[0] == pytest.approx(len(unit) / 10, rel=0.15)


@pytest.mark.parametrize("kind", [BicNV, BicEV])
def test_drawn_scores_are_those_without_the_kernel(kind, rng, monkeypatch):
    d, settings = len(NAMES), Settings().with_(hidden=24, dropout=0.3, n_draws=5)
    generator, space = torch.Generator(DEVICE).manual_seed(0), LowRankSpace(d, 5)
    surrogate = DropoutSurrogate(d, settings, generator)
    evaluator = Evaluator(kind(Statistics.from_array(rng.normal(size=(60, d)))), settings)
    acquisition = Acquisition(space, surrogate, evaluator, settings)
    center = torch.as_tensor(rng.uniform(-1, 1, space.dim), dtype=torch.float32, device=DEVICE)
    candidates = TrustRegion(space.dim, settings).candidates(center, 70, generator)
    found = []
    for fuse in (True, False):
        monkeypatch.setattr(Acquisition, "can_fuse", fuse)
        again = torch.Generator(DEVICE).manual_seed(7)
        found.append(acquisition.drawn_scores(candidates, settings.paper.n_draws, again).cpu().numpy())
    assert found[0].shape == (5, 70)
    assert found[0] == pytest.approx(found[1], rel=1e-4, abs=0.05)
    assert np.ptp(found[1], axis=1).min() > 1  # candidates differ by far more
