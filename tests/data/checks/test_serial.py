"""Rows that are like the rows before them."""

import numpy as np
import pytest

from drbo.data.checks.check import check_table
from drbo.data.checks.serial import _without, first_rows, holds_its_past, is_clock, serial
from drbo.data.statistics.statistics import Statistics


def autoregressive(rho, n=300, d=4, seed=0):
    noise = np.random.default_rng(seed).normal(size=(n, d))
    x = np.empty((n, d))
    x[0] = noise[0] / np.sqrt(1 - rho**2)
    for t in range(1, n):
        x[t] = rho * x[t - 1] + noise[t]
    return x


def test_rows_in_random_order_are_not_called_a_series():
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(n, d)) for n in (20, 100, 1000) for d in (2, 5) for _ in range(20)]
    assert all(serial(Statistics.from_array(x)) is None for x in tables)
    shuffled = rng.permutation(autoregressive(0.8))
    assert serial(Statistics.from_array(shuffled)) is None


@pytest.mark.parametrize("rho", [0.5, 0.8])
def test_the_worth_of_rows_is_the_variance_of_a_correlation(rho):
    found = [serial(Statistics.from_array(autoregressive(rho, seed=seed, d=2))) for seed in range(200)]
    correlations = [np.corrcoef(autoregressive(rho, seed=seed, d=2).T)[0, 1] for seed in range(200)]
    assert all(one is not None and one.dependent for one in found)
    share = np.mean([one.share(300) for one in found])
    assert share == pytest.approx(1 / np.var(correlations) / 300, rel=0.25)
    assert share == pytest.approx((1 - rho**2) / (1 + rho**2), rel=0.1)


def test_some_rows_are_always_left():
    walk = np.cumsum(np.random.default_rng(0).normal(size=(100, 3)), axis=0)
    assert serial(Statistics.from_array(walk)).share(100) * 100 >= 10


def test_a_sorted_table_is_told_from_a_series():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 3))
    x[:, 1:] += 2 * x[:, :1]
    found = serial(Statistics.from_array(x[np.argsort(x[:, 0])], ["a", "b", "c"]))
    assert found.sorted_by == ("a",)
    assert not found.dependent
    walk = np.cumsum(rng.normal(size=(500, 2)), axis=0)
    irregular = np.cumsum(rng.exponential(size=500))
    assert serial(Statistics.from_array(np.column_stack([irregular, walk]))).dependent


def test_blocks_of_categories_are_told_from_a_series():
    rng = np.random.default_rng(1)
    kind = np.repeat(["x", "y", "z"], 60)
    values = rng.normal(size=(180, 2)) + 5 * (np.arange(180) // 60)[:, None]
    rows = [[kind[k], *values[k]] for k in range(180)]
    assert serial(check_table(rows)[0]).sorted_by == ("x0",)
    assert serial(Statistics.from_array(values)).dependent  # the cause of the blocks is not in the table


def test_lagged_columns_are_recognised():
    walk = np.cumsum(np.random.default_rng(0).normal(size=(301, 2)), axis=0)
    found = serial(Statistics.from_array(np.hstack([walk[1:], walk[:-1]])))
    assert found.lags
    assert not found.dependent
    assert holds_its_past(np.hstack([walk[1:], walk[:-1]]))


def test_the_past_of_some_rows_is_enough_and_that_of_others_is_none(rng):
    now, other = rng.normal(size=(2, 101))
    past = np.where(rng.random(100) < 0.05, 7.0, now[:-1])  # of several persons, whose first rows have another past
    assert holds_its_past(np.column_stack([past, other[1:], now[1:]])) == ((past == now[:-1])[1:].mean() > 0.9)
    assert holds_its_past(np.column_stack([other[1:], now[:-1], now[1:]]))
    assert not holds_its_past(np.column_stack([other[1:], rng.permutation(now[:-1]), now[1:]]))
    assert not holds_its_past(np.ones((50, 3)))


def test_a_curve_is_taken_out_of_columns_as_by_least_squares(rng):
    curve, values = rng.normal(size=(50, 3)), rng.normal(size=(50, 4))
    curve = np.column_stack([curve, curve @ [1.0, -2.0, 0.5]])  # one that the others determine
    expected = values - curve @ np.linalg.lstsq(curve, values)[0]
    np.testing.assert_allclose(_without(values, curve), expected, atol=1e-12)


def test_clocks_and_first_rows():
    assert is_clock(np.arange(5.0))
    assert not is_clock(np.array([0.0, 1.0, 3.0, 4.0]))
    values = np.arange(20.0).reshape(10, 2)
    values[1, 0] = np.nan
    assert first_rows(Statistics.from_array(values), 5).values[:, 1].tolist() == [1, 5, 7, 9]


def linked(rng, n=600, d=4):
    x = rng.normal(size=(n, d))
    for j in range(1, d):
        x[:, j] += np.sin(1.5 * x[:, j - 1]) * 2
    return x


@pytest.mark.parametrize("how", ["one column", "downwards", "grades", "two columns", "a sum", "blocks in any order"])
def test_however_a_table_is_sorted_by_its_columns_it_is_no_series(how):
    for seed in range(5):
        x = linked(np.random.default_rng(seed))
        if how in ("grades", "two columns", "blocks in any order"):
            x[:, 0] = np.digitize(x[:, 0], [-1.0, 0.0, 1.0])
        first = np.array([2, 0, 3, 1])[x[:, 0].astype(int)] if how == "blocks in any order" else x[:, 0]
        keys = {"downwards": (-first,), "two columns": (x[:, 1], first), "a sum": (x[:, 0] + x[:, 1] / 2,)}
        found = serial(Statistics.from_array(x[np.lexsort(keys.get(how, (first,)))]))
        assert found is None or not found.dependent
    assert found is None or found.sorted_by


@pytest.mark.parametrize("d", [2, 5, 10])
@pytest.mark.parametrize("kind", ["alone", "chain", "trend", "panel"])
def test_a_series_is_not_taken_for_a_sorted_table(d, kind):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = autoregressive(0.5, 600, d, seed)
        if kind == "chain":
            for j in range(1, d):
                x[:, j] += 0.8 * x[:, j - 1]
        if kind == "trend":
            x += np.linspace(0, 4, 600)[:, None]
        if kind == "panel":
            x = rng.normal(size=(600, d)) + rng.normal(size=(60, d))[np.repeat(np.arange(60), 10)]
        assert serial(Statistics.from_array(x)).dependent


def test_a_series_that_acts_on_columns_without_a_memory_leaves_every_row_new():
    rng = np.random.default_rng(0)
    cause = autoregressive(0.9, 800, 1)[:, 0]
    found = serial(Statistics.from_array(np.column_stack([cause, cause + rng.normal(size=800)]), ["cause", "effect"]))
    assert found.sorted_by == ("cause",)
    back = cause + autoregressive(0.9, 800, 1, seed=1)[:, 0]
    assert serial(Statistics.from_array(np.column_stack([cause, back]))).dependent


def test_one_column_with_a_memory_changes_no_correlation():
    rng = np.random.default_rng(0)
    assert serial(Statistics.from_array(np.column_stack([autoregressive(0.9, 300, 1), rng.normal(size=300)]))) is None
