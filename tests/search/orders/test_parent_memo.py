import numpy as np
import pytest

from drbo.data.table import Table
from drbo.knowledge import Constraints
from drbo.scores.linear import BicNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.gains import steps_of
from drbo.search.orders.parent_memo import DEAD, DROP, FORCED, UNKNOWN, ParentSets
from drbo.settings import Settings

D = 6


@pytest.fixture
def sets(rng):
    weights = np.triu(rng.normal(size=(D, D)), 1)
    table = Table.from_array(rng.normal(size=(150, D)) @ np.linalg.inv(np.eye(D) - weights))
    steps = steps_of(Evaluator(BicNV(table), Settings()), Constraints.none(D), None)
    return ParentSets(steps, np.zeros((D, D), dtype=bool))


def _additions(sets, index):
    entry = sets.pool.sets[index]
    return sets.pool.additions[entry["first_addition"] : entry["first_addition"] + entry["n_additions"]]


def test_additions_that_pay_are_listed_best_first(sets):
    for node in range(D):
        root = int(sets.pool.roots[node])
        gains = sets.expander.expand(np.array([node]), np.array([[-1]]), np.array([0])).additions[0]
        listed = _additions(sets, root)["node"].tolist()
        assert set(listed) == set(np.flatnonzero(gains > 1e-7).tolist())
        assert gains[listed].tolist() == sorted(gains[listed], reverse=True)


def test_a_step_leads_to_the_set_with_the_parent_and_back(sets):
    root = int(sets.pool.roots[D - 1])
    place = int(sets.pool.sets[root]["first_addition"])
    added = int(sets.pool.additions[place]["node"])
    sets.learn(np.array([[root, place]]))
    after = int(sets.pool.additions[place]["after"])
    assert sets.members(after) == [added]
    known = int(sets.pool.counts[0])
    sets.learn(np.array([[after, FORCED - added]]))  # leads to the root, which is known
    assert sets.pool.counts[0] == known


def test_sets_reached_on_two_ways_are_one_and_keep_while_the_pool_grows(sets, rng):
    dags = [np.triu(rng.random((D, D)) < 0.5, 1) for _ in range(200)]
    chosen = [sets.adopt(dag) for dag in dags]
    for dag, numbers in zip(dags, chosen, strict=True):
        assert (sets.adopt(dag) == numbers).all()
        assert all(sets.members(int(numbers[node])) == np.flatnonzero(dag[:, node]).tolist() for node in range(D))
    distinct = {(node, tuple(dag[:, node])) for dag in dags for node in range(D)}
    empty = {(node, (False,) * D) for node in range(D)}
    assert sets.pool.counts[0] == len(distinct | empty)
    assert sets.n_local == len(distinct | empty) * D


def test_following_the_steps_ends_where_none_pays(sets):
    """Greedy steps with everything open, written out with the expander."""
    for node in range(D):
        index, members = int(sets.pool.roots[node]), []
        while True:
            found = sets.expander.expand(np.array([node]), np.array([[*members, -1]]), np.array([len(members)]))
            best, drop = float(found.additions[0].max()), float(found.drop_gains[0]) if found.drops[0] >= 0 else 0.0
            if max(best, drop) <= 1e-7:
                break
            if drop >= best:
                members.remove(int(found.drops[0]))
                step = DROP
            else:
                members = sorted([*members, int(found.additions[0].argmax())])
                step = int(sets.pool.sets[index]["first_addition"])
            sets.learn(np.array([[index, step]]))
            index = int(sets.pool.sets[index]["after_drop"] if step == DROP else sets.pool.additions[step]["after"])
            assert sets.members(index) == members
        assert len(_additions(sets, index)) == 0
        assert sets.pool.sets[index]["after_drop"] in (DEAD, UNKNOWN)
