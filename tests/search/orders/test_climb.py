import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline, OutOfTimeError
from drbo.graph.dag import dag_to_cpdag, is_acyclic
from drbo.scores.bge import BGe
from drbo.scores.discrete import BDeu
from drbo.scores.linear import BicEV, BicNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.climb import DRAWS, OrderClimb
from drbo.search.orders.gains import Expansion, ScoreSteps, steps_of
from drbo.settings import Settings

D = 7
FREE = np.zeros((0, 0), dtype=bool)


@pytest.fixture
def table(rng):
    weights = np.triu(rng.normal(size=(D, D)), 1)
    return Statistics.from_array(rng.normal(size=(150, D)) @ np.linalg.inv(np.eye(D) - weights))


def _steps(score, level, compiled=True):
    make = steps_of if compiled else ScoreSteps
    return make(Evaluator(score, Settings(max_evals=10**6)), Constraints.none(D), level)


def _climb(steps, before=FREE):
    return OrderClimb(steps, np.zeros((D, D), dtype=bool), before)


def _greedy(steps, node, open_nodes):
    """Value of the parents chosen step by step from scratch, written out."""
    members = []
    while True:
        found = Expansion(*steps.expand(np.array([node]), np.array([[*members, -1]]), np.array([len(members)])))
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
        order, value = climb.order, climb.value
        place = np.argsort(order)
        assert is_acyclic(climb.dag)
        assert all(place[i] < place[j] for i, j in np.argwhere(climb.dag))
        for path in (start, order):
            assert value >= sum(_greedy(steps, node, path[:at]) for at, node in enumerate(path)) - 1e-6
        climb.climb(rng.permutation(D))
        assert climb.order.tolist() == order.tolist()


def test_the_value_is_that_of_the_dag(table, rng):
    climb = _climb(_steps(BicNV(table), None))
    climb.put(rng.permutation(D))
    climb.climb(rng.permutation(D))
    evaluator = Evaluator(BicNV(table), Settings())
    score = evaluator.evaluate(climb.dag[None]).scores[0]
    empty = evaluator.evaluate(np.zeros((1, D, D), dtype=bool)).scores[0]
    assert climb.value == pytest.approx(score - empty)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize("kind", [BicNV, BGe])
def test_where_a_climb_ends_other_steps_see_no_better_move_either(kind, compiled, table, rng):
    """Equivalent DAGs tie, so rounding may lead compiled and plain steps to different ends."""
    climb = _climb(_steps(kind(table), None, compiled))
    climb.put(rng.permutation(D))
    climb.climb(rng.permutation(D))
    other = _climb(_steps(kind(table), None, not compiled))
    other.stand(climb.order, climb.dag)
    other.climb(rng.permutation(D))
    assert dag_to_cpdag(other.dag).tolist() == dag_to_cpdag(climb.dag).tolist()


def test_pairs_keep_their_order(table, rng):
    before = np.zeros((D, D), dtype=bool)
    before[3, 0] = before[3, 1] = before[0, 1] = True
    climb = _climb(_steps(BicNV(table), None), before)
    for _ in range(5):
        order = rng.permutation(D)
        order[np.sort(np.flatnonzero(np.isin(order, [3, 0, 1])))] = [3, 0, 1]
        climb.put(order)
        climb.climb(rng.permutation(D))
        place = np.argsort(climb.order)
        assert place[3] < place[0] < place[1]


def test_a_given_graph_is_kept_where_it_is_better(table, rng):
    climb = _climb(_steps(BicNV(table), None))
    climb.put(rng.permutation(D))
    climb.climb(rng.permutation(D))
    order, chosen = climb._climb.order, climb._climb.chosen
    value, dag = climb.value, climb.dag
    again = _climb(_steps(BicNV(table), None))
    again.stand(order, dag)
    again.climb(rng.permutation(D))
    assert again.value >= value - 1e-6
    climb.put(order, chosen)
    assert (climb.dag == dag).all()


def test_counts_each_expanded_set_once(table, rng):
    climb = _climb(_steps(BicNV(table), None))
    climb.put(rng.permutation(D))
    climb.climb(rng.permutation(D))
    assert climb.take_count() == climb.n_local > 0
    assert climb.take_count() == 0


