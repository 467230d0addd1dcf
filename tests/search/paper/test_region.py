import numpy as np
import pytest
import torch

from drbo.search.paper import region as module
from drbo.search.paper.region import SOBOL_MAX_DIM, TrustRegion
from drbo.settings import Settings


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(params=["compiled", "batched"], autouse=True)
def _both_ways(request, monkeypatch):
    """Draw as on the CPU, and as on a GPU."""
    if request.param == "batched":
        monkeypatch.setattr(module, "_moved_compiled", module._moved)


def test_doubles_after_successes_and_halves_after_failures():
    region = TrustRegion(4, Settings())
    for _ in range(3):
        region.update(improved=True)
    assert region.length == 2.0
    for _ in range(3):
        region.update(improved=True)
    assert region.length == 2.0  # never above its largest
    for _ in range(4):
        region.update(improved=False)
    region.update(improved=True)  # breaks the row of failures
    for _ in range(4):
        region.update(improved=False)
    assert region.length == 2.0
    region.update(improved=False)
    assert region.length == 1.0
    assert (region.successes, region.failures) == (0, 0)


@pytest.mark.parametrize(("rule", "length"), [("restart", 2.0), ("clip", 0.01)])
def test_below_the_smallest_length(rule, length):
    region = TrustRegion(4, Settings().with_(region=rule, region_failures=1))
    for _ in range(7):  # 1 / 2**7 < 0.01
        region.update(improved=False)
    assert region.length == length


def test_candidates_stay_in_the_region_and_in_the_domain():
    region = TrustRegion(50, Settings().with_(region_start=0.25))
    center = torch.linspace(-1, 1, 50)
    vectors = region.candidates(center, 2000, _generator()).vectors()
    assert vectors.abs().max() <= 1
    assert (vectors - center).abs().max() <= 0.25 + 1e-6


def test_every_candidate_moves_and_every_coordinate_can_move():
    region = TrustRegion(60, Settings().with_(moved_coordinates=1.0))
    center = torch.zeros(60)
    moved = region.candidates(center, 5000, _generator()).vectors() != center
    assert moved.any(dim=1).all()
    assert moved.any(dim=0).all()


def test_coordinates_move_with_the_given_probability():
    region = TrustRegion(100, Settings())
    moved = region.candidates(torch.zeros(100), 5000, _generator()).vectors() != 0
    per_coordinate = moved.double().mean(0)
    assert moved.double().mean() == pytest.approx(0.2, abs=0.003)
    assert per_coordinate.min() > 0.17
    assert per_coordinate.max() < 0.23
    counts = moved.sum(1).double()
    assert counts.std() == pytest.approx((100 * 0.2 * 0.8) ** 0.5, rel=0.05)  # binomial


def test_small_spaces_move_everything():
    region = TrustRegion(10, Settings())
    assert (region.candidates(torch.zeros(10), 100, _generator()).vectors() != 0).all()


def test_points_fill_the_region_evenly():
    """Scrambled Sobol points of one coordinate are far more even than uniform ones."""
    region = TrustRegion(3, Settings())
    vectors = region.candidates(torch.zeros(3), 1024, _generator()).vectors()
    counts = torch.histc(vectors[:, 1], bins=64, min=-1, max=1)
    assert counts.min() >= 14  # 16 on average; uniform points would spread by 4
    assert counts.max() <= 18


def test_calls_differ_but_the_seed_decides():
    center = torch.zeros(30)
    region, same = TrustRegion(30, Settings()), TrustRegion(30, Settings())
    g, h = _generator(1), _generator(1)
    first = region.candidates(center, 64, g).vectors()
    assert torch.equal(first, same.candidates(center, 64, h).vectors())
    assert not torch.equal(first, region.candidates(center, 64, g).vectors())


def test_beyond_the_sobol_dimensions():
    dim = SOBOL_MAX_DIM + 1
    vectors = TrustRegion(dim, Settings()).candidates(torch.zeros(dim), 4, _generator()).vectors()
    assert (vectors != 0).any(dim=1).all()
    assert np.isfinite(vectors.numpy()).all()


def test_points_are_the_scrambled_sobol_sequence_with_a_digital_shift():
    region = TrustRegion(6, Settings())
    vectors = region.candidates(torch.zeros(6), 100, _generator(5)).vectors().double()
    generator = _generator(5)
    seed = int(torch.randint(2**31, (1,), generator=generator))
    shift = torch.randint(2**30, (6,), generator=generator, dtype=torch.int32)
    engine = torch.quasirandom.SobolEngine(6, scramble=True, seed=seed)
    first = engine.shift  # the engine's own shift is replaced by a new one at each call
    digits = ((engine.draw(100, dtype=torch.float64) * 2**30).long() ^ first) ^ shift
    assert torch.allclose(vectors, 2 * (digits.double() + 0.5) / 2**30 - 1, atol=1e-6)


def test_candidates_list_their_moves_in_order():
    candidates = TrustRegion(40, Settings().with_(moved_coordinates=3.0)).candidates(torch.zeros(40), 500, _generator())
    moved = candidates.coordinate.numpy()
    assert len(candidates) == 500
    assert (np.diff(np.sort(moved, axis=1), axis=1)[np.sort(moved, axis=1)[:, 1:] < 40] > 0).all()  # each once
    assert ((moved < 40).sum(axis=1) == (candidates.vectors() != 0).sum(1).numpy()).all()
    rows = torch.tensor([7, 3])
    assert torch.equal(candidates.vectors(rows), candidates.vectors()[rows])
