"""The score of any graph on a table; what judges and estimates effects is tested in modules of its own."""

import numpy as np
import pytest

from drbo import DrBO
from drbo.errors import DataError
from tests import rain


@pytest.mark.parametrize("score", ["bic-nv", "bge", "splines"])
def test_any_graph_is_scored_as_the_fit_did(score):
    frame = rain.frame()
    result = DrBO(score=score, random_state=0).fit(frame).result_
    assert result.score_of(result.dag, frame) == result.pruned_score
    assert result.score_of(result.searched_dag, frame) == result.score
    assert result.score_of(np.zeros((5, 5)), frame) < result.pruned_score
    turned = frame[frame.columns[::-1]].sample(frac=1, random_state=0)
    assert result.score_of(result.dag, turned) == result.pruned_score


def test_what_cannot_be_scored_is_refused():
    frame = rain.frame()
    result = DrBO(score="bic-nv", random_state=0).fit(frame).result_
    with pytest.raises(DataError, match="cycle"):
        result.score_of(np.ones((5, 5)) - np.eye(5), frame)
    with pytest.raises(DataError, match="no column 'wet'"):
        result.score_of(result.dag, frame.drop(columns="wet"))
