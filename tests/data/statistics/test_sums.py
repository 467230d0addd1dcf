"""Moments that are added up block by block: exact, and independent of how the rows arrive."""

from fractions import Fraction

import numpy as np
import pytest

from drbo.data.statistics.sums import Sums, block_rows, summed
from drbo.errors import DataError


def _pieces(values, rng):
    cuts = np.sort(rng.integers(0, len(values), 9))
    return np.split(values, cuts)


def test_a_cut_of_the_rows_decides_no_bit(rng):
    x = rng.normal(size=(3 * block_rows(3) + 17, 3)) * [1, 1e6, 1e-6] + [0, 1e8, 1]
    whole = summed("abc", [x])
    for _ in range(3):
        cut = summed("abc", _pieces(x, rng))
        for name in ("shift", "offset", "products", "low", "high", "whole"):
            assert np.array_equal(getattr(cut, name), getattr(whole, name))


def test_large_means_take_no_digits(rng):
    """The same sums with rational numbers; sums of squares alone would have no digit left."""
    x = np.round(rng.normal([1e9, -1e9], size=(300, 2)), 6)
    parts = Sums.of_rows("ab", x[:100]).joined(Sums.of_rows("ab", x[100:]))
    exact = [[Fraction(cell) for cell in row] for row in x.tolist()]
    means = [sum(column) / len(exact) for column in zip(*exact, strict=True)]
    for i in range(2):
        for j in range(2):
            product = sum((row[i] - means[i]) * (row[j] - means[j]) for row in exact)
            assert parts.products[i, j] == pytest.approx(float(product), rel=1e-12)


def test_parts_of_several_owners_are_the_whole(rng):
    x = rng.integers(0, 9, size=(500, 4)).astype(float)
    x[:, 2] += 0.5
    parts = [Sums.of_rows("abcd", part) for part in np.array_split(x, 3)]
    found = parts[0].joined(parts[1]).joined(parts[2])
    assert found.n == 500
    assert np.allclose(found.moments.covariance, np.cov(x.T, bias=True), rtol=1e-12)
    assert np.array_equal(found.low, x.min(axis=0))
    assert np.array_equal(found.high, x.max(axis=0))
    assert found.whole.tolist() == [True, True, False, True]


def test_columns_are_matched_by_name(rng):
    x = rng.normal(size=(60, 3))
    one, other = Sums.of_rows("abc", x[:30]), Sums.of_rows("cab", x[30:][:, [2, 0, 1]])
    assert np.allclose(one.joined(other).products, Sums.of_rows("abc", x).products)
    with pytest.raises(DataError, match="one part has the column 'd'"):
        one.joined(Sums.of_rows("abd", x))
    with pytest.raises(DataError, match="one part has no column 'c'"):
        one.joined(Sums.of_rows("ab", x[:, :2]))
    with pytest.raises(DataError, match="one name per column, got 2 names"):
        Sums.of_rows("ab", x)


def test_rows_with_a_missing_cell_are_counted_and_left_out(rng):
    x = rng.normal(size=(200, 3))
    x[5, 0] = x[5, 1] = x[9, 2] = np.nan
    found, complete = Sums.of_rows("abc", x), x[~np.isnan(x).any(axis=1)]
    assert (found.n, found.dropped, found.missing.tolist()) == (198, 2, [1, 1, 1])
    assert np.allclose(found.moments.covariance, np.cov(complete.T, bias=True))


def test_a_part_without_a_complete_row_changes_only_the_counts(rng):
    empty = Sums.of_rows("ab", [[np.nan, 1.0]])
    full = Sums.of_rows("ab", rng.normal(size=(9, 2)))
    for both in (empty.joined(full), full.joined(empty)):
        assert (both.n, both.dropped, both.missing.tolist()) == (9, 1, [1, 0])
        assert np.array_equal(both.products, full.products)
