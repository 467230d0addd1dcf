"""Probabilities under intervention against sums by hand and against the truth of a simulation."""

import numpy as np
import pandas as pd
import pytest

from drbo import Knowledge
from drbo.constraints import Constraints
from drbo.data.checks.check import check_table
from drbo.errors import DataError
from drbo.result.effects import HELD_OUT
from drbo.result.interventions import probabilities
from drbo.result.mixture import Doubt

#: age -> smoker, age -> ill, smoker -> ill
CONFOUNDED = np.array([[0, 1, 1], [0, 0, 0], [0, 1, 0]], dtype=bool)  # age, ill, smoker


@pytest.fixture
def frame(rng):
    old = rng.random(3000) < 0.5
    smoker = rng.random(3000) < np.where(old, 0.8, 0.2)
    ill = rng.random(3000) < 0.1 + 0.3 * smoker + 0.4 * old
    words = {
        "age": np.where(old, "old", "young"),
        "ill": np.where(ill, "yes", "no"),
        "smoker": np.where(smoker, "yes", "no"),
    }
    return pd.DataFrame(words)


def test_the_back_door_formula_by_hand_and_the_truth(frame):
    found = probabilities(CONFOUNDED, check_table(frame)[0], "smoker", "no", "ill", basis="held-out rows")
    by_hand = sum(
        (frame.age == age).mean() * ((frame.age == age) & (frame.smoker == "no") & (frame.ill == "yes")).sum()
        / ((frame.age == age) & (frame.smoker == "no")).sum()
        for age in ("old", "young")
    )  # fmt: skip
    ill = found.levels.index("yes")
    assert found.values[0][ill] == pytest.approx(by_hand)
    assert found.low[ill] < 0.3 < found.high[ill]  # 0.1 + 0.4 / 2
    seen = (frame.ill[frame.smoker == "no"] == "yes").mean()
    assert found.values[0][ill] > seen + 0.05  # those who do not smoke are young
    assert found.adjust_for == (("age",),)
    assert sum(found.values[0]) == pytest.approx(1)


def test_without_a_path_nothing_changes(frame):
    found = probabilities(CONFOUNDED, check_table(frame)[0], "ill", "yes", "age", basis="held-out rows")
    assert found.adjust_for == (None,)
    assert found.values[0] == pytest.approx(found.observed)


def test_assumed_arrows_are_tried_both_ways(frame):
    assumed = np.zeros((3, 3), dtype=bool)
    assumed[0, 2] = True  # age -> smoker
    found = probabilities(CONFOUNDED, check_table(frame)[0], "smoker", "no", "ill", basis="", assumed=assumed)
    assert set(found.adjust_for) == {("age",), ()}
    assert "undecided" in found.summary()


def test_rows_without_a_counterpart_are_left_out_and_counted():
    frame = pd.DataFrame({"age": list("ooyyyy"), "ill": list("nyynny"), "smoker": list("yynyny")})
    found = probabilities(CONFOUNDED, check_table(frame)[0], "smoker", "n", "ill", basis="rows")
    assert found.overlap == pytest.approx(4 / 6)
    assert "only 67% of the rows" in found.summary()


@pytest.mark.parametrize(
    ("source", "level", "target", "words"),
    [
        ("smoker", "maybe", "ill", "column 'smoker' has no level 'maybe'"),
        ("cost", "1", "ill", "there is no variable 'cost'"),
        ("dose", "1", "ill", "column 'dose' is numeric"),
        ("smoker", "no", "dose", "column 'dose' is numeric"),
        ("smoker", "no", "ill", "must be adjusted for 'dose', which is numeric"),
    ],
)
def test_what_cannot_be_computed_is_refused_in_words(frame, rng, source, level, target, words):
    frame = frame.drop(columns="age").assign(dose=rng.normal(size=len(frame)))[["dose", "ill", "smoker"]]
    with pytest.raises(DataError, match=words):
        probabilities(CONFOUNDED, check_table(frame)[0], source, level, target, basis="")


def test_a_randomised_cause_and_one_that_may_be_linked_have_no_tight_interval(rng):
    arm = np.repeat(["drug", "placebo"], 150)
    ill = np.where(rng.random(300) < np.where(arm == "drug", 0.09, 0.17), "yes", "no")
    table, none = check_table(pd.DataFrame({"arm": arm, "ill": ill}))[0], np.zeros((2, 2), dtype=bool)
    limits = Constraints.of(Knowledge(roots=["arm"]), ["arm", "ill"])

    def found(doubt):
        return probabilities(none, table, "arm", "drug", "ill", basis=HELD_OUT, doubt=doubt)

    share = float((ill[arm == "drug"] == "yes").mean())
    trial, unsure, tight = found(Doubt(limits, randomised=("arm",))), found(Doubt(limits)), found(None)
    assert trial.values[0][1] == pytest.approx(share)
    assert trial.probability is None
    assert unsure.values == tight.values
    assert 0 < unsure.probability < 1
    assert unsure.high[1] - unsure.low[1] > tight.high[1] - tight.low[1]
    assert unsure.low[1] <= share
    assert "one is there with probability" in unsure.summary()
