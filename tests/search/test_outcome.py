"""What a search reports."""

import numpy as np

from drbo.search.outcome import Evaluated


def _evaluated(scores):
    local = np.arange(2.0 * len(scores)).reshape(len(scores), 2)
    return Evaluated(np.zeros((len(scores), 2, 2), dtype=bool), local, np.array(scores))


def test_the_best_of_several_dags_is_the_first_with_the_highest_score():
    best = _evaluated([-3.0, -1.0, -1.0]).best()
    assert len(best) == 1
    assert best.scores.tolist() == [-1.0]
    assert best.local.tolist() == [[2.0, 3.0]]


def test_a_dag_is_saved_with_its_score_alone():
    state = _evaluated([-3.0]).capture()
    assert sorted(state) == ["dag", "score"]
    assert state["score"] == -3.0
    assert state["dag"].shape == (1, 2, 2)
