"""Scores of one's own: they are kept, and every search has a row."""

import numpy as np
import pytest

from benchmarks.studies import own_score
from benchmarks.studies.own_score import COSTS, MODELS, OURS, HeldOut, run


@pytest.fixture(autouse=True)
def memo(tmp_path, monkeypatch):
    monkeypatch.setattr(own_score, "MEMO", tmp_path)


@pytest.mark.parametrize("kind", MODELS)
def test_a_useful_parent_scores_higher_and_scores_are_kept(kind, rng, monkeypatch):
    x = rng.normal(size=(200, 3))
    x[:, 1] += np.abs(2 * x[:, 0])
    score = HeldOut(x, kind, "table")
    assert score(1, (0,)) > max(score(1, ()), score(1, (2,)), score(1, (0, 2)))
    assert score(1, ()) == pytest.approx(0.0)  # the log of the variance of a standardised column
    with score.path.open("a") as file:
        file.write("2 0 1")  # a process that was killed leaves half a line
    again = HeldOut(x, kind, "table")
    monkeypatch.delattr(HeldOut, "_computed")
    assert [again(1, ()), again(1, (0,))] == [score(1, ()), score(1, (0,))]
    assert len(again.known) == 4


def test_every_search_has_a_row():
    rows = list(run(nodes=(3,), rows=40, seeds=range(1), searches=(*OURS, "tabu", "random")))
    assert [row["search"] for row in rows] == [*OURS, "tabu", "random"]
    assert rows[0][f"best_{COSTS[-1]}"] == max(row[f"best_{COSTS[-1]}"] for row in rows)
