"""Resamples that are drawn while rows are read: they spread as a bootstrap does, and pieces decide nothing."""

import numpy as np
import pytest

from drbo.data.statistics import resamples
from drbo.data.statistics.resamples import ResampledSums, check_count, random_of
from drbo.data.statistics.sums import Sums, block_rows, summed
from drbo.errors import SettingsError


def _resampled(x, count=20, pieces=None, seed=0):
    return summed("abc", [x] if pieces is None else pieces, resampled=ResampledSums(3, count, seed))


def _table(rng, n):
    x = rng.normal(size=(n, 3)) * [1, 5, 0.1] + [0, 1e4, 1]
    x[:, 2] += 0.1 * x[:, 0]
    return x


def _by_hand(x, count, seed=0, place=0):
    """The rows of a single block in every resample, from the random numbers of the block: 0 or 2 times each."""
    rng = random_of(x, place, seed, "resamples")
    size = -(-len(x) // 256)
    groups = -(-len(x) // size)
    signs = 2 * rng.integers(2, size=groups * size)[: len(x)] - 1
    draws = 2 * rng.integers(2, size=(count, groups)) - 1
    return 1 + signs * draws[:, np.arange(len(x)) // size]


def test_sums_are_those_of_rows_that_count_twice_or_not(rng):
    x = _table(rng, 1_000)
    found = _resampled(x)
    weights = _by_hand(x, 20)
    assert set(np.unique(weights)) == {0, 2}
    for k in range(20):
        drawn, one = np.repeat(x, weights[k], axis=0), found.resample(k)
        assert one.n == len(drawn)
        assert np.allclose(one.mean, drawn.mean(axis=0), rtol=1e-12)
        assert np.allclose(one.moments.covariance, np.cov(drawn.T, bias=True), rtol=1e-9)


def test_a_cut_of_the_rows_decides_no_bit(rng):
    x = _table(rng, 2 * block_rows(3) + 17)
    whole = _resampled(x).resamples
    cut = _resampled(x, pieces=np.split(x, np.sort(rng.integers(0, len(x), 9)))).resamples
    for name in ("n", "offset", "products"):
        assert np.array_equal(getattr(whole, name), getattr(cut, name))


def test_more_resamples_begin_with_the_same_ones(rng):
    x = _table(rng, 500)
    few, many = _resampled(x, 5).resamples, _resampled(x, 9).resamples
    assert np.allclose(few.products, many.products[:5], rtol=1e-12)
    assert not np.allclose(few.products, _resampled(x, 5, seed=1).resamples.products)


@pytest.mark.parametrize("order", ["drawn", "sorted"])
def test_means_and_variances_are_those_of_a_bootstrap(rng, order):
    """Also of a sorted file, whose neighbours are alike; a bootstrap of whole blocks would spread far more there."""
    x = _table(rng, 4_000)
    x = x[np.argsort(x[:, 0])] if order == "sorted" else x
    found = _resampled(x, 400)
    drawn = [x[np.random.default_rng(k).integers(4_000, size=4_000)] for k in range(400)]
    for ours, theirs in (
        (found.resamples.offset[:, 0], [rows[:, 0].mean() for rows in drawn]),
        (found.resamples.products[:, 0, 2] / found.resamples.n, [np.cov(rows.T)[0, 2] for rows in drawn]),
        (found.resamples.products[:, 1, 1] / found.resamples.n, [np.cov(rows.T)[1, 1] for rows in drawn]),
    ):
        spread = np.std(theirs)
        ours = ours + found.shift[0] if ours is found.resamples.offset[:, 0] else ours
        assert abs(np.mean(ours) - np.mean(theirs)) < 5 * spread / 400**0.5 * 2**0.5
        assert 0.8 < np.std(ours) / spread < 1.25


def test_parts_of_several_owners_are_resampled_apart(rng):
    x = _table(rng, 900)
    one, two = _resampled(x[:400], 8), _resampled(x[400:], 6)
    both = one.joined(two)
    weights = np.hstack([_by_hand(x[:400], 8)[:6], _by_hand(x[400:], 6)])
    assert len(both.resamples) == 6
    for k in range(6):
        drawn = np.repeat(x, weights[k], axis=0)
        assert np.allclose(both.resample(k).moments.covariance, np.cov(drawn.T, bias=True), rtol=1e-9)
    assert one.joined(Sums.of_rows("abc", x[400:])).resamples is None
    assert not np.array_equal(*(_by_hand(part, 6)[0, :300] for part in (x[:400], x[400:])))


def test_columns_are_taken_in_another_order(rng):
    found = _resampled(_table(rng, 300))
    turned = found.take(np.array([2, 0]))
    assert np.array_equal(turned.resample(3).products, found.resample(3).products[np.ix_([2, 0], [2, 0])])
    assert np.array_equal(turned.resample(3).mean, found.resample(3).mean[[2, 0]])


def test_incomplete_rows_are_in_no_resample(rng):
    x = _table(rng, 600)
    x[::7, 1] = np.nan
    found = _resampled(x)
    weights = _by_hand(x[~np.isnan(x[:, 1])], 20)
    assert found.resamples.n.tolist() == weights.sum(axis=1).tolist()


def test_memory_is_bounded(monkeypatch):
    check_count(100, 1_000)
    with pytest.raises(SettingsError, match="200 resamples of 5000 columns would take 37 GiB, but at most 2 are"):
        check_count(200, 5_000)
    monkeypatch.setattr(resamples, "MOST_NUMBERS", 0)
    with pytest.raises(SettingsError, match="at most 0 resamples"):
        ResampledSums(3, 1)
