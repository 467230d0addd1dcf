"""Differences between arms in words: numbers with the decimals that their interval supports."""

import pytest

from drbo.claims.arm_effects import Arm, ArmEffect
from drbo.result.words import arm_words


@pytest.mark.parametrize(
    ("low", "high", "share", "wanted"),
    [
        (-0.1312, -0.0229, True, "-7.7"),
        (-30.0, 20.0, False, "-0"),
        (-0.00012, 0.0, False, "-0.077000"),
        (0.0, 0.0, False, "-0.08"),
    ],
)
def test_numbers_have_the_decimals_that_an_interval_supports(low, high, share, wanted):
    assert arm_words.amounts([-0.077], low, high, share=share) == [
        wanted.replace("-0", "0") if wanted == "-0" else wanted
    ]


def test_a_dose_and_arms_have_words():
    told = {"cause": "rx", "effect": "pain", "difference": 1.0, "low": -1.0, "high": 3.0}
    assert arm_words.side_words(ArmEffect(**told)) == ["one unit more of rx", ""]
    sides = [Arm(label=label, rows=50, value=value, low=0.1, high=0.3) for label, value in (("a", 0.2), ("b", 0.25))]
    one = ArmEffect(**told, level="yes", arm=sides[0], reference=sides[1], adjusted=0.5)
    assert arm_words.side_words(one) == ["20% with a", "25% with b"]
    assert arm_words.adjusted_words(one) == ""  # an estimate without an interval is not shown


def test_many_comparisons_are_said_to_be_many():
    one = ArmEffect(cause="rx", effect="pain", difference=1.0, low=-1.0, high=3.0)
    assert arm_words.chance_words([one]) == ""
    assert "of 40 comparisons, chance alone makes about 2 look clear" in arm_words.chance_words([one] * 40)
