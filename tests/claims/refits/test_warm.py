import numpy as np
import pytest

from drbo.claims.refits.warm import searched, warm_search, warm_searches
from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline, OutOfTimeError
from drbo.scores.linear import BicNV
from drbo.search.orders.ascent import Ascent
from drbo.search.orders.climb import OrderClimb
from drbo.search.orders.search import OrderSearch
from drbo.settings import Settings


@pytest.fixture(scope="module")
def score():
    return BicNV(Statistics.from_array(simulate("10ER2", n=300, seed=1).X))


def test_a_warm_search_reaches_what_a_cold_one_finds(score):
    best = OrderSearch(score, Settings(), seed=0).run().best
    again = searched(warm_search(score, Settings(), Constraints.none(10), best.dags[0], 5))
    assert again.best.scores[0] == pytest.approx(best.scores[0])
    assert len(again.ends) == 1


def test_further_searches_begin_from_unrelated_orders(score):
    worst = np.triu(np.ones((10, 10), dtype=bool), 1)
    found = searched(warm_search(score, Settings(), Constraints.none(10), worst, 5, searches=2))
    assert len(found.ends) == 2


def test_what_was_cut_short_does_not_count(score):
    with Deadline(0.0), pytest.raises(OutOfTimeError):
        searched(warm_search(score, Settings(), Constraints.none(10), np.zeros((10, 10), dtype=bool), 0))


def test_an_interrupt_is_passed_on(score, monkeypatch):
    search = warm_search(score, Settings(), Constraints.none(10), np.zeros((10, 10), dtype=bool), 0)
    rounds = iter(range(3))

    def told(callbacks):
        if next(rounds) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(search, "_told", told)
    with pytest.raises(KeyboardInterrupt):
        searched(search)


@pytest.mark.parametrize(("d", "n", "count"), [(30, 5000, 2), (31, 5000, 1), (31, 400, 2)])
def test_only_large_tables_are_searched_from_one_order(d, n, count):
    assert warm_searches(d, n) == count


def test_a_second_search_that_reached_as_much_lists_no_parent_sets_again(score, monkeypatch):
    listed, combine = [], Ascent.combine
    monkeypatch.setattr(Ascent, "combine", lambda self, climb: listed.append(self) or combine(self, climb))
    start = OrderSearch(score, Settings(), seed=0).run().best.dags[0]
    cold = len(listed)
    found = searched(warm_search(score, Settings(), Constraints.none(10), start, 5, searches=2))
    assert len(found.ends) == 2
    assert len(listed) - cold == 1 < cold


def test_a_brief_search_shakes_each_node_once_and_lists_no_parent_sets(score, monkeypatch):
    counts, shake = [], OrderClimb.shake
    monkeypatch.setattr(
        OrderClimb, "shake", lambda self, draws, *rest: counts.append(len(draws)) or shake(self, draws, *rest)
    )
    monkeypatch.setattr(Ascent, "combine", lambda *_: pytest.fail("parent sets were listed"))
    start = OrderSearch(score, Settings(), seed=0, brief=True).run().best.dags[0]
    counts.clear()
    found = searched(warm_search(score, Settings(), Constraints.none(10), start, 5, brief=True))
    assert counts == [10]
    assert len(found.ends) == 1
