"""Responses follow a change through all later rows, as a simulation of the change does."""

from dataclasses import replace

import numpy as np
import pytest

from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError
from drbo.result.effects import HELD_OUT
from drbo.result.responses import responses

NAMES, LAGS, N = (
    ("a", "b", "c", "a[-1]", "b[-1]", "c[-1]", "a[-2]", "b[-2]", "c[-2]"),
    (0, 0, 0, 1, 1, 1, 2, 2, 2),
    4000,
)
#: a acts on b two steps later, b on c at once; each keeps something of its last value.
NOW, ONE, TWO = np.zeros((3, 3)), np.diag([0.5, 0.4, 0.4]), np.zeros((3, 3))
NOW[1, 2], TWO[0, 1] = 0.5, 0.6
DAG = np.zeros((9, 9), dtype=bool)
for lag, weights in enumerate((NOW, ONE, TWO)):
    DAG[3 * lag : 3 * lag + 3, :3] = weights != 0


def _step(x, t, noise):
    x[t] = x[t - 1] @ ONE + x[t - 2] @ TWO + noise
    x[t, 2] += x[t, 1] * 0.5


def _table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    x = np.zeros((n + 50, 3))
    for t in range(2, len(x)):
        _step(x, t, rng.normal(size=3))
    x = x[50:]
    table = Statistics.from_array(np.hstack([x[2:], x[1:-1], x[:-2]]), NAMES)
    return replace(table, lags=LAGS, blocks=np.arange(n - 2) // round(n**0.5))


def test_a_response_is_the_difference_that_a_change_makes():
    pushed, plain = np.zeros((12, 3)), np.zeros((12, 3))
    for t in range(2, 12):
        _step(plain, t, np.zeros(3))
        _step(pushed, t, np.eye(3)[0] * (t == 2))
    found = responses(DAG, _table(), [("a", "c")], basis=HELD_OUT, horizon=8, seed=0).responses[0]
    np.testing.assert_allclose(found.effects, (pushed - plain)[2:11, 2], atol=0.05)
    assert found.effects[:2] == (0.0, 0.0)
    truth = (pushed - plain)[2:11, 2]
    assert ((np.array(found.low) <= truth + 1e-12) & (truth <= np.array(found.high) + 1e-12)).all()


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    hits = 0
    for seed in range(40):
        found = responses(DAG, _table(400, seed), [("a", "b")], basis=HELD_OUT, horizon=2, seed=0).responses[0]
        hits += found.low[2] <= 0.6 <= found.high[2]
    assert hits >= 33


def test_pairs_without_an_effect_are_left_out_unless_they_are_asked_for():
    table = _table(300)
    every = responses(DAG, table, None, basis=HELD_OUT, horizon=4, seed=0)
    assert {(one.source, one.target) for one in every.responses} == {("a", "b"), ("a", "c"), ("b", "c")}
    assert len(every.table()) == 15
    none = responses(DAG, table, [("c", "a")], basis=HELD_OUT, horizon=4, seed=0)
    assert none.responses[0].effects == (0.0,) * 5
    assert "at once" in none.summary()
    assert none.to_dict()["responses"][0]["source"] == "c"


def test_what_has_no_response_is_refused():
    table = _table(100)
    with pytest.raises(DataError, match="no variable of the present"):
        responses(DAG, table, [("a[-1]", "c")], basis=HELD_OUT, horizon=2, seed=0)
    codes = Statistics(
        np.where(table.values > 0, 1.0, 0.0), NAMES, ("categorical",) * 9, (("no", "yes"),) * 9, lags=LAGS
    )
    with pytest.raises(DataError, match="categorical"):
        responses(DAG, codes, None, basis=HELD_OUT, horizon=2, seed=0)