def _large_climb(rng, d):
    table = Statistics.from_array(simulate(f"{d}ER2", n=500, seed=1).X)
    evaluator = Evaluator(BicNV(table), Settings(max_evals=10**6))
    climb = OrderClimb(steps_of(evaluator, Constraints.none(d), None), np.zeros((d, d), dtype=bool), FREE)
    climb.put(rng.permutation(d))
    return climb


def test_the_flag_of_a_deadline_ends_a_climb_where_it_stands(rng):
    climb, visits = _large_climb(rng, 300), rng.permutation(300)  # a second
    with Deadline(0.02) as deadline:
        climb.climb(visits, deadline)
    early, order = climb.value, climb.order
    assert is_acyclic(climb.dag)
    climb.climb(visits)
    assert climb.value > early
    assert (climb.order != order).any()


def test_a_score_of_python_that_is_out_of_time_ends_a_climb(table, rng):
    steps, calls = _steps(BicNV(table), None, compiled=False), 0

    class Late:
        n_nodes = D

        def expand(self, nodes, parents, sizes):
            nonlocal calls
            calls += 1
            if calls == 3:
                raise OutOfTimeError
            return steps.expand(nodes, parents, sizes)

    climb, plain = _climb(Late()), _climb(steps)
    order, visits = rng.permutation(D), rng.permutation(D)
    climb.put(order)
    climb.climb(visits)
    assert calls == 3
    assert is_acyclic(climb.dag)
    for each in (climb, plain):  # what was not computed then is computed now
        each.put(order)
        each.climb(visits)
    assert (climb.dag == plain.dag).all()


@pytest.mark.parametrize("wrong", ["count", "shape", "drop"])
def test_what_a_score_of_python_returns_is_checked(table, wrong):
    class Wrong:
        n_nodes = D

        def expand(self, nodes, parents, sizes):
            count = len(nodes)
            drops = np.full(count, D if wrong == "drop" else -1)
            found = np.zeros(count), np.zeros((count, D + (wrong == "shape"))), drops, np.zeros(count)
            return found[:3] if wrong == "count" else found

    with pytest.raises((ValueError, RuntimeError)):
        _climb(Wrong())


def test_not_a_number_ends_no_climb_in_a_circle(table, rng):
    class Unknown:
        n_nodes = D

        def expand(self, nodes, parents, sizes):
            count = len(nodes)
            return np.full(count, np.nan), np.ones((count, D)), np.full(count, -1), np.zeros(count)

    climb = _climb(Unknown())
    climb.put(rng.permutation(D))
    climb.climb(rng.permutation(D))
    assert not climb.dag.any()


def test_threads_do_not_change_a_climb(rng):
    values = rng.integers(3, size=(4000, D)).astype(float)
    values[:, 3] = (values[:, 0] + values[:, 1] * (rng.random(4000) < 0.8)) % 3
    order, visits, ends = rng.permutation(D), rng.permutation(D), []
    for threads in (1, 2, 5):
        evaluator = Evaluator(BDeu(Statistics.from_array(values)), Settings(max_evals=10**6))
        steps = steps_of(evaluator, Constraints.none(D), None)
        climb = OrderClimb(steps, np.zeros((D, D), dtype=bool), FREE, threads)
        climb.put(order)
        climb.climb(visits)
        ends.append((climb.order.tolist(), climb.dag.tolist(), climb.value, climb.n_local))
    assert ends[0] == ends[1] == ends[2]


def test_additions_that_pay_are_listed_best_first(table):
    steps = _steps(BicNV(table), None)
    climb = _climb(steps)
    for node in range(D):
        gains = Expansion(*steps.expand(np.array([node]), np.array([[-1]]), np.array([0]))).additions[0]
        listed = climb.near(node).tolist()  # it has no parents yet
        assert set(listed) == set(np.flatnonzero(gains > 1e-7).tolist())
        assert gains[listed].tolist() == sorted(gains[listed], reverse=True)


def test_sets_reached_in_two_ways_are_one(table, rng):
    climb = _climb(_steps(BicNV(table), None))
    dags = [np.triu(rng.random((D, D)) < 0.5, 1) for _ in range(200)]
    for dag in dags + dags:
        climb.stand(np.arange(D), dag)
        assert (climb.dag == dag).all()
    distinct = {(node, tuple(dag[:, node])) for dag in dags for node in range(D)}
    empty = {(node, (False,) * D) for node in range(D)}
    assert climb.n_local == len(distinct | empty) * D


