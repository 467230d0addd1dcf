import numpy as np

from drbo.claims.record import AncestralRecord
from drbo.result.hidden import HiddenResult
from drbo.result.words.summary import CUT_SHORT, SHOWN_EDGES
from tests.hidden import hidden_model
from tests.results import make_result


def test_the_summary_lists_edges_and_explains_the_signs_that_it_uses():
    text = hidden_model().result_.summary()
    assert "PAG: 4 edges; marks: 4 supported, 0 assumed, 0 open" in text
    assert "b <-> c  supported: tests agree\n" in text
    assert "b --> e  supported: tests agree (visible)" in text
    assert "<->          neither causes the other; something not in the table is involved" in text
    assert "o-o" not in text


def test_a_long_list_is_cut_and_a_climb_out_of_time_is_told():
    d = SHOWN_EDGES + 2
    record = AncestralRecord(
        directed=np.eye(d, k=1, dtype=bool),
        bidirected=np.zeros((d, d), dtype=bool),
        gain=0.0,
        second=np.zeros((d, d), dtype=np.int8),
        whole=False,
    )
    text = HiddenResult.of(make_result(np.zeros((d, d), dtype=bool)), record).summary()
    assert "... and 1 more" in text
    assert CUT_SHORT in text
    assert "the data do not tell" in text
