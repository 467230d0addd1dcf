import numpy as np
import pytest

from drbo import DrBO, Knowledge
from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError, TimeLimitError
from drbo.graph.mag import Mag
from drbo.graph.pag import pag_of
from drbo.result.identified_effects import identified_effects, resampled_identified_effects
from tests.hidden import confounded_table, hidden_model

#: 0 -> 2 <- 1, 2 -> 3
Y = Mag.of([[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])


def test_what_the_class_identifies_is_estimated_and_what_it_does_not_has_a_reason():
    found = hidden_model().result_.effects(confounded_table())
    told = {(one.source, one.target): one for one in found.effects}
    assert set(told) == {("a", "b"), ("b", "e"), ("a", "e"), ("d", "c")}
    assert told["b", "e"].total == pytest.approx(1.0, abs=0.05)
    assert told["b", "e"].low < 1 < told["b", "e"].high
    assert told["b", "e"].adjust_for == ()
    assert not told["a", "b"].identified
    assert "'a' causes 'b'" in told["a", "b"].reason
    assert "conditional on this graph" in found.basis
    assert found.table()["total"].isna().sum() == 3
    assert found.to_dict()["effects"][0]["identified"] in (True, False)
    assert "not identified by adjustment, because" in found.summary()


def test_one_pair_can_have_no_effect_in_any_graph():
    found = hidden_model().result_.effects(confounded_table().iloc[:500], "c", "b")
    assert [one.total for one in found.effects] == [0.0]
    assert "no effect in any graph" in found.summary()
    assert found.basis == "held-out rows"
    with pytest.raises(DataError, match="there is no variable 'z'"):
        hidden_model().result_.effects(confounded_table(), "z", "b")


def test_knowledge_identifies_more():
    known = Knowledge(tiers=[["a", "d"], ["b", "c", "e"]], required=["a -> b"])
    result = DrBO(hidden=True, random_state=0, knowledge=known).fit(confounded_table()).result_
    one = result.effects(confounded_table(), "a", "b").effects[0]
    assert "not visible" in one.reason  # a cause, but perhaps not the only link


def test_an_effect_that_needs_assumed_marks_says_so(rng):
    x = rng.normal(size=(400, 4))
    x[:, 3] += 2 * x[:, 2]
    pag, table = pag_of(Y), Statistics.from_array(x)
    for supported, sure in ((pag, True), (np.where(pag > 0, 1, 0).astype(np.int8), False)):
        one = identified_effects(pag, Y, table, basis="", pairs=[("x2", "x3")], supported=supported).effects[0]
        assert one.supported is sure
    assert "assumed marks" in identified_effects(pag, Y, table, basis="", supported=supported).summary()


def test_resamples_tell_how_often_an_effect_is_identified():
    found = hidden_model().effects(confounded_table(), "b", "e", n=4)
    one = found.effects[0]
    assert 0 < one.share_identified <= 1
    assert one.total == pytest.approx(1.0, abs=0.1)
    assert "identify the effect" in found.summary()
    none = hidden_model().effects(confounded_table(), "a", "b", n=2)
    assert none.effects[0].share_identified == 0
    assert "no resample identifies it" in none.summary()


def test_without_time_no_resample_is_finished():
    def refit(rows, seed):
        raise AssertionError

    from drbo.deadline import Deadline

    table = Statistics.from_array(np.random.default_rng(0).normal(size=(20, 2)))
    with Deadline(0.0), pytest.raises(TimeLimitError, match="no resample was finished"):
        resampled_identified_effects(refit, table, ("x0", "x1"), n=2, seed=0)


def test_a_long_list_is_cut(rng):
    complete = Mag.of(np.triu(np.ones((4, 4)), 1))
    found = identified_effects(
        pag_of(complete), complete, Statistics.from_array(rng.normal(size=(50, 4))), basis="new rows"
    )
    assert len(found.effects) == 12
    assert "7 more effects are not identified" in found.summary()
    empty = Mag.of(np.zeros((2, 2)))
    none = identified_effects(pag_of(empty), empty, Statistics.from_array(rng.normal(size=(50, 2))), basis="new rows")
    assert "no variable can have an effect" in none.summary()
