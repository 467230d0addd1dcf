"""Effects that change while a series goes on are no effects of all times."""

from dataclasses import replace

import numpy as np
from scipy.stats import norm
from statsmodels.api import OLS
from statsmodels.tsa.stattools import adfuller

from drbo.claims.checks.steadiness import WANDERING, Steadiness, halves, wandering
from drbo.claims.claim import CATEGORIES
from drbo.data.statistics.statistics import Statistics
from drbo.scores.linear import BicNV
from drbo.testing.claims import check_claim
from tests.claims.contexts import context_of

NAMES, LAGS, N = ("a", "b", "a[-1]", "b[-1]"), (0, 0, 1, 1), 600
DAG = np.zeros((4, 4), dtype=bool)
DAG[2, 0] = DAG[3, 1] = DAG[2, 1] = True


def _window(later=0.6, own=0.5, seed=0):
    """Return a table in which a acts on b one step later, with another effect in the second half."""
    rng = np.random.default_rng(seed)
    x = np.zeros((N, 2))
    for t in range(1, N):
        effect = later if t > N / 2 else 0.6
        x[t] = own * x[t - 1] + rng.normal(size=2) + [0.0, effect * x[t - 1, 0]]
    table = Statistics.from_array(np.hstack([x[1:], x[:-1]]), NAMES)
    return replace(table, lags=LAGS, blocks=np.arange(N - 1) // 24)


def _denied(table, dag=DAG):
    ruling = Steadiness().run(context_of(BicNV(table), table, dag))
    return {(one.cause, one.effect): one.sentence for one in ruling.denied}


def test_an_effect_that_changes_is_denied_and_one_that_stays_is_not():
    assert _denied(_window()) == {}
    (told,) = _denied(_window(later=-0.2)).items()
    assert told[0] == ("a[-1]", "b")
    assert "differs between the halves" in told[1]


def test_units_are_split_one_by_one():
    table = _window(later=-0.2)
    both = replace(
        Statistics.from_array(np.tile(table.values, (2, 1)), NAMES), lags=LAGS,
        blocks=np.concatenate([table.blocks, table.blocks + 100]), groups=np.repeat([0, 1], N - 1),
    )  # fmt: skip
    assert np.isclose(halves(both, DAG)[2, 1].first, halves(table, DAG)[2, 1].first)


def test_the_figures_are_those_of_regressions_with_errors_for_any_spread():
    table = _window(later=0.3)
    late = table.blocks > np.median(table.blocks)
    fits = [
        OLS(table.values[part, 1], np.column_stack([table.values[part][:, [2, 3]], np.ones(part.sum())])).fit(
            cov_type="HC3"
        )
        for part in (~late, late)
    ]
    found = halves(table, DAG)[2, 1]
    assert np.allclose([found.first, found.second], [fit.params[0] for fit in fits])
    z = (fits[0].params[0] - fits[1].params[0]) / np.hypot(fits[0].bse[0], fits[1].bse[0])
    assert np.isclose(found.p_value, 2 * norm.sf(abs(z)))


def test_effects_that_halves_cannot_show_are_denied():
    few = _window().take(np.arange(7), np.arange(4))
    assert np.isnan(halves(few, DAG)[2, 1].p_value)
    assert "too few rows" in _denied(few)["a[-1]", "b"]
    still = _window()
    still.values[still.blocks > np.median(still.blocks), 3] = 1.0  # one cause stays as it is in the second half
    assert set(_denied(still)) == {("a[-1]", "b"), ("b[-1]", "b")}


def test_random_walks_without_their_own_past_are_denied():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(N, 2)).cumsum(axis=0)
    table = replace(Statistics.from_array(np.hstack([x[1:], x[:-1]]), NAMES), lags=LAGS, blocks=np.arange(N - 1) // 24)
    assert wandering(table) == [True, True]
    dag = np.zeros((4, 4), dtype=bool)
    dag[2, 1] = True
    assert ("a[-1]", "b") in _denied(table, dag)
    dag[3, 1] = True
    assert WANDERING.format("a[-1]", "b") not in _denied(table, dag).values()


def test_the_test_of_unit_roots_is_that_of_dickey_and_fuller():
    for own in (0.5, 0.9, 0.98, 1.0):
        table = _window(own=own, later=0.6, seed=3)
        expected = (
            adfuller(np.append(table.values[0, 2], table.values[:, 0]), 0, "c", autolag=None, result_object=False)[0]
            > -2.86
        )
        assert wandering(table)[0] == expected


def test_claims_keep_to_their_contract_and_leave_categories_out():
    table = _window()
    check_claim(Steadiness(), table, DAG)
    codes = Statistics(
        np.where(table.values > 0, 1.0, 0.0), NAMES, ("categorical",) * 4, (("no", "yes"),) * 4, lags=LAGS
    )
    assert Steadiness().too_much(context_of(BicNV(table), codes, DAG)) == CATEGORIES
