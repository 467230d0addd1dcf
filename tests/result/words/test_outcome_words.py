"""What is said of likely causes: how they stand to the outcome, how large they are, and what would settle them."""

import numpy as np

from drbo import Knowledge
from drbo.claims.arm_effects import ArmEffect
from drbo.claims.record import Claims
from drbo.result.records import OutcomeRecord, Scoring, SearchRecord, Size, TableRecord
from drbo.result.result import Result
from drbo.result.words.outcome_words import about_outcome, answer_about

NAMES = ("a", "b", "c", "d", "y", "z")


def result_of(edges, **fields):
    dag = np.zeros((6, 6), dtype=bool)
    for one, two in edges:
        dag[NAMES.index(one), NAMES.index(two)] = True
    search = SearchRecord(dag=dag, score=0.0)
    return Result(
        names=NAMES, dag=dag, pruned_score=0.0, search=search, scoring=Scoring(name="bic-nv", equivalent=True), **fields
    )


def sized(name, *total, low=-1.0, high=1.0, **fields):
    return Size(cause=name, total=total, low=low, high=high, **fields)


def test_columns_stand_to_the_outcome_by_their_surest_way():
    known = Knowledge(required=["a -> b", "b -> y", "y -> z"])
    result = result_of([("a", "b"), ("b", "y"), ("y", "z"), ("c", "d")], knowledge=known)
    answer = answer_about(result, OutcomeRecord(column="y", basis=""))
    assert [(one.name, one.standing, one.through) for one in answer.causes] == [
        ("b", "supported", ()),
        ("a", "supported", ("b",)),
    ]
    assert [one.name for one in answer.effects] == ["z"]
    assert [one.name for one in answer.unlinked] == ["c", "d"]
    assert "by what you stated" in about_outcome(result, OutcomeRecord(column="y", basis=""))


def test_an_open_link_cannot_be_said_and_names_the_question():
    result = result_of([("a", "y"), ("y", "z")])  # a class: a - y - z
    record = OutcomeRecord(column="y", basis="", sizes=(sized("a", 0.5, 0.0), sized("z", 0.0, 2.0)))
    answer = answer_about(result, record)
    assert answer.causes == ()
    assert [one.name for one in answer.unclear] == ["z", "a"]  # the larger effect first
    text = about_outcome(result, record)
    assert "tell which of a and y comes first, or change one of them in an experiment" in text
    assert "1 more: 0.5 or 0.0 (-1.0 to 1.0)" in text
    assert "Meek" not in text
    assert "compelled" not in text


def test_an_assumed_arrow_that_leads_away_is_not_called_open():
    result = result_of([("y", "z"), ("a", "z")])  # the class directs both, but no resample confirms it
    text = about_outcome(result, OutcomeRecord(column="y", basis="", sizes=(sized("z", 0.0, 2.0),)))
    assert "z (the best guess is the reverse)\n      1 more: 0.0 or 2.0" in text


def test_a_randomised_column_is_first_told_by_its_arms():
    arms = (ArmEffect(cause="a", effect="y", difference=2.0, low=1.0, high=3.0),)
    result = result_of([], table=TableRecord(randomised=("a",), outcome="y"), claims=Claims(arms=arms))
    record = OutcomeRecord(
        column="y", basis="", sizes=(sized("b", 0.0, low=-0.4, high=0.2), sized("c", 0.0, low=0, high=0))
    )
    text = about_outcome(result, record)
    assert "a (randomised)\n      one unit more: 2.0 (1.0 to 3.0)\n      to be sure: nothing: chance decided it" in text
    assert "No sign of an effect on y: b (-0.40 to 0.20), c, d, z" in text


def test_shares_and_many_values_are_points_and_ranges():
    result = result_of([("a", "y")], knowledge=Knowledge(required=["a -> y"]))
    sizes = (sized("a", 0.1, 0.2, 0.3, low=0.0, high=0.4, level="yes", contrast="drug instead of placebo"),)
    text = about_outcome(result, OutcomeRecord(column="y", basis="", sizes=sizes))
    assert text.startswith("Outcome y = yes: 1 likely cause, no unclear links")
    assert "drug instead of placebo: 10 to 30 points (0 to 40)" in text
    unknown = about_outcome(
        result, OutcomeRecord(column="y", basis="", sizes=(Size(cause="a"),), left_out="time ran out")
    )
    assert "size not known" in unknown
    assert "Note: time ran out" in unknown


def test_no_share_changes_by_more_than_all_of_it():
    sizes = tuple(sized(name, 0.9, low=-1.02, high=1.3, level="yes", contrast="b instead of a") for name in ("a", "c"))
    text = about_outcome(result_of([("a", "y")]), OutcomeRecord(column="y", basis="", sizes=sizes))
    assert text.count("(-100 to 100") == 2
    assert "102" not in text
