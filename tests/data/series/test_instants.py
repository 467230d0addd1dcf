"""Times are read from numbers and dates of common formats; what is no time is named by its row."""

import numpy as np
import pandas as pd
import pytest

from drbo.data.series.instants import read_instants

DAYS = pd.date_range("2021-03-28", periods=6)


@pytest.mark.parametrize(
    "pattern", ["%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y", "%d.%m.%y", "%b %d, %Y", "%d %B %Y", "%Y%m%d", "%Y/%m/%d %H:%M"]
)
def test_common_formats_are_read(pattern):
    ways, problems = read_instants("t", pd.Series(DAYS.strftime(pattern)))
    assert problems == []
    seconds = (DAYS - pd.Timestamp("1970-01-01")).total_seconds()
    assert any(way.are_dates and np.allclose(way.values, seconds) for way in ways)


@pytest.mark.parametrize(
    ("words", "days"),
    [
        (["2021Q1", "2021Q2", "2021-Q3"], ["2021-01-01", "2021-04-01", "2021-07-01"]),
        (["2021-W01", "2021-W02", "2021-W03"], ["2021-01-04", "2021-01-11", "2021-01-18"]),
        (["Jan 2021", "Feb 2021", "Mar 2021"], ["2021-01-01", "2021-02-01", "2021-03-01"]),
    ],
)
def test_quarters_weeks_and_months_are_read(words, days):
    ways, problems = read_instants("t", pd.Series(words))
    assert problems == []
    stamps = np.array(days, dtype="datetime64[s]").astype(float)
    assert any(np.array_equal(way.values, stamps) for way in ways)


def test_columns_of_dates_and_numbers_are_taken_as_they_are():
    for column in (pd.Series(DAYS), pd.Series(DAYS.tz_localize("UTC")), pd.Series(pd.period_range("2021", periods=3))):
        ways, problems = read_instants("t", column)
        assert ways[0].are_dates
        assert problems == []
    ways, _ = read_instants("t", pd.Series([0.5, 1.0, 1.5]))
    assert not ways[0].are_dates
    assert read_instants("t", pd.Series(["3", "4", "5"]))[0][0].values.tolist() == [3, 4, 5]


def test_whole_numbers_may_be_days():
    ways, _ = read_instants("t", pd.Series([20210331, 20210401]))
    assert [way.are_dates for way in ways] == [True, False]
    assert float(np.diff(ways[0].values)[0]) == 86400


def test_rows_without_a_time_are_named():
    _, problems = read_instants("t", pd.Series(["2021-01-01", "2021-02-30", "2021-01-03", ""]))
    assert problems == ["column 't' has no time in 2 of 4 rows: row 1 ('2021-02-30'), row 3 ('')"]
    assert "only true and false" in read_instants("t", pd.Series([True, False]))[1][0]


def test_mixed_time_zones_are_refused():
    _, problems = read_instants("t", pd.Series(["2021-01-01T00:00Z", "2021-01-02T00:00"]))
    assert problems == ["column 't' mixes time zones (Z, none), so the order and the distance of rows are not known"]
