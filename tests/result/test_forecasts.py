"""Forecasts use no later row, are those of regressions, and tell a graph that leaves out a cause."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from statsmodels.api import OLS

from drbo import Design, DrBO
from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError
from drbo.judging import Judging
from drbo.result.forecasts import forecasts
from tests.result.test_responses import DAG, LAGS, NAMES, _table


def test_a_right_graph_is_kept_and_one_without_a_cause_is_falsified():
    table, without = _table(600), DAG.copy()
    without[6, 1] = False
    right, wrong = forecasts(DAG, table), forecasts(without, table)
    assert not right.falsified
    assert right.beats_last
    assert wrong.falsified
    assert "leaves out something" in wrong.summary()
    assert wrong.to_dict()["falsified"]


def test_the_first_errors_are_those_of_regressions_on_the_rows_before():
    table = _table(202)  # 200 windows: 100 to begin with, then 10 parts of 10
    rows = table.values
    total = np.zeros(3)
    for start in range(100, 200, 10):
        known, now = rows[:start] - rows[:start].mean(axis=0), rows[start : start + 10] - rows[:start].mean(axis=0)
        fits = [OLS(known[:, k], known[:, 3:]).fit() for k in range(3)]
        total += sum(
            (now[:, k] - fit.predict(now[:, 3:])) ** 2 @ np.ones(10) * np.eye(3)[k] for k, fit in enumerate(fits)
        )
    np.testing.assert_allclose(forecasts(DAG, table).everything, total / 100 / rows[:, :3].var(axis=0))


def test_units_are_forecast_one_by_one():
    parts = [_table(120, seed) for seed in range(3)]
    both = replace(
        Statistics.from_array(np.vstack([part.values + 30.0 * k for k, part in enumerate(parts)]), NAMES), lags=LAGS,
        groups=np.repeat(np.arange(3), 118), blocks=np.repeat(np.arange(3), 118),
    )  # fmt: skip
    found = forecasts(DAG, both)
    assert found.n_rows == 3 * 59
    assert max(found.everything) < 0.1  # of a variance that the units make large


def test_too_few_rows_and_categories_are_refused():
    with pytest.raises(DataError, match="at least 20 are needed"):
        forecasts(DAG, _table(32))
    table = _table(100)
    codes = Statistics(
        np.where(table.values > 0, 1.0, 0.0), NAMES, ("categorical",) * 9, (("no", "yes"),) * 9, lags=LAGS
    )
    with pytest.raises(DataError, match="categorical"):
        forecasts(DAG, codes)


def test_a_user_judges_a_series_by_forecasts_and_reads_responses():
    x = _table(300).values[:, :3]
    frame = pd.DataFrame(x, columns=list("abc")).assign(t=np.arange(len(x)))
    result = DrBO(design=Design(time="t", max_lag=2), score="bic-nv", random_state=0).fit(frame.iloc[:200]).result_
    assert not result.judge(frame.iloc[200:]).falsified
    told = list[str]()
    again = Judging(tell=told.append).of_result(result, frame.iloc[:200], "result")
    assert again.n_rows < 100  # half of the half that was not fitted again
    assert any("they are split" in line for line in told)
    effects = result.effects(frame.iloc[200:], "a", "c")
    assert effects.responses[0].effects[0] == 0.0
    assert len(effects.responses[0].effects) == 5
    assert len(result.effects(frame.iloc[200:], source="a").responses) == 2
