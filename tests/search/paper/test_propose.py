import numpy as np
import pytest
import torch

from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError
from drbo.knowledge import Knowledge
from drbo.scores.linear import BicNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.paper.propose import RegionProposer, candidates_gib, new_space
from drbo.search.paper.space import FullRankSpace, LowRankSpace
from drbo.settings import Settings

D = 6
FAST = {"masks": "shared", "batch_norm": "training", "space": "full-rank"}
SMALL = {"route": "paper", "n_candidates": 500, "batch_size": 8, "hidden": 8, **FAST}


def made(constraints=None, **changes):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, D))
    for j in range(1, D):
        values[:, j] += values[:, j - 1]
    settings = Settings().with_(**SMALL | changes)
    evaluator = Evaluator(BicNV(Statistics.from_array(values)), settings)
    generator = torch.Generator().manual_seed(1)
    return RegionProposer(evaluator, settings, constraints or Constraints.none(D), rng, generator), evaluator


def begun(**changes):
    proposer, evaluator = made(**changes)
    batch = evaluator.evaluate(proposer.first(100))
    best = batch.best()
    proposer.learn(batch, best, improved=True)
    return proposer, evaluator, best


def test_the_first_design_is_a_batch_within_the_knowledge():
    constraints = Constraints.of(Knowledge(required=["x0 -> x3"], forbidden=["x1 -> x2"]), [f"x{i}" for i in range(D)])
    proposer, _ = made(constraints)
    dags = proposer.first(100)
    assert len(dags) == 8
    assert all(constraints.violations(dag) == [] for dag in dags)
    assert len(proposer.first(3)) == 3


def test_proposals_come_from_around_the_best_dag():
    proposer, _, best = begun()
    proposer.region.length = 0.2
    dags = proposer.propose(best, 5)
    assert 1 <= len(dags) <= 5
    assert (dags != best.dags).sum(axis=(1, 2)).max() <= 16


def test_an_empty_batch_restarts_the_region():
    proposer, evaluator, best = begun()
    proposer.region.length = 0.05
    proposer.learn(evaluator.evaluate(np.zeros((0, D, D), dtype=bool)), best, improved=False)
    assert proposer.region.length == Settings().paper.region_max


def test_a_better_dag_from_elsewhere_becomes_the_centre():
    proposer, evaluator, best = begun()
    other = evaluator.evaluate(np.eye(D, k=1, dtype=bool)[None])
    assert other.scores[0] > best.scores[0]
    batch = evaluator.evaluate(proposer.propose(best, 4))
    proposer.learn(batch, other, improved=True)
    assert (proposer.space.decode(proposer.center[None])[0].numpy() == other.dags[0]).all()


def test_the_settings_decide_on_the_space():
    low, full = (new_space(D, Settings().with_(space=space, rank=3)) for space in ("low-rank", "full-rank"))
    assert isinstance(low, LowRankSpace)
    assert isinstance(full, FullRankSpace)
    assert low.dim == D * 3 + D


@pytest.mark.parametrize("changes", [{"masks": "row", "batch_norm": "candidates"}, {}], ids=["row", "shared"])
def test_candidates_that_cannot_be_held_are_refused_before_anything_is_spent(changes):
    huge = {"n_candidates": 10**8, **changes}
    settings = Settings().with_(**SMALL | huge)
    need = candidates_gib(new_space(D, settings), settings)
    assert need > settings.max_memory
    words = f"100000000 candidates of .* numbers need {need:.1f} GiB, but max_memory is 4"
    with pytest.raises(SettingsError, match=words):
        made(**huge)


def test_a_device_that_is_too_small_is_named(monkeypatch):
    proposer, _, best = begun()

    def full(*arguments):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(proposer.acquisition, "choose", full)
    with pytest.raises(SettingsError, match="does not fit into the memory of device 'cpu'") as caught:
        proposer.propose(best, 4)
    assert "lower n_candidates" in caught.value.hint
