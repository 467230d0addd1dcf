"""The record of a difference between arms."""

import math

from drbo.claims.arm_effects import ArmEffect


def test_size_counts_half_widths():
    told = {"cause": "rx", "effect": "pain", "difference": -2.0}
    assert ArmEffect(**told, low=-3.0, high=-1.0).size == 2.0
    assert math.isinf(ArmEffect(**told, low=-2.0, high=-2.0).size)
    assert ArmEffect(cause="rx", effect="pain", difference=0.0, low=0.0, high=0.0).size == 0.0
