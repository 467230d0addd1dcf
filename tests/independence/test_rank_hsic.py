"""Rank HSIC against permutations, the dense criterion, and the nominal level."""

import itertools

import numpy as np
import pytest
from scipy import stats

from drbo import _core
from drbo.independence.rank_hsic import (
    WIDTH,
    RankFeatures,
    _null_moments,
    category_features,
    independence,
    rank_features,
    share_of_rows,
)


def _dense_kernel(column):
    """Return the centred Gaussian kernel matrix of the normal scores."""
    u = stats.norm.ppf((stats.rankdata(column) - 0.5) / len(column))
    kernel = np.exp(-(((u[:, None] - u) / WIDTH) ** 2))
    centre = np.eye(len(u)) - 1 / len(u)
    return centre @ kernel @ centre


def _permutation_p(left, right, rng, rounds=99):
    observed = (left * right).sum()
    orders = (rng.permutation(len(left)) for _ in range(rounds))
    return (1 + sum((left * right[np.ix_(o, o)]).sum() >= observed for o in orders)) / (rounds + 1)


def test_the_statistic_is_hsic_with_full_kernels(rng):
    x = rng.standard_cauchy(size=200)
    y = x**2 + rng.normal(size=200)
    left, right = rank_features(x), rank_features(y)
    ours = np.square(left.features.T @ right.features).sum()
    assert ours == pytest.approx((_dense_kernel(x) * _dense_kernel(y)).sum(), rel=0.01)
    assert left.total == pytest.approx(np.trace(_dense_kernel(x)), rel=0.01)


@pytest.mark.parametrize("n", [1, 10, 257, 1000])
def test_features_follow_the_ranks(rng, n):
    x = rng.normal(size=n) * np.exp(20 * rng.normal(size=n)) * rng.choice([-1, 1], n)
    in_order = rank_features(np.arange(n)).features
    np.testing.assert_array_equal(rank_features(x).features, in_order[stats.rankdata(x).astype(int) - 1])


def test_sums_of_squares_are_those_of_numpy(rng):
    for n, q, r in [(1, 1, 1), (11, 3, 12), (400, 12, 12), (401, 12, 5)]:
        left, right = rng.normal(size=(n, q)), rng.normal(size=(n, r))
        assert _core.cross_squares(left, right) == pytest.approx(np.square(left.T @ right).sum())


def test_mean_and_variance_are_those_over_all_permutations(rng):
    left = RankFeatures.centred(rng.normal(size=(7, 3)))
    right = RankFeatures.centred(rng.normal(size=(7, 2)) ** 3)
    orders = itertools.permutations(range(7))
    found = [np.square(left.features.T @ right.features[list(order)]).sum() for order in orders]
    mean, variance, _ = _null_moments(left, right, 7)
    assert mean == pytest.approx(np.mean(found))
    assert variance == pytest.approx(np.var(found))


def _independent(kind, n, rng):
    x, y = rng.normal(size=(2, n))
    if kind == "ties":
        return rank_features(np.round(x)), rank_features(np.minimum(rng.poisson(2, size=n), 5))
    if kind == "category":
        return rank_features(x), category_features(rng.choice(4, size=n, p=[0.1, 0.2, 0.3, 0.4]))
    return rank_features(np.exp(3 * x)), rank_features(y)


@pytest.mark.parametrize("kind", ["continuous", "ties", "category"])
@pytest.mark.parametrize("n", [60, 400])
def test_independent_columns_are_rejected_at_the_nominal_rate(kind, n):
    rng, draws = np.random.default_rng(n), 600
    p_values = np.array([independence(*_independent(kind, n, rng)).p_value for _ in range(draws)])
    for level in (0.05, 0.01):
        low, high = stats.binom.interval(0.999, draws, level)
        assert low <= (p_values < level).sum() <= high
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.05)


ALTERNATIVES = {
    "curve": lambda x, e: 0.4 * (x**2 - 1) + e,
    "spread": lambda x, e: np.exp(0.35 * x) * e,
    "correlation": lambda x, e: 0.25 * x + e,
    "circle": lambda x, e: np.where(e > 0, 1, -1) * np.sqrt(np.maximum(0, 4 - x**2)) + 0.8 * e,
}


