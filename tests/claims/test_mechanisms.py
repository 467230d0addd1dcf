"""Arrows of one mechanism are supported together or not at all."""

from drbo.claims.directions import EdgeDirection
from drbo.claims.mechanisms import one_verdict_each

NAMES, LAGS = ["a", "b", "a[-1]", "b[-1]", "a[-2]", "b[-2]"], [0, 0, 1, 1, 2, 2]


def _told(*arrows):
    return [
        EdgeDirection(cause, effect, kind, ground, False, "Why.", None, None) for cause, effect, kind, ground in arrows
    ]


def test_a_doubt_at_one_lag_is_one_at_all_of_them():
    told = _told(("a", "b", "open", ""), ("a[-1]", "b", "supported", "time"), ("b[-1]", "b", "supported", "time"))
    found = one_verdict_each(told, NAMES, LAGS)
    assert [(one.direction, one.ground) for one in found] == [("open", ""), ("assumed", ""), ("supported", "time")]
    assert found[1].sentence == "'a' also acts on 'b' at another lag ('a'), and that is not confirmed."


def test_what_was_stated_or_tried_stays():
    told = _told(("a[-1]", "b", "supported", "given"), ("a[-2]", "b", "assumed", ""))
    assert one_verdict_each(told, NAMES, LAGS)[0].direction == "supported"


def test_rows_without_time_have_no_mechanisms():
    told = _told(("a", "b", "supported", "class"), ("b", "a[-1]", "assumed", ""))
    assert one_verdict_each(told, ["a", "b", "a[-1]"], []) == tuple(told)


def test_the_past_of_a_column_without_a_present_counts_under_its_own_name():
    told = _told(("a[-1]", "b", "supported", "time"), ("a[-2]", "b", "assumed", ""))
    found = one_verdict_each(told, ["b", "a[-1]", "a[-2]"], [0, 1, 2])
    assert found[0].direction == "supported"
