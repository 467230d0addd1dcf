"""Tests of residuals: their level, the rows and ties they use, and the parts they are made of."""

from dataclasses import replace

import numpy as np
from scipy import stats

from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.units import ranked
from drbo.independence.rank_hsic import Independence, independence, rank_features
from drbo.independence.residual_tests import (
    MAX_ROWS,
    MIN_DISTINCT,
    ResidualTests,
    Sample,
    TableTests,
    rows_to_test,
    spread_ties,
    weakest,
)
from drbo.independence.residuals import AdditiveRegressions, linear_residual


def test_rows_that_depend_on_their_neighbours_are_tested_in_order(rng):
    walks = np.cumsum(rng.normal(size=(200, 2)), axis=0)
    table = Statistics.from_array(walks).counting_as(0.1).take(rng.permutation(200), np.arange(2))
    assert np.array_equal(rows_to_test(table, 0).values, walks)
    assert rows_to_test(replace(table, order=None), 0).n_rows == 20
    halves = replace(table, weights=np.where(np.arange(200) < 100, 0.1, 1e-6))
    assert rows_to_test(halves, 0).n_rows == 100
    aware, unaware = TableTests(table).by("splines"), ResidualTests(walks)
    assert aware.share_of_rows(0, 1, ()) < 0.5 < unaware.share_of_rows(0, 1, ()) == 1.0
    assert aware.pair(0, 1, ()).p_value > unaware.pair(0, 1, ()).p_value
    cause, noise = rng.normal(size=(2, 201))
    late = np.column_stack([cause[1:], cause[:-1] + noise[1:]])
    tests = TableTests(Statistics.from_array(late).counting_as(0.5)).by("splines")
    assert tests.beside(0, 1, ()).p_value < 1e-6
    assert unaware.beside(0, 1, ()) == Independence(1.0, 0.0)


def _pair(rng, n=300):
    x = rng.uniform(-1, 1, size=n)
    return np.column_stack([x, np.exp(x) + 0.3 * rng.normal(size=n)])


def test_the_true_family_is_rejected_at_the_nominal_rate_and_its_reverse_is_not():
    """Residuals are estimated from the same rows, which must not make the test reject too often."""
    tables = [ResidualTests(_pair(np.random.default_rng(seed))) for seed in range(120)]
    forward = np.array([tests.family(1, (0,)).p_value for tests in tables])
    reverse = np.array([tests.family(0, (1,)).p_value for tests in tables])
    assert (forward < 0.05).sum() <= stats.binom.ppf(0.999, 120, 0.05)
    assert 0.3 < forward.mean() < 0.75
    assert (reverse < 0.01).mean() > 0.5


def test_tests_are_those_of_the_residuals(rng):
    values = np.column_stack([_pair(rng), rng.normal(size=300)])
    tests, fits = ResidualTests(values), AdditiveRegressions(values)
    residual = rank_features(fits.residual(1, (0, 2)))
    columns = [rank_features(values[:, k]) for k in range(3)]
    assert tests.parent(1, (0, 2), 0) == independence(residual, columns[0])
    assert tests.family(1, (0, 2)) == weakest(independence(residual, columns[k]) for k in (0, 2))
    assert tests.pair(0, 1, (2,)) == independence(residual, rank_features(fits.residual(0, (2,))))
    assert tests.noises(1, (0, 2), [(0, ())]) == independence(residual, columns[0])
    straight = ResidualTests(values, regression="linear").parent(1, (0,), 0)
    assert straight == independence(rank_features(linear_residual(fits.values, 1, (0,))), columns[0])


def test_the_weakest_test_is_corrected_for_the_number_of_tests():
    assert weakest([Independence(0.01, 0.1), Independence(0.2, 0.4), Independence(0.9, 0.0)]) == (0.03, 0.4)
    assert weakest([Independence(0.8, 0.1), Independence(0.9, 0.0)]).p_value == 1.0
    assert weakest([]) == (1.0, 0.0)


