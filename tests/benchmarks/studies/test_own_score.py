"""Scores of one's own: every search has a row, and families that were asked for can be combined."""

import numpy as np
import pytest

from benchmarks.methods import held_out
from benchmarks.studies.own_score import COSTS, OURS, Known, run


@pytest.fixture(autouse=True)
def memo(tmp_path, monkeypatch):
    monkeypatch.setattr(held_out, "MEMO", tmp_path)


def test_every_search_has_a_row():
    rows = list(run(nodes=(3,), rows=40, seeds=range(1), searches=(*OURS, "tabu", "random")))
    assert [row["search"] for row in rows] == [*OURS, "tabu", "random"]
    assert rows[0][f"best_{COSTS[-1]}"] == max(row[f"best_{COSTS[-1]}"] for row in rows)


def test_a_search_that_is_stopped_has_the_best_graph_of_its_families(rng):
    known = Known(rng.normal(size=(20, 3)))
    known.asked = {(0,): 0.0, (1,): 0.0, (2,): 0.0, (1, 0): 2.0, (0, 1): 3.0, (2, 0, 1): 1.0}
    assert [known.best(cost) for cost in (2, 3, 4, 5, 6)] == [-np.inf, 0.0, 2.0, 3.0, 4.0]
