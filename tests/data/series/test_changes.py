"""Changes of level, lines and seasons are found where they are, not by chance, and gains are those of regressions."""

import numpy as np
import pytest

from drbo.data.series.changes import TimeChange, _Dictionary, changes_of

N, LAGS = 400, 2


def autoregressive(rng, columns=1, own=0.5):
    x = np.zeros((N + 100, columns))
    for t in range(1, len(x)):
        x[t] = own * x[t - 1] + rng.normal(size=columns)
    return x[100:]


def found_in(x):
    series = [np.column_stack([x[LAGS - lag : len(x) - lag, k] for lag in range(LAGS + 1)]) for k in range(x.shape[1])]
    return changes_of(series, np.arange(LAGS, len(x)), np.ones((len(x) - LAGS, 1)))


@pytest.mark.parametrize("own", [0.0, 0.5, 0.95, 1.0])
def test_nothing_is_found_in_series_that_stay_as_they_are(own):
    found = [found_in(autoregressive(np.random.default_rng(seed), 4, own)) for seed in range(10)]
    assert sum(map(len, found)) <= 1


def test_what_one_column_shows_is_found_where_it_is(rng):
    x, time = autoregressive(rng, 3), np.arange(N)
    assert found_in(x + np.outer(0.02 * time, [0, 1, 0])) == [TimeChange("line")]
    (step,) = found_in(x + np.outer(4.0 * (time >= 150), [0, 0, 1]))
    assert step.kind == "step"
    assert abs(step.at - 150) <= 2
    (season,) = found_in(x + 2.0 * np.sin(2 * np.pi * time / 12)[:, None])
    assert season == TimeChange("season", 12)
    both = found_in(x + np.column_stack([4.0 * (time >= 150), 0.05 * time, 0 * time]))
    assert {change.kind for change in both} == {"step", "line"}


def test_a_short_series_is_left_as_it_is():
    assert changes_of([np.arange(20.0).reshape(10, 2)], np.arange(10), np.ones((10, 1))) == []


def test_gains_are_those_of_regressions_on_past_and_functions(rng):
    x, time = autoregressive(rng), np.arange(N - 1)
    column, given = np.hstack([x[1:], x[:-1]]), np.column_stack([np.ones(N - 1), time])
    tried = [TimeChange("step", 30), TimeChange("season", 7), TimeChange("season", 2), TimeChange("line")]
    functions = [change.columns(time, 0) for change in tried]
    starts = np.cumsum([0, *(part.shape[1] for part in functions)])
    gains = _Dictionary(np.hstack(functions), starts).gains(column, given)

    def log_rest(basis):
        return np.log(np.linalg.lstsq(basis, column[:, 0], rcond=None)[1][0])

    known = np.column_stack([given, column[:, 1]])
    for part, gain in zip(functions[:3], gains[:3], strict=True):
        rise = 0.5 * (N - 1) * (log_rest(known) - log_rest(np.column_stack([known, part])))
        assert gain == pytest.approx(rise - 0.5 * part.shape[1] * np.log(N - 1))
    assert gains[3] == pytest.approx(-0.5 * np.log(N - 1), abs=1e-6)  # the line is given


def test_a_step_is_one_for_columns_of_the_past_too():
    steps = TimeChange("step", 5).columns(np.arange(10), 2)
    assert steps.argmax(axis=0).tolist() == [5, 6, 7]
