"""Multiple imputation: what is seen stays, what is filled in is plausible, and missing at random does little harm."""

import numpy as np
import pytest

from drbo.data.checks.impute import imputations
from drbo.data.statistics.statistics import Statistics


def _table(rng, n=400):
    x = rng.normal(size=n)
    group = (x + rng.normal(size=n) > 0).astype(float)
    y = x + group + 0.5 * rng.normal(size=n)
    return Statistics(
        np.column_stack([x, group, y]), ("x", "g", "y"), ("numeric", "categorical", "numeric"), (None, ("a", "b"), None)
    )


def _holed(table, rng, share=0.2):
    values = table.values.copy()
    values[rng.random(values.shape) < share] = np.nan
    return Statistics(values, table.names, table.kinds, table.levels)


def test_what_is_seen_stays_and_categories_and_few_values_stay_what_they_are(rng):
    whole = _table(rng)
    values = whole.values.copy()
    values[:, 0] = np.round(values[:, 0])  # a number of few distinct values
    holed = _holed(Statistics(values, whole.names, whole.kinds, whole.levels), rng)
    seen = ~np.isnan(holed.values)
    for copy in imputations(holed, m=3, seed=0):
        assert np.isfinite(copy.values).all()
        assert (copy.values[seen] == holed.values[seen]).all()
        for j in range(2):
            assert np.isin(copy.values[:, j], holed.values[seen[:, j], j]).all()


def test_copies_differ_from_each_other_but_not_from_run_to_run(rng):
    holed = _holed(_table(rng), rng)
    first, second = imputations(holed, m=2, seed=0)
    assert (first.values != second.values).any()
    again = next(imputations(holed, m=1, seed=0))
    assert (first.values == again.values).all()


def test_the_order_of_rows_and_columns_does_not_matter(rng):
    holed = _holed(_table(rng), rng)
    rows, columns = rng.permutation(holed.n_rows), np.array([2, 0, 1])
    moved = next(imputations(holed.take(rows, columns), m=1, seed=0))
    still = next(imputations(holed, m=1, seed=0))
    assert sorted(moved.values[:, [1, 2, 0]].tolist()) == sorted(still.values.tolist())  # equal rows may change places


@pytest.mark.parametrize("seed", range(3))
def test_missing_at_random_biases_complete_rows_more(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=1_500)
    y = x + rng.normal(size=1_500)
    y[rng.random(1_500) < 1 / (1 + np.exp(-3 * x))] = np.nan  # the larger x, the more often y is missing
    table = Statistics.from_array(np.column_stack([x, y]))
    dropped = y[~np.isnan(y)].mean()
    filled = np.mean([copy.values[:, 1].mean() for copy in imputations(table, m=5, seed=seed)])
    truth = x.mean()
    assert abs(filled - truth) < 0.35 * abs(dropped - truth)
    assert abs(dropped - truth) > 0.3


def test_categories_follow_what_predicts_them():
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=900).astype(float)
    answer = np.where(rng.random(900) < 0.8, group, rng.integers(3, size=900)).astype(float)
    lost = rng.random(900) < 0.3
    table = Statistics(
        np.column_stack([group, np.where(lost, np.nan, answer)]),
        ("g", "a"), ("categorical", "categorical"), (("p", "q", "r"),) * 2,
    )  # fmt: skip
    agreement = [(copy.values[lost, 1] == group[lost]).mean() for copy in imputations(table, m=5, seed=1)]
    # Draws agree as often as the answers themselves do; a most likely value would agree always.
    assert np.mean(agreement) == pytest.approx((answer == group).mean(), abs=0.06)


def test_a_column_alone_in_missing_and_exact_copies_are_no_problem(rng):
    x = rng.normal(size=50)
    values = np.column_stack([x, x, rng.normal(size=50)])
    values[:10, 2] = np.nan
    assert np.isfinite(next(imputations(Statistics.from_array(values), m=1, seed=0)).values).all()


def test_strong_relations_are_not_weakened_where_values_are_seen_in_part_of_the_range():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    x[:, 1] = x[:, 0] + 0.05 * x[:, 1]
    lost = x[:, 0] > 0.5
    holed = np.where(np.column_stack([np.zeros(500, dtype=bool), lost]), np.nan, x)
    for copy in imputations(Statistics.from_array(holed), m=3, seed=0):
        residual = copy.values[lost, 1] - copy.values[lost, 0]
        assert residual.std() == pytest.approx(0.05, rel=0.2)
        assert abs(residual.mean()) < 0.03


def test_covariances_are_kept():
    found, expected = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(400, 3))
        x[:, 2] += x[:, 0] + x[:, 1]
        expected.append(np.cov(x.T))
        x[rng.random(x.shape) < 0.25] = np.nan
        found += [np.cov(copy.values.T) for copy in imputations(Statistics.from_array(x), m=3, seed=seed)]
    assert np.mean(found, axis=0) == pytest.approx(np.mean(expected, axis=0), abs=0.12)