def test_categories_are_parents_and_tested_by_level(rng):
    group = rng.integers(3, size=400)
    spread = np.column_stack([group, group**2 + rng.normal(size=400) * (1 + group)])
    tests = ResidualTests(spread, categorical=[0])
    assert tests.family(1, (0,)).p_value < 1e-3  # the means are gone, the spreads are not
    even = np.column_stack([group, group**2 + rng.normal(size=400)])
    assert ResidualTests(even, categorical=[0]).family(1, (0,)).p_value > 0.05


def test_at_most_3000_complete_rows_drawn_with_the_seed(rng):
    values = rng.normal(size=(4000, 2))
    values[::4, 1] = np.nan
    table = Statistics.from_array(values)
    few = rows_to_test(table, seed=1)
    assert few.n_rows == MAX_ROWS == 3000
    assert not np.isnan(few.values).any()
    large = Statistics.from_array(rng.normal(size=(5000, 2)))
    draws = [rows_to_test(large, seed=seed).values for seed in (1, 1, 2)]
    assert draws[0].shape == (MAX_ROWS, 2)
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()


def test_weighted_rows_are_drawn_by_weight(rng):
    values = rng.normal(size=(600, 2))
    weights = np.where(np.arange(600) < 200, 10.0, 0.01)
    drawn = rows_to_test(replace(Statistics.from_array(values), weights=weights), seed=0)
    assert 150 <= drawn.n_rows <= 200 + 2  # the effective number of rows
    assert np.isin(drawn.values[:, 0], values[:200, 0]).mean() > 0.9


def test_ties_are_spread_and_nothing_else(rng):
    column = np.round(rng.normal(size=500), 1)
    spread = spread_ties(column, np.random.default_rng(0))
    assert len(np.unique(spread)) == 500
    assert np.abs(spread - column).max() <= 0.5 * np.diff(np.unique(column)).max() + 1e-12
    order = np.argsort(spread)
    assert (np.diff(column[order]) >= 0).all()
    untied = rng.normal(size=50)
    assert spread_ties(untied, np.random.default_rng(0)) is untied


def test_a_rounded_cause_or_effect_does_not_decide(rng):
    """A rounded effect alone leaves residuals on curves; spread over its steps, it does not."""
    rejected = 0
    for seed in range(20):
        pair = _pair(np.random.default_rng(seed))
        pair[:, 1] = np.round(pair[:, 1] * 5)
        sample = Sample.of(Statistics.from_array(pair), seed=0)
        rejected += ResidualTests(sample.values).family(1, (0,)).p_value < 0.01
    assert rejected <= 2


def test_columns_that_can_be_tested(rng):
    values = np.column_stack([np.arange(100) % (MIN_DISTINCT - 1), np.arange(100) % MIN_DISTINCT, rng.normal(size=100)])
    assert Sample.of(Statistics.from_array(values), seed=0).testable.tolist() == [False, True, True]


def test_the_tests_of_a_table_are_made_once_for_each_regression(rng):
    x = rng.normal(size=300)
    tests = TableTests(
        Statistics.from_array(np.column_stack([x, np.exp(x + 0.5 * rng.normal(size=300))]), ["x", "y"]), seed=3
    )
    assert tests.by("ranks") is tests.by("ranks")
    by_hand = ResidualTests(ranked(tests.values)).parent(1, (0,), 0)
    assert tests.by("ranks").parent(1, (0,), 0) == by_hand
    assert by_hand.p_value > 0.05 > tests.by("splines").parent(1, (0,), 0).p_value


def test_fits_that_are_prepared_are_the_same(rng):
    values = rng.normal(size=(200, 5))
    values[:, 4] += np.tanh(values[:, 0]) + values[:, 1] ** 2
    for regression in ("splines", "ranks", "linear"):
        plain, prepared = (ResidualTests(values, regression=regression) for _ in range(2))
        pairs = [(4, 0, (1,)), (1, 2, ()), (0, 3, (1, 2))]
        for _ in range(2):
            prepared.prepare(pairs)
        for cause, effect, given in pairs:
            assert prepared.pair(cause, effect, given) == plain.pair(cause, effect, given)
            assert prepared.pair(effect, cause, given) == plain.pair(effect, cause, given)