@pytest.mark.parametrize("name", ALTERNATIVES)
def test_power_is_that_of_full_hsic_with_permutations(name):
    rng = np.random.default_rng(5)
    ours, full = [], []
    for _ in range(60):
        x, e = rng.normal(size=(2, 100))
        y = ALTERNATIVES[name](x, e)
        ours.append(independence(rank_features(x), rank_features(y)).p_value < 0.05)
        full.append(_permutation_p(_dense_kernel(x), _dense_kernel(y), rng) <= 0.05)
    assert np.mean(ours) > 0.2
    assert np.mean(ours) >= np.mean(full) - 0.1


def test_p_values_follow_permutations_where_values_are_tied(rng):
    x = rng.integers(4, size=80).astype(float)
    y = x + 2.5 * rng.normal(size=80)
    ours = independence(rank_features(x), rank_features(y)).p_value
    assert ours == pytest.approx(_permutation_p(_dense_kernel(x), _dense_kernel(y), rng, 1999), abs=0.02)


def test_ranks_are_all_that_counts(rng):
    x, y = rng.normal(size=(2, 150))
    y += x
    plain = independence(rank_features(x), rank_features(y))
    assert independence(rank_features(np.exp(5 * x)), rank_features(y**3)) == plain
    order = rng.permutation(150)
    shuffled = independence(rank_features(x[order]), rank_features(y[order]))
    assert shuffled.p_value == pytest.approx(plain.p_value)
    assert independence(rank_features(y), rank_features(x)).p_value == pytest.approx(plain.p_value)


def test_dependence_is_an_effect_size(rng):
    x, e = rng.normal(size=(2, 3000))
    found = [independence(rank_features(x), rank_features(r * x + (1 - r**2) ** 0.5 * e)) for r in (0.0, 0.2, 0.6, 1.0)]
    sizes = [outcome.dependence for outcome in found]
    assert sizes == sorted(sizes)
    assert sizes[0] < 0.05
    assert sizes[-1] == pytest.approx(1.0)
    fewer = independence(rank_features(x[:500]), rank_features(0.6 * x[:500] + 0.8 * e[:500])).dependence
    assert fewer == pytest.approx(sizes[2], abs=0.06)  # it does not grow with the rows, as the p-value does


def test_constants_and_few_rows_say_nothing(rng):
    x = rng.normal(size=100)
    assert independence(rank_features(x), rank_features(np.ones(100))) == (1.0, 0.0)
    assert independence(rank_features(x[:9]), rank_features(x[:9])) == (1.0, 0.0)


def test_more_than_a_thousand_rows_count_as_a_thousand(rng):
    """The p-value of 4,000 rows is about that of a quarter of them with the same dependence, not a much smaller one."""
    x, noise = rng.normal(size=(2, 4000))
    y = 0.15 * x + noise
    whole = independence(rank_features(x), rank_features(y)).p_value
    parts = [independence(rank_features(x[k::4]), rank_features(y[k::4])).p_value for k in range(4)]
    assert min(parts) / 10 < whole < max(parts) * 10


def test_independent_columns_pass_whatever_their_number_of_rows(rng):
    p_values = [independence(*map(rank_features, rng.normal(size=(2, 3000)))).p_value for _ in range(100)]
    assert min(p_values) > 0.01


def _series(rng, memory, n=500):
    noise = rng.normal(size=n + 100)
    for t in range(1, n + 100):
        noise[t] += memory * noise[t - 1]
    return rank_features(noise[100:])


def test_series_that_know_their_order_are_rejected_at_about_the_nominal_rate():
    found = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        left, right = _series(rng, 0.8), _series(rng, 0.8)
        pairs = (left, right), (left.of_series, right.of_series)
        found.append([independence(*pair).p_value < 0.05 for pair in pairs])
    without, with_order = np.mean(found, axis=0)
    assert without > 0.2
    assert with_order <= stats.binom.ppf(0.999, 150, 0.05) / 150


def test_only_rows_that_are_alike_on_both_sides_count_as_fewer(rng):
    memory, none = _series(rng, 0.9), _series(rng, 0.0)
    assert share_of_rows(memory, memory) == 1.0
    assert share_of_rows(memory.of_series, none.of_series) > 0.9
    assert share_of_rows(memory.of_series, _series(rng, 0.9).of_series) < 0.5
    assert independence(memory.of_series, none) == independence(memory, none)
