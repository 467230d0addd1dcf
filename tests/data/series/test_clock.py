"""All that is wrong with times is said at once; what is right is a place on a grid for every row."""

import numpy as np
import pandas as pd
import pytest

from drbo.data.series.clock import split_time
from drbo.design import Design
from drbo.errors import DataError, SettingsError


def _frame(n=40):
    days = pd.date_range("2021-01-01", periods=n).strftime("%Y-%m-%d")
    return pd.DataFrame({"t": days, "x": np.arange(n, dtype=float)})


def test_columns_of_time_and_unit_are_no_variables():
    frame = _frame().assign(who=np.repeat(["b", "a"], 20))
    rest, clock = split_time(frame, Design(time="t", unit="who"))
    assert list(rest) == ["x"]
    assert clock.labels == ("a", "b")
    assert clock.units.tolist() == [1] * 20 + [0] * 20
    assert clock.max_lag == 4


def test_without_a_column_of_times_rows_are_in_their_order():
    _, clock = split_time(_frame()[["x"]], Design(max_lag=2))
    assert clock.ticks.tolist() == list(range(40))
    assert clock.notes == ("series: rows follow each other without gaps; 2 lags",)


def test_gaps_are_counted():
    _, clock = split_time(_frame().drop(index=[3, 10, 11]), Design(time="t", max_lag=1))
    assert clock.notes == ("series: a row every 1 day, with 2 gaps (3 steps are missing); 1 lag",)


def test_all_problems_are_said_at_once():
    frame = _frame()
    frame.loc[5, "t"], frame.loc[30, "t"] = frame.loc[4, "t"], "1999-01-01"
    with pytest.raises(DataError) as caught:
        split_time(frame, Design(time="t", max_lag=2, season=30))
    for words in ("first rows 4 and 5", "row 30 is earlier", "a season of 30 steps is longer than half"):
        assert words in caught.value.message


def test_short_units_are_named():
    frame = _frame().assign(who=["a"] * 38 + ["b"] * 2)
    with pytest.raises(DataError, match=r"3 lags need at least 4 rows of every who, but 'b' \(2\) have fewer"):
        split_time(frame, Design(time="t", unit="who", max_lag=3))


def test_irregular_and_ambiguous_times_are_refused_with_a_way_out():
    frame = _frame().assign(t=np.random.default_rng(0).exponential(size=40).cumsum())
    with pytest.raises(DataError, match="irregular") as caught:
        split_time(frame, Design(time="t"))
    assert "resample" in caught.value.hint
    frame = _frame(12).assign(t=[f"{k:02d}/{k:02d}/2021".replace(f"{k:02d}/", "01/", 1) for k in range(1, 13)])
    with pytest.raises(DataError, match="can be read in several ways"):
        split_time(frame, Design(time="t", max_lag=1))
    with pytest.raises(DataError, match="the same time in every row"):
        split_time(_frame(2).assign(t=1.0, u=["a", "b"]).iloc[[0, 1, 1]].assign(t=[1, 1, 1], u=["a", "b", "c"]),
                   Design(time="t", unit="u", max_lag=1))  # fmt: skip


def test_unknown_columns_are_refused():
    with pytest.raises(SettingsError, match="there is no column 'when' with times"):
        split_time(_frame(), Design(time="when"))


def test_short_panels_are_warned_of_their_bias():
    frame = pd.DataFrame({"t": np.tile(np.arange(8), 5), "u": np.repeat(np.arange(5), 8), "x": 0.0})
    _, clock = split_time(frame, Design(time="t", unit="u"))
    assert any("Nickell" in note for note in clock.notes)
