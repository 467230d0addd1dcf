import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import is_acyclic
from drbo.knowledge import Knowledge
from drbo.scores.base import Relative
from drbo.scores.families import Families
from drbo.scores.linear import BicNV
from drbo.search.bayes.propose import MAX_BOLDNESS, ClimbProposer
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.outcome import Evaluated
from drbo.settings import Settings

D = 6


def made(constraints=None, **changes):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, D))
    for j in range(1, D):
        values[:, j] += values[:, j - 1]
    evaluator = Evaluator(BicNV(Statistics.from_array(values)), Settings())
    settings = Settings().with_(**changes)
    return ClimbProposer(evaluator, settings, constraints or Constraints.none(D), rng), evaluator


def best_of(batch):
    top = int(np.argmax(batch.scores))
    return Evaluated(batch.dags[[top]], batch.local[[top]], batch.scores[[top]])


def begun(**changes):
    proposer, evaluator = made(**changes)
    batch = evaluator.evaluate(proposer.first(100))
    best = best_of(batch)
    proposer.learn(batch, best, improved=True)
    return proposer, evaluator, best


def test_the_first_design_starts_empty_and_spreads_over_densities():
    proposer, _ = made(first_design=12)
    dags = proposer.first(100)
    assert len(dags) == 12
    assert all(is_acyclic(dag) for dag in dags)
    edges = dags.sum(axis=(1, 2))
    assert edges[0] == 0
    assert edges.max() > 6
    assert len(proposer.first(3)) == 3


def test_the_first_design_obeys_the_knowledge():
    constraints = Constraints.of(Knowledge(required=["x0 -> x3"], forbidden=["x1 -> x2"]), [f"x{i}" for i in range(D)])
    proposer, _ = made(constraints)
    assert all(constraints.violations(dag) == [] for dag in proposer.first(20))


@pytest.mark.parametrize("surrogate", [True, False], ids=["surrogate", "no surrogate"])
def test_proposals_are_new_and_differ(surrogate):
    proposer, evaluator, best = begun(surrogate=surrogate, climbs=12)
    dags = proposer.propose(best, 100)
    assert 1 <= len(dags) <= 16
    assert len({dag.tobytes() for dag in dags}) == len(dags)
    for dag in dags:
        assert is_acyclic(dag)
        assert not all(evaluator.is_known(Families.from_dags(dag[None]).keys()))


def test_no_more_than_the_budget_is_proposed():
    proposer, _, best = begun(climbs=12)
    assert len(proposer.propose(best, 2)) <= 2


def test_many_climbs_only_where_cheaper_versions_judge_them_first():
    for d, costs, expected in ((20, [0.1], (16, 5)), (20, [], (4, 10)), (12, [0.1], (4, 10))):
        score = BicNV(Statistics.from_array(np.random.default_rng(0).normal(size=(30, d))))
        one = Evaluator(score, Settings(), relatives=[Relative(score, cost) for cost in costs])
        proposer = ClimbProposer(one, Settings(), Constraints.none(d), np.random.default_rng(0))
        assert (proposer.climbs, proposer.stall) == expected
        assert ClimbProposer(one, Settings(climbs=7), Constraints.none(d), np.random.default_rng(0)).climbs == 7


def test_climbs_beat_jumps():
    """What the surrogate proposes after the first design is better, on average, than random changes."""
    means = {}
    for surrogate in (True, False):
        proposer, evaluator, best = begun(surrogate=surrogate, climbs=24)
        means[surrogate] = evaluator.evaluate(proposer.propose(best, 100)).scores.mean()
    assert means[True] > means[False]


def test_boldness_grows_while_nothing_improves(monkeypatch):
    proposer, evaluator, best = begun(climbs=4)
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
