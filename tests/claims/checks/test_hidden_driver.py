"""Older columns tell causes from what something hidden drives."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from statsmodels.api import OLS

from drbo import Design, DrBO
from drbo.claims.checks.hidden_driver import DIFFERENT, NO_OLDER, HiddenDrivers, instruments
from drbo.claims.claim import CATEGORIES
from drbo.data.statistics.statistics import Statistics
from drbo.scores.linear import BicNV
from drbo.scores.splines import SplineScore
from drbo.testing.claims import check_claim
from tests.claims.contexts import context_of

NAMES = ("a", "b", "a[-1]", "b[-1]", "a[-2]", "b[-2]")
LAGS = (0, 0, 1, 1, 2, 2)
#: a[-1] -> b, and what both keep from the step before.
DAG = np.zeros((6, 6), dtype=bool)
DAG[2, 0] = DAG[3, 1] = DAG[2, 1] = True


def _series(n=1500, hidden=0.0, effect=0.6, seed=0):
    """Return (n, 2): a acts on b one step later, and something without a memory drives both."""
    rng = np.random.default_rng(seed)
    x, noise, driver = np.zeros((n, 2)), rng.normal(size=(n, 2)), rng.normal(size=n)
    for t in range(1, n):
        x[t, 0] = 0.6 * x[t - 1, 0] + noise[t, 0] + hidden * driver[t]
        x[t, 1] = 0.5 * x[t - 1, 1] + effect * x[t - 1, 0] + noise[t, 1] + hidden * driver[t - 1]
    return x


def _window(x):
    return replace(Statistics.from_array(np.hstack([x[2:], x[1:-1], x[:-2]]), NAMES), lags=LAGS)


def _denied(table, dag=DAG, score=BicNV):
    ruling = HiddenDrivers().run(context_of(score(table), table, dag))
    return {(one.cause, one.effect): one.sentence for one in ruling.denied}


def test_a_cause_is_confirmed_and_a_hidden_driver_is_not():
    assert _denied(_window(_series())) == {}
    assert _denied(_window(_series(hidden=1.0, effect=0.0)))["a[-1]", "b"] == DIFFERENT.format("a[-1]", "b")


def test_scores_without_correlations_use_those_of_the_rows():
    assert _denied(_window(_series(400)), score=SplineScore) == {}


def test_the_figures_are_those_of_two_stage_least_squares():
    table = _window(_series(400, hidden=0.5))
    centred = table.values - table.values.mean(axis=0)
    found = instruments(np.corrcoef(centred.T), len(centred), DAG, np.array(LAGS))[2, 1]
    y, x, other, older = centred[:, 1], centred[:, 2], centred[:, 3], centred[:, [4, 5]]
    first = OLS(x, np.column_stack([other, older])).fit()
    second = OLS(y, np.column_stack([first.fittedvalues, other])).fit()
    effect = second.params[0]
    left = y - effect * x - second.params[1] * other
    z = effect / np.sqrt(left @ left / len(y) * np.linalg.inv(second.model.exog.T @ second.model.exog)[0, 0])
    assert found.z == pytest.approx(z, rel=0.02)
    control = OLS(y, np.column_stack([x, other, first.resid])).fit()
    assert found.differs == pytest.approx(control.pvalues[2], abs=0.005)


def test_a_cause_at_the_end_of_the_window_is_not_confirmed():
    dag = np.zeros((6, 6), dtype=bool)
    dag[4, 1] = dag[2, 0] = True
    assert _denied(_window(_series()), dag)["a[-2]", "b"] == NO_OLDER.format("a[-2]", "b")


def test_series_that_act_on_each_other_and_families_with_a_failure_are_not_confirmed():
    dag = DAG.copy()
    dag[3, 0] = True
    assert "act on each other" in _denied(_window(_series()), dag)["a[-1]", "b"]
    x = np.column_stack([_series(), np.random.default_rng(1).normal(size=1500)])
    names = tuple(f"{name}{lag}" for lag in ("", "[-1]", "[-2]") for name in "abc")
    wide = np.zeros((9, 9), dtype=bool)
    wide[3, 0] = wide[4, 1] = wide[3, 1] = wide[8, 1] = True  # behind c[-2] there may be more causes
    table = replace(Statistics.from_array(np.hstack([x[2:], x[1:-1], x[:-2]]), names), lags=(0, 0, 0, 1, 1, 1, 2, 2, 2))
    found = _denied(table, wide)
    assert "another arrow into 'b'" in found["a[-1]", "b"]
    assert ("a[-1]", "a") not in found


def test_too_few_rows_confirm_nothing():
    denied = _denied(_window(_series(25)))
    assert "do not show its effect" in " ".join(denied.values())


def test_it_is_about_series_of_numbers():
    claim, table = HiddenDrivers(), _window(_series(100))
    assert not claim.relevant(context_of(BicNV(table), Statistics.from_array(table.values, NAMES), DAG))
    context = context_of(BicNV(table), table, DAG)
    assert claim.relevant(context)
    assert claim.too_much(context) == ""
    codes = Statistics(
        np.where(table.values > 0, 1.0, 0.0), NAMES, ("categorical",) * 6, (("no", "yes"),) * 6, lags=LAGS
    )
    assert claim.too_much(context_of(BicNV(table), codes, DAG)) == CATEGORIES
    check_claim(claim, table, DAG)


def test_copies_of_a_column_are_not_confirmed():
    table = _window(_series(200))
    values = table.values.copy()
    values[:, 4] = values[:, 2]
    found = instruments(np.corrcoef(values.T), 200, DAG, np.array(LAGS))
    assert np.isnan(found[2, 1].z)


def test_a_user_sees_it():
    """The arrow of a hidden driver is drawn, and not supported."""
    model = DrBO(design=Design(max_lag=3), score="bic-nv", random_state=0)
    hidden = model.fit(pd.DataFrame(_series(hidden=1.0, effect=0.0), columns=["a", "b"])).result_
    told = {(one.cause, one.effect): one for one in hidden.directions}
    assert ("a[-1]", "b") in told
    assert told["a[-1]", "b"].direction == "assumed"
    clean = model.fit(pd.DataFrame(_series(), columns=["a", "b"])).result_
    told = {(one.cause, one.effect): one for one in clean.directions}
    assert told["a[-1]", "b"].ground == "time"
