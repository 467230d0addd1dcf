"""The answer of a fit: what may still change the graph after the search."""

import numpy as np
import pytest

from drbo import DrBO
from drbo.claims.answer import stages
from drbo.deadline import OutOfTimeError
from tests import rain


def _late(*_, **__):
    raise OutOfTimeError


def test_the_order_of_the_stages():
    assert [stage.__name__ for stage in stages.STAGES] == ["pruned", "drawn", "targeted", "ancestral"]


def test_pruning_that_has_no_time_is_left_out(monkeypatch):
    monkeypatch.setattr(stages, "prune", _late)
    result = DrBO(score="bic-ev", random_state=0).fit(rain.frame()).result_
    assert result.pruner == "none"
    assert stages.NO_PRUNING in result.reasons
    assert (result.dag == result.searched_dag).all()


def test_a_member_that_could_not_be_checked_in_time_is_not_drawn(monkeypatch):
    before = DrBO(score="bic-nv", random_state=0).fit(rain.frame()).result_
    monkeypatch.setattr(stages, "agreeing_member", _late)
    result = DrBO(score="bic-nv", random_state=0).fit(rain.frame()).result_
    assert (result.cpdag == before.cpdag).all()
    assert result.score == pytest.approx(before.score)


def test_with_hidden_causes_nothing_is_drawn_anew(monkeypatch):
    monkeypatch.setattr(stages, "agreeing_member", lambda *_: pytest.fail("a member was drawn"))
    found = DrBO(score="bic-nv", hidden=True, random_state=0).fit(rain.frame()).result_
    assert np.array_equal(found.dag, found.searched_dag)
