"""Searches of a counted score: their moves stay acyclic, their costs are counted, and they find an easy optimum."""

from contextlib import suppress

import numpy as np
import pytest

from benchmarks.methods.score_searches import SEARCHES, Counted, Spent, best_parents, moved, neighbours
from drbo.graph.dag import is_acyclic


def counted(budget):
    """Return a score of three columns whose best graph has 0 as the only parent of the others."""
    return Counted(lambda node, parents: -abs(len(parents) - (node > 0)) - 0.1 * sum(parents), 3, budget)


def test_costs_are_distinct_families():
    score = Counted(lambda node, parents: float(len(parents)), 3, budget=4)
    empty = np.zeros((3, 3), dtype=bool)
    assert score.of(empty) == score.of(empty) == 0
    one = empty.copy()
    one[0, 1] = True
    assert score.of(one) == 1
    assert (score.best_at(3), score.best_at(4)) == (0, 1)
    one[0, 2] = True
    with pytest.raises(Spent):
        score.of(one)


def test_moves_stay_acyclic_and_differ(rng):
    dag = np.triu(np.ones((4, 4), dtype=bool), 1)
    near = list(neighbours(dag))
    assert len(near) == 6 + 3  # removals, and reversals of edges without a detour
    for other in [*near, *(moved(dag, rng) for _ in range(20))]:
        assert is_acyclic(other)
        assert (other != dag).any()


@pytest.mark.parametrize("name", [name for name in SEARCHES if name != "random"])
def test_searches_find_an_easy_optimum(name):
    if name.startswith("TPE"):
        pytest.importorskip("optuna")
    score = counted(12)
    with suppress(Spent):
        SEARCHES[name](score, np.random.default_rng(0))
    assert score.best_at(12) == pytest.approx(0.0)


def test_parents_come_from_the_columns_before():
    score = counted(12)
    assert np.argwhere(best_parents(score, [0, 2, 1])).tolist() == [[0, 1], [0, 2]]
    assert np.argwhere(best_parents(score, [2, 1, 0])).tolist() == [[2, 1]]
    assert score.best_at(12) == 0.0
