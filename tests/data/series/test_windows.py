"""Windows hold the right rows, break at gaps and between units, and lose lines, seasons and means exactly."""

import numpy as np
import pytest

from drbo.data.series.clock import Clock
from drbo.data.series.windows import windows
from drbo.data.statistics.statistics import Statistics
from drbo.design import DataPolicy, Design
from drbo.errors import DataError
from drbo.scores.linear import BicNV

RNG = np.random.default_rng(0)


def _clock(ticks, units=None, max_lag=1):
    units = np.zeros(len(ticks), dtype=np.intp) if units is None else np.asarray(units)
    return Clock(np.asarray(ticks), units, tuple(map(str, np.unique(units))), max_lag)


def test_every_cell_comes_from_its_lag_and_gaps_break_windows():
    ticks = np.array([0, 1, 2, 5, 6, 7, 8, 9])
    table = Statistics.from_array(np.column_stack([ticks, ticks**2 + 0.5]), ["a", "b"])
    found, notes = windows(table, _clock(ticks, max_lag=2), Design(max_lag=2), DataPolicy(on_collinear="keep"))
    assert found.names == ("a", "b", "a[-1]", "b[-1]", "a[-2]", "b[-2]")
    assert found.lags == (0, 0, 1, 1, 2, 2)
    assert found.values[:, 0].tolist() == [2, 7, 8, 9]
    assert (found.values[:, 0] - found.values[:, 4] == 2).all()
    assert found.values[:, 5].tolist() == [t**2 + 0.5 for t in (0, 5, 6, 7)]
    assert notes[0] == "4 of 8 rows have a whole window"


def test_units_do_not_run_into_each_other_and_lose_their_means():
    units = np.repeat([0, 1, 2], 8)
    values = RNG.normal(size=(24, 2)) + 10.0 * units[:, None]
    clock = _clock(np.tile(np.arange(8), 3), units)
    found, notes = windows(Statistics.from_array(values), clock, Design(time="t", unit="u", max_lag=1), DataPolicy())
    assert found.n_rows == 21
    assert found.weights is not None
    assert found.groups is not None
    assert found.weights.sum() == pytest.approx(18)
    sums = np.array([found.values[found.groups == k].sum(axis=0) for k in range(3)])
    assert np.allclose(sums, 0)
    assert "the means of 3 units were removed from every column; 21 windows are worth 18" in notes


def test_line_and_season_are_projected_out_as_a_regression_on_them():
    n, season = 60, 5
    time = np.arange(n)
    values = RNG.normal(size=(n, 2)) + 0.3 * time[:, None] + 4.0 * np.sin(2 * np.pi * time / season)[:, None]
    found, _ = windows(
        Statistics.from_array(values, ["a", "b"]), _clock(time), Design(max_lag=1, season=season, trend="line"),
        DataPolicy(),
    )  # fmt: skip
    dummies = (time[1:, None] % season == np.arange(season)).astype(float)
    basis = np.column_stack([time[1:], dummies])
    past, now = values[:-1], values[1:, 0]
    full = np.linalg.lstsq(np.column_stack([basis, past]), now, rcond=None)[0][-2:]
    short = np.linalg.lstsq(found.values[:, 2:], found.values[:, 0], rcond=None)[0]
    assert np.allclose(full, short)
    assert found.n_counted == pytest.approx(n - 1 - season)
    assert BicNV(found).n_nodes == 4


def test_missing_cells_break_windows_or_stay():
    values = RNG.normal(size=(20, 2))
    values[9, 0] = np.nan
    table, clock = Statistics.from_array(values), _clock(np.arange(20))
    dropped, notes = windows(table, clock, Design(max_lag=1), DataPolicy(missing="drop"))
    assert dropped.n_rows == 17
    assert notes[0].startswith('missing="drop": dropped 2 of 19 windows;')
    kept, _ = windows(table, clock, Design(max_lag=1), DataPolicy(missing="em"))
    assert kept.n_rows == 19
    assert kept.incomplete


def test_what_nothing_is_left_of_is_refused():
    units, ticks = np.repeat([0, 1, 2], 6), np.tile(np.arange(6), 3)
    steady = np.column_stack([RNG.normal(size=18), 1.0 + units])
    with pytest.raises(DataError, match="column 'x1' is constant once means"):
        windows(
            Statistics.from_array(steady), _clock(ticks, units), Design(time="t", unit="u", max_lag=1), DataPolicy()
        )
    clock = _clock(np.arange(0, 12, 2), max_lag=3)
    with pytest.raises(DataError, match="only 0 rows have all 3 rows before them"):
        windows(Statistics.from_array(RNG.normal(size=(6, 2))), clock, Design(max_lag=3), DataPolicy())
    with pytest.raises(DataError, match="has the name of the past"):
        windows(Statistics.from_array(RNG.normal(size=(9, 2)), ["a", "a[-1]"]), _clock(np.arange(9)), Design(max_lag=1),
                DataPolicy())  # fmt: skip


def test_stretches_are_of_neighbouring_rows():
    found, _ = windows(
        Statistics.from_array(RNG.normal(size=(101, 2))), _clock(np.arange(101)), Design(max_lag=1), DataPolicy()
    )
    assert found.blocks is not None
    assert (np.diff(found.blocks) >= 0).all()
    assert np.bincount(found.blocks).max() == 10


def test_a_change_of_level_is_found_said_and_removed_unless_it_is_to_stay():
    rng, time = np.random.default_rng(5), np.arange(200)
    values = rng.normal(size=(200, 2)) + 5.0 * (time >= 90)[:, None]
    table, clock = Statistics.from_array(values, ["a", "b"]), _clock(time + 1000)
    found, notes = windows(table, clock, Design(max_lag=1), DataPolicy())
    assert abs(np.corrcoef(found.values[:, 0], found.values[:, 1])[0, 1]) < 0.2
    assert "a change of level from row 90 on (found beside the own past of columns;" in notes[-1]
    assert "was removed from every column" in notes[-1]
    kept, notes = windows(table, clock, Design(max_lag=1, trend="none"), DataPolicy())
    assert np.corrcoef(kept.values[:, 0], kept.values[:, 1])[0, 1] > 0.8
    assert len(notes) == 1