@pytest.mark.parametrize(
    ("order", "chosen"),
    [([0, 1, 2, 3, 4, 5, 5], None), ([0, 1, 2], None), (range(D), [0] * D), (range(D), [99] * D)],
    ids=["twice", "short", "other nodes", "unknown sets"],
)
def test_an_order_or_sets_that_do_not_fit_are_refused(table, order, chosen):
    climb = _climb(_steps(BicNV(table), None))
    with pytest.raises(ValueError, match=r"must|wrong shape"):
        climb.put(np.array(order), None if chosen is None else np.array(chosen))


def test_an_order_that_was_not_repaired_is_told(table, rng):
    climb, over = _climb(_steps(BicNV(table), None)), Deadline()
    over.stop()
    climb.put(rng.permutation(D))
    climb.climb(rng.permutation(D), over)
    assert not climb.repaired
    assert not climb.dag.any()  # the required edges alone
    climb.climb(rng.permutation(D))
    assert climb.repaired


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize(("kind", "level"), [(BicNV, None), (BicEV, 0.8)])
def test_shaking_loses_nothing_and_leaves_a_dag_along_the_order(kind, level, compiled, table, rng):
    before = np.zeros((D, D), dtype=bool)
    before[3, 0] = before[3, 1] = before[0, 1] = True
    climb, steps = _climb(_steps(kind(table), level, compiled), before), _steps(kind(table), level)
    climb.put(np.array([2, 3, 0, 4, 1, 5, 6]))
    climb.climb(rng.permutation(D))
    for _ in range(10):
        value = climb.value
        climb.shake(rng.random((5, DRAWS)), 0.0)
        assert climb.value >= value
        place = np.argsort(climb.order)
        assert place[3] < place[0] < place[1]
        assert sorted(climb.order) == list(range(D))
        assert all(place[i] < place[j] for i, j in np.argwhere(climb.dag))
    nodes = np.arange(D)
    parents = [np.flatnonzero(climb.dag[:, node]) for node in nodes]
    padded = np.array([[*some, *[-1] * (D - len(some))] for some in parents])
    values = steps.expand(nodes, padded, np.array([len(some) for some in parents]))[0]
    fresh = _climb(_steps(kind(table), level))
    fresh.stand(climb.order, climb.dag)
    assert fresh.value == pytest.approx(values.sum())
    if compiled:
        assert climb.value == pytest.approx(values.sum())


def test_shaking_reaches_the_best_order(table, rng):
    climb = _climb(_steps(BicNV(table), None))
    ends = []
    for _ in range(20):
        climb.put(rng.permutation(D))
        climb.climb(rng.permutation(D))
        ends.append(climb.value)
    climb.shake(rng.random((200, DRAWS)), 1e-6)
    assert climb.value >= max(ends) - 1e-4


@pytest.mark.parametrize("call", range(1, 40, 3))
def test_a_shaking_that_is_out_of_time_is_taken_back(call, table, rng):
    steps, calls = _steps(BicNV(table), None, compiled=False), None

    class Late:
        n_nodes = D

        def expand(self, nodes, parents, sizes):
            nonlocal calls
            calls = calls and calls - 1
            if calls == 0:
                raise OutOfTimeError
            return steps.expand(nodes, parents, sizes)

    climb = _climb(Late())
    climb.put(rng.permutation(D))
    climb.climb(rng.permutation(D))
    calls, value = call, climb.value
    climb.shake(rng.random((50, DRAWS)), 1e-6)
    place = np.argsort(climb.order)
    assert all(place[i] < place[j] for i, j in np.argwhere(climb.dag))
    assert climb.value >= value - 50e-6
    calls = None
    climb.climb(rng.permutation(D))
    assert climb.value >= value - 50e-6


@pytest.mark.parametrize("draws", [np.full((1, DRAWS), 1.0), np.full((1, DRAWS), np.nan), np.zeros((1, DRAWS - 1))])
def test_draws_that_are_no_shares_are_refused(draws, table):
    with pytest.raises(ValueError, match="draws"):
        _climb(_steps(BicNV(table), None)).shake(draws, 0.0)
