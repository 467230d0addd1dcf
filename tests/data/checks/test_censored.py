"""Times until an event: their scores beside plain ranks and a simulation, and the way from a check to a fit."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import norm

import drbo
from drbo import DataPolicy, DrBO, Result
from drbo.cli import main
from drbo.data.checks.censored import censored_scores, censored_time
from drbo.errors import DataError


def trial(rng, n=500):
    """Return patients whose age shortens a time that may be cut off; the time until the event itself beside them."""
    age, blood = rng.normal(60, 9, n), rng.normal(size=n)
    until = np.exp(3 - 0.08 * (age - 60) + 0.6 * blood + 0.5 * np.log(rng.exponential(size=n)))
    end = rng.exponential(30, n)
    frame = pd.DataFrame({"age": age, "blood": blood, "time": np.minimum(until, end), "status": (until <= end) * 1})
    return frame.round(3), until


def test_without_censoring_scores_are_those_of_ranks(rng):
    times = rng.permutation(40) + 1.0
    found = censored_scores(times, np.ones(40, dtype=bool))
    assert found == pytest.approx(norm.ppf((times - 0.5) / 40))


def test_scores_are_those_of_the_curve_of_kaplan_and_meier():
    times, happened = np.array([2.0, 3.0, 3.0, 5.0, 7.0, 8.0]), np.array([True, True, False, False, True, False])
    survival = [5 / 6, 5 / 6 * 4 / 5, 5 / 6 * 4 / 5 * 1 / 2]  # after 2, 3 and 7, worked out by hand
    found = censored_scores(times, happened)
    assert found[0] == pytest.approx(norm.ppf(1 - (1 + survival[0]) / 2))
    assert found[1] == pytest.approx(norm.ppf(1 - (survival[0] + survival[1]) / 2))
    assert found[4] == pytest.approx(norm.ppf(1 - (survival[1] + survival[2]) / 2))
    for row, left in ((2, survival[1]), (3, survival[1]), (5, survival[2])):
        places = norm.ppf(np.linspace(1 - left, 1, 200_001)[:-1] + left / 400_000)
        assert found[row] == pytest.approx(places.mean(), abs=1e-3)


def test_scores_keep_more_of_a_cause_than_cut_times(rng):
    frame, until = trial(rng, 4_000)
    scores = censored_time(frame, "time", "status", notes := [])
    assert "1 times were cut off" not in notes[0]
    assert f"{int((frame['status'] == 0).sum())} of 4000 times were cut off" in notes[0]
    whole, plain, ours = (abs(np.corrcoef(frame["age"], part)[0, 1]) for part in (np.log(until), frame["time"], scores))
    assert plain < ours < whole


def test_a_check_prints_what_makes_the_time_an_outcome(rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trial(rng)[0].to_csv("patients.csv", index=False)
    looked = CliRunner().invoke(main, ["check", "patients.csv"])
    assert "looks like a time that ends with an event or before it, as 'status' says" in looked.output
    line = looked.output.strip().splitlines()[-1].strip()
    assert line.startswith("drbo fit patients.csv --types time=censored:status")
    done = CliRunner().invoke(main, [*line.split()[1:], "-o", "run"])
    assert done.exit_code == 0, done.output
    assert "cut off before that" in done.output
    result = Result.load("run")
    assert set(result.names) == {"age", "blood", "time"}
    time = result.names.index("time")
    assert not result.dag[time].any()
    assert {result.names[k] for k in np.flatnonzero(result.dag[:, time])} == {"age", "blood"}


def test_the_same_in_python(rng):
    frame = trial(rng)[0]
    model = DrBO(policy=DataPolicy(types={"time": "censored:status"}), random_state=0).fit(frame)
    assert model.result_.knowledge.leaves == ("time",)
    assert not model.result_.dag[model.result_.names.index("time")].any()
    assert model.bootstrap(frame, n=3).n == 3
    assert model.effects(frame, "age", "time").effects[0].total[0] < 0
    assert drbo.check(frame, policy=DataPolicy(types={"time": "censored:status"})).is_usable
    assert DataPolicy().censored == ()


@pytest.mark.parametrize(
    ("frame", "kind", "words"),
    [
        ({"time": [1.0, 2, 3], "status": [0, 1, 2]}, "censored:status", "must have two values"),
        ({"time": [1.0, 2, 3], "status": [0, 1, 1]}, "censored:state", "there is no column 'state'"),
        ({"time": [-1.0, 2, 3], "status": [0, 1, 1]}, "censored:status", "column 'time' holds no times"),
        ({"time": ["a", "b", "c"], "status": [0, 1, 1]}, "censored:status", "column 'time' holds no times"),
    ],
)
def test_what_is_no_time_until_an_event_is_refused(frame, kind, words):
    with pytest.raises(DataError, match=words):
        drbo.check(pd.DataFrame(frame), policy=DataPolicy(types={"time": kind}))


def test_other_tables_have_no_such_time(rng):
    frame = pd.DataFrame({"time": range(50), "x": rng.normal(size=50), "y": rng.normal(size=50)})
    assert not any("ends with an event" in one.text for one in drbo.check(frame).look.problems)
