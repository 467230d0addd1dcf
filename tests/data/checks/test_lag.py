"""Lagged tables: values from the right rows, no series runs into another, and the order is that of time."""

import numpy as np
import pandas as pd
import pytest

from drbo.data.checks.lag import lagged
from drbo.errors import DataError, SettingsError


def test_every_cell_comes_from_the_row_before():
    frame = pd.DataFrame({"x": np.arange(6) ** 2, "g": list("abacab"), "b": [True, False] * 3})
    table, tiers, notes = lagged(frame, lags=2)
    assert list(table) == ["x_lag2", "g_lag2", "b_lag2", "x_lag1", "g_lag1", "b_lag1", "x", "g", "b"]
    assert tiers == [["x_lag2", "g_lag2", "b_lag2"], ["x_lag1", "g_lag1", "b_lag1"], ["x", "g", "b"]]
    assert notes == ()
    for k in range(4):
        row = table.iloc[k]
        assert (row["x"], row["x_lag1"], row["x_lag2"]) == ((k + 2) ** 2, (k + 1) ** 2, k**2)
        assert row["g_lag2"] == frame["g"][k]
    assert table["b_lag1"].dtype == bool
    assert table["x_lag1"].dtype == frame["x"].dtype


def test_series_do_not_run_into_each_other():
    frame = pd.DataFrame({"who": [1, 1, 1, 2, 2, 2], "x": [1.0, 2.0, 3.0, 10.0, 20.0, 30.0]})
    table, tiers, _ = lagged(frame, lags=1, group="who")
    assert table.to_dict("list") == {"x_lag1": [1.0, 2.0, 10.0, 20.0], "x": [2.0, 3.0, 20.0, 30.0]}
    assert tiers == [["x_lag1"], ["x"]]


@pytest.mark.parametrize("when", [[3, 1, 2, 4], ["2024-01-03", "2024-01-01", "2024-01-02", "2024-01-04"]])
def test_rows_are_sorted_by_time(when):
    frame = pd.DataFrame({"t": when, "x": [30.0, 10.0, 20.0, 40.0]})
    table, _, notes = lagged(frame, lags=1, time="t")
    assert table["x"].tolist() == [20.0, 30.0, 40.0]
    assert table["x_lag1"].tolist() == [10.0, 20.0, 30.0]
    assert len(notes) == 1


def test_gaps_are_told_and_end_the_past():
    frame = pd.DataFrame({"t": [1, 2, 3, 5, 6, 7], "x": [1.0, 2.0, 3.0, 5.0, 6.0, 7.0]})
    table, _, notes = lagged(frame, lags=1, time="t")
    assert table["x"].tolist() == [2.0, 3.0, 6.0, 7.0]
    assert "with 1 gap" in notes[0]


def test_what_cannot_be_lagged_is_refused():
    frame = pd.DataFrame({"t": [1, 2, 3, 4], "x": [1.0, 2.0, 3.0, 4.0], "x_lag1": 1.0})
    with pytest.raises(SettingsError, match="lags must be a whole number"):
        lagged(frame, lags=0)
    with pytest.raises(SettingsError, match="no column 'day' with times"):
        lagged(frame, lags=1, time="day")
    with pytest.raises(DataError, match="'x_lag1' is used more than once"):
        lagged(frame, lags=1)
    with pytest.raises(DataError, match="only 1 rows have 3 earlier rows"):
        lagged(frame[["x"]], lags=3)
    with pytest.raises(DataError, match=r"'t' has no time in 1 of 4 rows: row 1 \('soon'"):
        lagged(frame[["x"]].assign(t=["2024-01-01", "soon", "2024-01-02", "2024-01-03"]), lags=1, time="t")
    with pytest.raises(DataError, match="has a time that another row of the same table has, first rows 0 and 3"):
        lagged(frame[["x"]].assign(t=[3, 1, 2, 3]), lags=1, time="t")


def test_the_caller_keeps_his_table():
    frame = pd.DataFrame({"t": [3, 1, 2, 4], "x": [30.0, 10.0, 20.0, 40.0]})
    before = frame.copy()
    lagged(frame, lags=1, time="t")
    pd.testing.assert_frame_equal(frame, before)
