import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from drbo.deadline import Deadline, OutOfTimeError
from drbo.search.bayes.forest import LEAF_ROWS, MOST_ROWS, TREES, ForestScreen


def product_table(n: int = 400) -> np.ndarray:
    """Column 0 is a product: neither factor explains it alone."""
    values = np.random.default_rng(0).normal(size=(n, 6))
    values[:, 0] = values[:, 2] * values[:, 4] + 0.1 * values[:, 0]
    return values


def test_causes_that_act_only_together_come_first():
    values = product_table()
    alone = np.abs(np.corrcoef(values.T)[0, 1:])
    assert alone.max() < 0.2
    importance = ForestScreen(values, seed=0).importance(0, np.arange(6) > 0)
    assert set(np.argsort(-importance)[:2]) == {2, 4}
    assert importance[0] == 0
    assert np.isclose(importance.sum(), 1)


def test_other_columns_than_candidates_count_nothing():
    importance = ForestScreen(product_table(), seed=0).importance(0, np.array([0, 1, 1, 0, 0, 0], dtype=bool))
    assert (importance[[0, 3, 4, 5]] == 0).all()
    assert importance[2] > 0


def test_no_candidates():
    assert not ForestScreen(product_table(), seed=0).importance(0, np.zeros(6, dtype=bool)).any()


def test_what_given_columns_leave_is_explained_by_the_others():
    values = np.random.default_rng(1).normal(size=(500, 4))
    values[:, 0] = 3 * values[:, 1] + values[:, 2] + 0.3 * values[:, 0]
    screen, candidates = ForestScreen(values, seed=0), np.arange(4) > 0
    given = np.array([False, True, False, False])
    assert np.argmax(screen.importance(0, candidates)) == 1
    left = screen.importance(0, candidates, given)
    assert left[2] > 20 * left[3]
    assert left[2] > 2 * screen.importance(0, candidates)[2]


def test_a_category_is_explained_as_a_category():
    rng = np.random.default_rng(2)
    cause = rng.integers(3, size=600)
    effect = np.array([1, 0, 1])[cause] + 2.0 * (rng.random(600) < 0.05)  # level 1 belongs to causes 0 and 2
    values = np.column_stack([effect, cause, rng.normal(size=600)])
    importance = ForestScreen(values, seed=0, categorical=[0, 1]).importance(0, np.array([False, True, True]))
    assert importance[1] > importance[2]


def test_forests_are_those_of_scikit_learn():
    values, candidates = product_table(200), np.arange(6) != 5
    values[:, 5] = np.random.default_rng(3).integers(3, size=200)
    screen, given = ForestScreen(values, seed=4, categorical=[5]), np.array([True, True, False, False, False, False])
    inputs, options = screen._values, {"n_estimators": TREES, "min_samples_leaf": LEAF_ROWS, "random_state": 4}
    classes = np.unique(inputs[:, 5], return_inverse=True)[1]
    alone = ExtraTreesClassifier(**options).fit(inputs[:, :5], classes).feature_importances_
    assert np.array_equal(screen.importance(5, candidates)[:5], alone)
    known = ExtraTreesRegressor(bootstrap=True, oob_score=True, **options).fit(inputs[:, :2], inputs[:, 5])
    left = ExtraTreesRegressor(**options).fit(inputs[:, :5], inputs[:, 5] - known.oob_prediction_)
    assert np.array_equal(screen.importance(5, candidates, given)[:5], left.feature_importances_)


def test_a_table_too_short_for_a_split():
    values = np.random.default_rng(0).normal(size=(2 * LEAF_ROWS - 1, 3))
    assert not ForestScreen(values, seed=0).importance(0, np.arange(3) > 0).any()


def test_the_seed_decides_and_nothing_else():
    values, candidates = product_table(2 * MOST_ROWS), np.arange(6) > 0
    first, again = (ForestScreen(values, seed=3).importance(0, candidates) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, ForestScreen(values, seed=4).importance(0, candidates))


def test_a_forest_ends_with_the_time():
    screen = ForestScreen(product_table(), seed=0)
    with pytest.raises(OutOfTimeError), Deadline(0.0):
        screen.importance(0, np.arange(6) > 0)
