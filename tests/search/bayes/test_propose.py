import numpy as np
import pytest
import torch

from drbo.data.table import Table
from drbo.graph import is_acyclic
from drbo.knowledge import Constraints, Knowledge
from drbo.scores.base import Families
from drbo.scores.linear import BicNV
from drbo.search.bayes.propose import MAX_BOLDNESS, ClimbProposer, RegionProposer
from drbo.search.evaluation.evaluator import Evaluated, Evaluator
from drbo.settings import Settings

D = 6


def made(kind, constraints=None, **changes):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, D))
    for j in range(1, D):
        values[:, j] += values[:, j - 1]
    evaluator = Evaluator(BicNV(Table.from_array(values)), Settings())
    settings = Settings(**changes)
    generator = torch.Generator().manual_seed(1)
    return kind(evaluator, settings, constraints or Constraints.none(D), rng, generator), evaluator


def best_of(batch):
    top = int(np.argmax(batch.scores))
    return Evaluated(batch.dags[[top]], batch.local[[top]], batch.scores[[top]])


def begun(kind, **changes):
    proposer, evaluator = made(kind, **changes)
    batch = evaluator.evaluate(proposer.first(100))
    best = best_of(batch)
    proposer.learn(batch, best, improved=True)
    return proposer, evaluator, best


REGION = {"route": "paper", "surrogate": "dropout", "n_candidates": 500, "batch_size": 8, "hidden": 8}


class TestClimb:
    def test_the_first_design_starts_empty_and_spreads_over_densities(self):
        proposer, _ = made(ClimbProposer, first_design=12)
        dags = proposer.first(100)
        assert len(dags) == 12
        assert all(is_acyclic(dag) for dag in dags)
        edges = dags.sum(axis=(1, 2))
        assert edges[0] == 0
        assert edges.max() > 6
        assert len(proposer.first(3)) == 3

    def test_the_first_design_obeys_the_knowledge(self):
        constraints = Knowledge(required=["x0 -> x3"], forbidden=["x1 -> x2"]).compile([f"x{i}" for i in range(D)])
        proposer, _ = made(ClimbProposer, constraints)
        assert all(constraints.violations(dag) == [] for dag in proposer.first(20))

    @pytest.mark.parametrize("surrogate", ["gp", "dropout", "none"])
    def test_proposals_are_new_and_differ(self, surrogate):
        proposer, evaluator, best = begun(ClimbProposer, surrogate=surrogate, n_draws=12, hidden=8)
        dags = proposer.propose(best, 100)
        assert 1 <= len(dags) <= 16
        assert len({dag.tobytes() for dag in dags}) == len(dags)
        for dag in dags:
            assert is_acyclic(dag)
            assert not all(evaluator.is_known(Families.from_dags(dag[None]).keys()))

    def test_no_more_than_the_budget_is_proposed(self):
        proposer, _, best = begun(ClimbProposer, n_draws=12)
        assert len(proposer.propose(best, 2)) <= 2

    def test_climbs_beat_jumps(self):
        """What the surrogate proposes after the first design is better, on average, than random changes."""
        means = {}
        for surrogate in ("gp", "none"):
            proposer, evaluator, best = begun(ClimbProposer, surrogate=surrogate, n_draws=24)
            means[surrogate] = evaluator.evaluate(proposer.propose(best, 100)).scores.mean()
        assert means["gp"] > means["none"]

    def test_boldness_grows_while_nothing_improves(self, monkeypatch):
        proposer, evaluator, best = begun(ClimbProposer, n_draws=4)
        seen = []
        original = proposer.landscape.climb
        monkeypatch.setattr(
            proposer.landscape,
            "climb",
            lambda starts, boldness, bounded: seen.append(boldness) or original(starts, boldness),
        )
        nothing = evaluator.evaluate(np.zeros((0, D, D), dtype=bool))
        for _ in range(40):
            proposer.propose(best, 4)
            proposer.learn(nothing, best, improved=False)
        assert seen[0] == 1.0
        assert (np.diff(seen) >= 0).all()
        assert seen[-1] == MAX_BOLDNESS
        proposer.learn(nothing, best, improved=True)
        proposer.propose(best, 4)
        assert seen[-1] == 1.0


class TestRegion:
    def test_proposals_come_from_around_the_best_dag(self):
        proposer, _, best = begun(RegionProposer, **REGION)
        proposer.region.length = 0.2
        dags = proposer.propose(best, 5)
        assert 1 <= len(dags) <= 5
        assert (dags != best.dags).sum(axis=(1, 2)).max() <= 16

    def test_an_empty_batch_restarts_the_region(self):
        proposer, evaluator, best = begun(RegionProposer, **REGION)
        proposer.region.length = 0.05
        proposer.learn(evaluator.evaluate(np.zeros((0, D, D), dtype=bool)), best, improved=False)
        assert proposer.region.length == Settings().region_max

    def test_a_better_dag_from_elsewhere_becomes_the_centre(self):
        proposer, evaluator, best = begun(RegionProposer, **REGION)
        other = evaluator.evaluate(np.eye(D, k=1, dtype=bool)[None])
        assert other.scores[0] > best.scores[0]
        batch = evaluator.evaluate(proposer.propose(best, 4))
        proposer.learn(batch, other, improved=True)
        assert (proposer.space.decode(proposer.center[None])[0].numpy() == other.dags[0]).all()
