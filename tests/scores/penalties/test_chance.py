"""The penalty against chance associations: few false edges whatever the columns look like, and nothing else matters."""

import numpy as np
import pytest
from scipy.stats import t

from drbo.deadline import Deadline, OutOfTimeError
from drbo.scores.penalties import chance
from drbo.scores.penalties.chance import chance_penalty


def _columns(kind, rng, n, d):
    if kind == "gaussian":
        return rng.normal(size=(n, d))
    if kind == "t3":
        return rng.standard_t(3, size=(n, d))
    makers = (rng.standard_normal, rng.random, rng.standard_exponential, lambda n: rng.lognormal(size=n))
    return np.column_stack([makers[k % 4](n) for k in range(d)])


@pytest.mark.parametrize("kind", ["gaussian", "t3", "shapes"])
@pytest.mark.parametrize(("n", "d"), [(100, 10), (100, 50), (1000, 50)])
def test_independent_columns_get_hardly_any_edge(kind, n, d):
    found = []
    for seed in range(8):
        values = _columns(kind, np.random.default_rng([seed, n, d]), n, d)
        squares = np.square(np.corrcoef(values.T)[np.triu_indices(d, 1)])
        found.append((-n * np.log1p(-squares) > chance_penalty(values) * np.log(n)).sum())
    assert np.mean(found) <= 0.5


def test_it_is_never_below_the_extended_bic():
    values = np.random.default_rng(0).uniform(size=(5000, 10))
    assert chance_penalty(values) == pytest.approx(1 + 2 * np.log(10) / np.log(5000), abs=0.02)
    assert chance_penalty(values[:, :1]) == 1.0


def test_units_signs_and_order_do_not_matter():
    rng = np.random.default_rng(1)
    values = rng.standard_t(3, size=(200, 30))
    expected = chance_penalty(values)
    other = (values * rng.choice([-300.0, 0.01, 7.0], size=30) + 5.0)[rng.permutation(200)][:, rng.permutation(30)]
    assert chance_penalty(other) == expected


def test_the_table_may_be_long():
    values = np.random.default_rng(2).normal(size=(20_000, 12))
    assert chance_penalty(values) < 2.0


def test_a_row_of_weight_two_counts_twice():
    rng = np.random.default_rng(2)
    values, times = rng.standard_t(3, size=(150, 8)), rng.integers(1, 4, size=150)
    assert chance_penalty(values, times.astype(float)) == chance_penalty(np.repeat(values, times, axis=0))


@pytest.mark.parametrize(("n", "d"), [(9, 3), (50_000, 100)])
def test_few_and_many_rows_are_not_shuffled(n, d):
    assert chance_penalty(np.zeros((n, d))) is None


def test_gaussian_columns_get_the_penalty_of_the_exact_tail():
    n, d = 200, 46
    quantile = t.isf(0.2 / (d * (d - 1) / 2) / 2, n - 2) ** 2
    exact = n * np.log1p(quantile / (n - 2)) / np.log(n)
    assert chance_penalty(np.random.default_rng(0).normal(size=(n, d))) == pytest.approx(exact, abs=0.12)


def test_many_columns_are_compared_in_blocks_that_change_nothing_and_that_look_at_the_deadline(monkeypatch):
    values = np.random.default_rng(3).standard_t(3, size=(80, 60))
    expected = chance_penalty(values)
    monkeypatch.setattr(chance, "BLOCK_PAIRS", 7 * 60)
    assert chance_penalty(values) == expected
    with Deadline() as deadline:
        deadline.stop()
        with pytest.raises(OutOfTimeError):
            chance_penalty(values)
