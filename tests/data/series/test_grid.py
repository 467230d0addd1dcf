"""Grids are found for equal steps, months, business days and clocks that are a little off, and for nothing else."""

import numpy as np
import pandas as pd
import pytest

from drbo.data.series.grid import grid_of, steps_in_words
from drbo.data.series.instants import Instants


def _dates(index):
    return Instants(np.asarray(index.values, dtype="datetime64[us]").astype(np.int64) / 1e6, True)


@pytest.mark.parametrize(
    ("freq", "step"),
    [("D", "1 day"), ("7D", "7 days"), ("h", "1 hour"), ("15min", "15 minutes"), ("10s", "10 seconds"),
     ("MS", "1 month"), ("ME", "1 month"), ("QS", "3 months"), ("YS", "1 year"), ("B", "1 business day")],
)  # fmt: skip
def test_regular_dates_have_a_grid_without_gaps(freq, step):
    instants = _dates(pd.date_range("2019-01-01", periods=30, freq=freq))
    found = grid_of(instants, np.zeros(30, dtype=np.intp))
    assert found.step == step
    assert (np.diff(found.ticks) == 1).all()


def test_gaps_are_whole_steps():
    ticks = np.delete(np.arange(40), [7, 20, 21, 22])
    found = grid_of(Instants(5.0 + 0.25 * ticks, False), np.zeros(36, dtype=np.intp))
    assert (found.ticks - found.ticks[0] == ticks).all()
    assert found.step == "0.25"


def test_units_keep_their_own_phase_on_one_calendar():
    values = np.concatenate([np.arange(5.0), 10.5 + np.arange(5.0)])
    found = grid_of(Instants(values, False), np.repeat([0, 1], 5))
    assert (np.diff(found.ticks)[[0, 1, 2, 3, 5, 6, 7, 8]] == 1).all()


def test_a_clock_that_is_a_little_off_is_moved_to_the_grid():
    noise = np.random.default_rng(0).uniform(-0.05, 0.05, 50)
    found = grid_of(Instants(60.0 * (np.arange(50) + noise), True), np.zeros(50, dtype=np.intp))
    assert (np.diff(found.ticks) == 1).all()
    assert 0 < found.shift < 0.15


def test_irregular_times_have_none():
    instants = Instants(np.random.default_rng(0).exponential(size=50).cumsum(), False)
    units = np.zeros(50, dtype=np.intp)
    assert grid_of(instants, units) is None
    assert "half of them up to" in steps_in_words(instants, units)
    assert grid_of(Instants(np.ones(3), False), units[:3]) is None
