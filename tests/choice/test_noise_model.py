"""Which noise model fits: the level of its test, its candidates, and what must not matter."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from drbo.choice.noise_model import (
    FINER,
    MOST_ROWS,
    TABLE_LEVEL,
    ModelCheck,
    family_level,
    finer_splines,
    model_checks,
)
from drbo.data.files.simulate import linear_weights, random_dag, simulate_cos, simulate_gp
from drbo.data.statistics.statistics import Statistics


def fitting(values):
    """The first score that fits; None if there is none."""
    return next((check.score for check in model_checks(Statistics.from_array(values)) if check.fits), None)


def linear(noise, n, seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(8, 2.0, rng, "er")
    draws = {
        "gaussian": rng.normal,
        "exponential": rng.exponential,
        "uniform": rng.uniform,
        "t3": lambda size: rng.standard_t(3, size=size),
    }
    return draws[noise](size=(n, 8)) @ np.linalg.inv(np.eye(8) - linear_weights(dag, rng))


@pytest.mark.parametrize("n_families", range(1, 30))
def test_a_model_that_holds_is_rejected_in_one_percent_of_tables(n_families):
    level = family_level(n_families)
    most = max(k for k in range(n_families + 1) if ModelCheck("", n_families - k, n_families).fits)
    assert binom.sf(most, n_families, level) <= TABLE_LEVEL + 1e-9
    assert level == 0.05 or binom.sf(most, n_families, level) == pytest.approx(TABLE_LEVEL)


def test_without_families_there_is_nothing_against_a_model(rng):
    check = next(model_checks(Statistics.from_array(rng.normal(size=(100, 3)))))
    assert check == ModelCheck("bic-nv", 0, 0)
    assert check.fits


@pytest.mark.parametrize(
    ("noise", "score"), [("gaussian", "bic-nv"), ("t3", "bic-ng"), ("exponential", "bic-ng"), ("uniform", "bic-ng")]
)
def test_linear_data_get_the_linear_score_of_their_noise(noise, score):
    assert [fitting(linear(noise, 500, seed)) for seed in range(3)] == [score] * 3


def test_splines_that_explain_no_more_than_straight_lines_do_not_fit():
    *_, last, _ = model_checks(Statistics.from_array(linear("exponential", 200, seed=26)))
    assert last.score == "splines"
    assert last.share >= 0.8
    assert not last.explains
    assert not last.fits


@pytest.mark.parametrize("model", [simulate_gp, simulate_cos])
def test_nonlinear_data_with_additive_noise_get_splines(model):
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        found.append(fitting(model(random_dag(8, 2.0, rng, "er"), 500, rng)))
    assert found == ["splines"] * 4


def test_ranks_undo_the_scale_of_every_column():
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        found.append(fitting(np.exp(simulate_gp(random_dag(8, 2.0, rng, "er"), 500, rng))))
    assert found == ["splines-ranks"] * 4


def test_lines_between_ranks_undo_the_scale_of_every_column():
    found = []
    for seed in range(4):
        values = linear("gaussian", 500, seed)
        found.append(fitting(np.exp(2 * values / values.std(axis=0))))
    assert found == ["bic-ranks"] * 4


def test_no_model_fits_noise_that_grows_with_the_cause(rng):
    x = rng.normal(size=(500, 4))
    for j in range(1, 4):
        x[:, j] = np.abs(x[:, j - 1]) + x[:, j] * np.exp(np.tanh(x[:, j - 1]))
    assert fitting(x) is None


def test_neither_units_nor_order_nor_more_rows_of_the_same_kind_matter(rng):
    values = linear("exponential", 2 * MOST_ROWS, 1)
    rows, columns = rng.permutation(len(values)), rng.permutation(8)
    first = list(model_checks(Statistics.from_array(values)))
    names = [f"x{j}" for j in columns]
    moved = list(model_checks(Statistics.from_array((values * 10.0 ** np.arange(8))[np.ix_(rows, columns)], names)))
    assert first == moved
    assert max(check.n_tested for check in first) <= 8


def test_a_column_that_is_constant_in_the_sample_is_left_out(rng):
    values = np.column_stack([linear("gaussian", 3_000, 0), np.arange(3_000) == 7])
    assert fitting(values) == "bic-nv"


def test_columns_with_few_values_are_not_tested(rng):
    x = rng.normal(size=(400, 2))
    values = np.column_stack([x, x[:, 0] + rng.normal(size=400) > 0])
    check = next(model_checks(Statistics.from_array(values)))
    assert check.n_tested <= 1


def test_the_past_of_a_series_has_no_causes(rng):
    x = rng.normal(size=(300, 2)).cumsum(axis=0)
    window = Statistics.from_array(np.hstack([x[1:], x[:-1]]), ["a", "b", "a[-1]", "b[-1]"])
    checks = list(model_checks(replace(window, lags=(0, 0, 1, 1))))
    assert max(check.n_tested for check in checks) <= 2
    assert max(check.n_tested for check in model_checks(window)) > 2


@pytest.mark.parametrize(("steep", "df"), [(0.0, None), (5.0, FINER)])
def test_splines_are_as_fine_as_effects_need(rng, steep, df):
    x = 2 * rng.normal(size=(500, 2))
    x[1:, 1] += x[:-1, 0] + steep * np.sin(3 * x[:-1, 0])
    window = Statistics.from_array(np.hstack([x[1:], x[:-1]]), ["a", "b", "a[-1]", "b[-1]"])
    assert finer_splines(replace(window, lags=(0, 0, 1, 1))) == df
