import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.knowledge import Knowledge
from drbo.scores.base import Score
from drbo.scores.linear import BicNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders import gains
from drbo.search.orders.gains import ScoreSteps, steps_of
from drbo.settings import Settings

NAMES = ["a", "b", "c", "d"]


class Likes(Score):
    """Each parent is worth its number, three together cost 10."""

    def local_one(self, node, parents):
        return float(sum(parents)) - 10.0 * (len(parents) >= 3)


@pytest.fixture
def table(rng):
    return Statistics.from_array(rng.normal(size=(40, 4)), NAMES)


def _steps(score, limits):
    return ScoreSteps(Evaluator(score, Settings(max_evals=10**6)), limits)


def test_gains_are_differences_of_the_score(table):
    found = _steps(Likes(table), Constraints.none(4)).expand(np.array([0]), np.array([[1, 2, -1]]), np.array([2]))
    assert found.values.tolist() == [3.0]
    assert found.additions[0, 3] == 3.0 - 10.0
    assert (found.drops.tolist(), found.drop_gains.tolist()) == ([-1], [-1.0])  # the best drop loses 1
    found = _steps(Likes(table), Constraints.none(4)).expand(np.array([0]), np.array([[1, 2, 3]]), np.array([3]))
    assert (found.drops.tolist(), found.drop_gains.tolist()) == ([1], [9.0])


def test_knowledge_closes_steps(table):
    limits = Constraints.of(Knowledge(forbidden=["d -> a"], required=["b -> a"], max_parents=2), NAMES)
    steps = _steps(Likes(table), limits)
    found = steps.expand(np.array([0, 0]), np.array([[1, -1], [1, 2]]), np.array([1, 2]))
    assert (found.additions[0] > 0).tolist() == [False, False, True, False]
    assert not (found.additions[1] > 0).any()
    assert not np.isfinite(found.additions[1, 3])


def test_every_family_is_computed_once(table):
    steps = _steps(Likes(table), Constraints.none(4))
    for _ in range(2):
        steps.expand(np.array([0]), np.array([[-1]]), np.array([0]))
    assert steps.evaluator.n_local == 4


def test_many_families_are_asked_for_in_pieces(table, monkeypatch):
    sets = np.array([0, 1, 2, 3]), np.array([[1, 2], [-1, -1], [3, -1], [0, 1]]), np.array([2, 0, 1, 2])
    whole = _steps(Likes(table), Constraints.none(4))
    expected = whole.expand(*sets)
    monkeypatch.setattr(gains, "MOST_CELLS", 2 * 4**2)
    parts, asked = _steps(Likes(table), Constraints.none(4)), []
    real = parts.evaluator.families
    monkeypatch.setattr(parts.evaluator, "families", lambda families: (asked.append(len(families)), real(families))[1])
    for one, other in zip(parts.expand(*sets), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(asked) == 2
    assert parts.evaluator.n_local == whole.evaluator.n_local


def test_a_subclass_is_not_taken_for_its_parent(table):
    class Same(BicNV):
        pass

    class Other(BicNV):
        def local(self, families):
            return super().local(families)

    class Priced(BicNV):
        def family_price(self, families):
            return super().family_price(families)

    for score, compiled in ((Other(table), False), (Priced(table), False), (Same(table), True), (BicNV(table), True)):
        steps = steps_of(Evaluator(score, Settings()), Constraints.none(4), None)
        assert isinstance(steps, ScoreSteps) != compiled
