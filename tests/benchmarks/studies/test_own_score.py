"""Plain searches beside drbo: their moves stay acyclic, their costs are counted, and they find an easy optimum."""

import numpy as np
import pytest

from benchmarks.studies.own_score import RIVALS, Counted, Spent, moved, neighbours, run
from drbo.graph import is_acyclic


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


@pytest.mark.parametrize("name", [name for name in RIVALS if name != "random"])
def test_rivals_find_an_easy_optimum(name):
    score = Counted(lambda node, parents: -abs(len(parents) - (node > 0)) - 0.1 * sum(parents), 3, budget=12)
    with pytest.raises(Spent):
        RIVALS[name](score, np.random.default_rng(0))
    assert score.best_at(12) == pytest.approx(0.0)  # 0 is the only parent of the others


def test_every_search_has_a_row():
    rows = list(run(nodes=(3,), rows=40, seeds=range(1)))
    assert [row["search"] for row in rows] == ["drbo", *RIVALS]
    assert min(row["behind_60"] for row in rows) == 0
