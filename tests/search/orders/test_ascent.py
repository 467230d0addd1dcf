import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline
from drbo.knowledge import Knowledge
from drbo.scores.linear import BicEV, BicNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.ascent import Ascent, consistent
from drbo.settings import Settings


def _ascent(kind, memory=2.0**30, seed=0):
    score = kind(Statistics.from_array(simulate("10ER3", n=200, seed=1).X))
    evaluator = Evaluator(score, Settings(max_evals=10**9))
    rng = np.random.default_rng(seed)
    return Ascent(evaluator, Constraints.none(10), rng.permutation(10), rng, Deadline(), memory)


def _begun(ascent):
    climb = ascent.start()
    ascent.rise(climb)
    return ascent.begin(climb)


@pytest.mark.parametrize("kind", [BicNV, BicEV])
def test_the_score_never_falls_and_is_that_of_the_dag(kind):
    ascent = _ascent(kind)
    climb, scores = _begun(ascent), []
    for _ in range(5):
        scores.append(ascent.score)
        climb = ascent.settle(climb, ascent.shake(climb))
        assert (climb.dag == ascent.dag).all()
    assert scores == sorted(scores)
    fresh = Evaluator(ascent.evaluator.score, Settings())
    assert fresh.evaluate(ascent.found.dags).scores[0] == pytest.approx(ascent.score)


@pytest.mark.parametrize("kind", [BicNV, BicEV])
def test_what_was_computed_may_be_forgotten(kind):
    scores = []
    for forgets in (False, True):
        ascent = _ascent(kind, memory=0.0 if forgets else 2.0**30)
        climb = _begun(ascent)
        for _ in range(4):
            climb = ascent.settle(climb, ascent.shake(climb))
            climb = ascent.stand() if forgets else climb
        scores.append(ascent.score)
    assert scores[0] == pytest.approx(scores[1])


def test_a_late_climb_ends_where_it_stands():
    ascent = _ascent(BicNV)
    climb = _begun(ascent)
    before = climb.dag
    ascent.deadline.stop()
    assert not ascent.shake(climb)
    assert (climb.dag == before).all()


class Later(Deadline):
    """A deadline that comes after it was looked at so many times."""

    def __init__(self, looks):
        super().__init__()
        self.looks = looks

    def over(self):
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize("kind", [BicNV, BicEV])
@pytest.mark.parametrize("looks", range(0, 60, 7))
def test_a_deadline_in_any_place_leaves_a_dag_that_follows_the_order(kind, looks):
    ascent = _ascent(kind)
    climb = _begun(ascent)
    ascent.deadline, score = Later(looks), ascent.score
    climb = ascent.settle(climb, ascent.shake(climb))
    place = np.argsort(ascent.order)
    assert all(place[i] < place[j] for i, j in np.argwhere(ascent.dag))
    assert ascent.score >= score


def test_a_first_climb_that_is_stopped_has_the_parents_so_far():
    ascent = _ascent(BicNV)
    ascent.deadline.stop()
    climb = _begun(ascent)
    assert not climb.dag.any()
    assert ascent.score == ascent.evaluator.evaluate(np.zeros((1, 10, 10), dtype=bool)).scores[0]


def test_required_parents_come_first():
    limits = Constraints.of(Knowledge(required=["c -> a", "b -> c"]), ("a", "b", "c", "d"))
    order = consistent(np.array([0, 3, 2, 1]), limits).tolist()
    assert order.index(1) < order.index(2) < order.index(0)
    assert order[0] == 3
