"""Fields with a declared range."""

from dataclasses import dataclass

import pytest

from drbo.checked import Checked, setting, setting_fields
from drbo.errors import SettingsError


@dataclass(frozen=True)
class Oven(Checked):
    degrees: int = setting(180, "temperature of the oven", low=50, high=250)
    minutes: float | None = setting(None, "time in the oven", low=0.0, optional=True)
    heat: str = setting("top", "where the heat comes from", options=("top", "bottom"))
    colour: str = "white"  # not a setting


def test_values_at_the_limits_and_none_where_it_is_allowed():
    assert Oven(degrees=50, minutes=0.0, heat="bottom") != Oven(degrees=250, minutes=None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"degrees": 251}, "degrees must be in [50, 250], got 251"),
        ({"degrees": None}, "degrees must be a whole number in [50, 250], got None"),
        ({"minutes": -0.5}, "minutes must be at least 0, got -0.5"),
        ({"heat": "left"}, "heat must be one of top, bottom, got 'left'"),
    ],
    ids=["above", "none", "below", "option"],
)
def test_a_value_out_of_range_is_named_with_the_range(changes, message):
    with pytest.raises(SettingsError) as caught:
        Oven(**changes)
    assert caught.value.message == message


def test_the_hint_is_the_meaning_and_the_default():
    with pytest.raises(SettingsError) as caught:
        Oven(degrees=0)
    assert caught.value.hint == "temperature of the oven; default 180"


def test_only_declared_settings_are_settings():
    assert [one.name for one in setting_fields(Oven)] == ["degrees", "minutes", "heat"]
