import numpy as np
import pytest

from drbo.data.table import Table
from drbo.deadline import Deadline
from drbo.graph import is_acyclic
from drbo.knowledge import Constraints
from drbo.scores.bge import BGe
from drbo.scores.linear import BicEV, BicNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.climb import LOCAL, PLACES, REPAIR, THOROUGH, OrderClimb, _run
from drbo.search.orders.gains import ScoreSteps, steps_of
from drbo.search.orders.parent_memo import ParentSets
from drbo.settings import Settings

D = 7
FREE = np.zeros((0, 0), dtype=bool)


@pytest.fixture
def table(rng):
    weights = np.triu(rng.normal(size=(D, D)), 1)
    return Table.from_array(rng.normal(size=(150, D)) @ np.linalg.inv(np.eye(D) - weights))


def _steps(score, level, compiled=True):
    make = steps_of if compiled else ScoreSteps
    return make(Evaluator(score, Settings(max_evals=10**6)), Constraints.none(D), level)


def _climb(steps, before=FREE):
    return OrderClimb(ParentSets(steps, np.zeros((D, D), dtype=bool)), before)


def _greedy(steps, node, open_nodes):
    """Value of the parents chosen step by step from scratch, written out."""
    members = []
    while True:
        found = steps.expand(np.array([node]), np.array([[*members, -1]]), np.array([len(members)]))
        gains = np.where(np.isin(np.arange(D), open_nodes), found.additions[0], 0.0)
        drop = found.drop_gains[0] if found.drops[0] >= 0 else 0.0
        if max(gains.max(), drop) <= 1e-7:
            return found.values[0]
        if drop >= gains.max():
            members.remove(int(found.drops[0]))
        else:
            members = sorted([*members, int(gains.argmax())])


@pytest.mark.parametrize(("kind", "level"), [(BicNV, None), (BicEV, 0.8), (BGe, None)])
def test_the_end_is_no_worse_than_greedy_choices_and_nothing_moves_again(kind, level, table, rng):
    steps = _steps(kind(table), level)
    climb = _climb(steps)
    for _ in range(5):
        start = rng.permutation(D)
        climb.put(start)
        climb.climb(rng.permutation(D))
        order, value = climb.state.order.copy(), climb.value
        place = np.argsort(order)
        assert is_acyclic(climb.dag)
        assert all(place[i] < place[j] for i, j in np.argwhere(climb.dag))
        for path in (start, order):
            assert value >= sum(_greedy(steps, node, path[:at]) for at, node in enumerate(path)) - 1e-6
        climb.state.open[:] = True
        climb.climb(rng.permutation(D))
        assert climb.state.order.tolist() == order.tolist()


def test_the_value_is_that_of_the_dag(table, rng):
    climb = _climb(_steps(BicNV(table), None))
    climb.put(rng.permutation(D))
    climb.climb(rng.permutation(D))
    evaluator = Evaluator(BicNV(table), Settings())
    score = evaluator.evaluate(climb.dag[None]).scores[0]
    empty = evaluator.evaluate(np.zeros((1, D, D), dtype=bool)).scores[0]
    assert climb.value == pytest.approx(score - empty)


@pytest.mark.parametrize("kind", [BicNV, BGe])
def test_compiled_and_plain_steps_climb_the_same_way(kind, table, rng):
    ends = []
    order, visits = rng.permutation(D), rng.permutation(D)
    for compiled in (True, False):
        climb = _climb(_steps(kind(table), None, compiled))
        climb.put(order)
        climb.climb(visits)
        ends.append((climb.state.order.tolist(), climb.dag.tolist()))
    assert ends[0] == ends[1]


def test_pairs_keep_their_order(table, rng):
    before = np.zeros((D, D), dtype=bool)
    before[3, 0] = before[3, 1] = before[0, 1] = True
    climb = _climb(_steps(BicNV(table), None), before)
    for _ in range(5):
        order = rng.permutation(D)
        order[np.sort(np.flatnonzero(np.isin(order, [3, 0, 1])))] = [3, 0, 1]
        climb.put(order)
        climb.climb(rng.permutation(D))
        place = climb.state.place
        assert place[3] < place[0] < place[1]


def test_a_given_graph_is_kept_where_it_is_better(table, rng):
    climb = _climb(_steps(BicNV(table), None))
    climb.put(rng.permutation(D))
    climb.climb(rng.permutation(D))
    order, chosen = climb.snapshot()
    value, dag = climb.value, climb.dag
    again = _climb(climb.sets.expander)
    again.put(order, again.sets.adopt(dag))
    again.climb(rng.permutation(D))
    assert again.value >= value - 1e-6
    climb.put(order, chosen)
    assert (climb.dag == dag).all()


def test_counts_each_expanded_set_once(table, rng):
    climb = _climb(_steps(BicNV(table), None))
    climb.put(rng.permutation(D))
    climb.climb(rng.permutation(D))
    assert climb.take_count() == climb.sets.n_local > 0
    assert climb.take_count() == 0


class Looks(Deadline):
    """A deadline that counts how often it is asked, and comes after so many times."""

    def __init__(self, most=10**9):
        super().__init__()
        self.count, self.most = 0, most

    def over(self):
        self.count += 1
        return self.count >= self.most


def _large_climb(rng, d=150):
    weights = np.triu(rng.normal(size=(d, d)) * (rng.random((d, d)) < 2 / d), 1)
    table = Table.from_array(rng.normal(size=(300, d)) @ np.linalg.inv(np.eye(d) - weights))
    evaluator = Evaluator(BicNV(table), Settings(max_evals=10**6))
    sets = ParentSets(steps_of(evaluator, Constraints.none(d), None), np.zeros((d, d), dtype=bool))
    sets.reserve(200_000, 2_000_000, 8_000_000)  # room enough: compiled code need not come back for more
    climb = OrderClimb(sets, np.zeros((0, 0), dtype=bool))
    climb.put(rng.permutation(d))
    return climb


def test_the_deadline_is_looked_at_again_and_again(rng):
    climb, looks, d = _large_climb(rng), Looks(), 150
    climb.climb(rng.permutation(d), looks)
    assert looks.count > d * d / PLACES  # more than once a round
    again = climb.dag.copy()
    climb.put(rng.permutation(d))
    looks = Looks(most=2)
    climb.climb(rng.permutation(d), looks)
    assert looks.count == 2  # it ended there, with a DAG
    assert is_acyclic(climb.dag)
    assert (climb.dag != again).any()


@pytest.mark.parametrize("phase", [REPAIR, LOCAL, THOROUGH])
def test_compiled_code_ends_when_the_flag_is_set(rng, phase):
    climb, stop = _large_climb(rng), np.zeros(1, dtype=np.uint8)
    climb.state.visits[:] = rng.permutation(150)
    if phase != REPAIR:
        while climb.state.clock[0] < phase:
            _run(True, stop, climb.state, climb.sets.pool, climb.sets.expander)
        climb.state.open[:] = True
    before = climb.snapshot()
    stop[0] = 1
    assert not _run(True, stop, climb.state, climb.sets.pool, climb.sets.expander)
    assert climb.state.clock[0] == phase
    assert (climb.snapshot()[0] == before[0]).all()
    assert is_acyclic(climb.dag)


def test_an_order_that_was_not_repaired_is_told(table, rng):
    climb, over = _climb(_steps(BicNV(table), None)), Deadline()
    over.stop()
    climb.put(rng.permutation(D))
    climb.climb(rng.permutation(D), over)
    assert not climb.repaired
    assert not climb.dag.any()  # the required edges alone
    climb.climb(rng.permutation(D))
    assert climb.repaired
