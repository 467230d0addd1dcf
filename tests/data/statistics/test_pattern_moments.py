"""EM from sums by pattern is EM over the rows."""

import numpy as np
import pytest

from drbo.data.statistics import pattern_moments, resamples
from drbo.data.statistics.moments import moments
from drbo.data.statistics.pattern_moments import PatternSums, estimated
from drbo.data.statistics.resamples import ResampledSums
from drbo.data.statistics.sums import summed
from drbo.errors import DataError


def _holes(rng, n=800, share=0.1):
    x = rng.normal(size=(n, 4))
    x[:, 2] += x[:, 0] + x[:, 1]
    x[:, 3] -= x[:, 2]
    x = x * [1, 10, 0.1, 1] + [0, 1e4, 0, -5]
    x[rng.random(x.shape) < share] = np.nan
    return x


def _totals(x, pieces=1):
    patterns = PatternSums("abcd")
    total = summed("abcd", np.array_split(x, pieces), incomplete=patterns.see)
    return total, patterns.parts()


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_the_moments_are_those_of_em_over_the_rows(rng, share):
    x = _holes(rng, share=share)
    x[5] = np.nan  # says nothing
    expected, found = moments(x), estimated(*_totals(x, pieces=5)).moments
    assert np.allclose(found.mean, expected.mean, rtol=1e-9)
    assert np.allclose(found.correlation, expected.correlation, atol=1e-9)
    assert np.allclose(np.diag(found.covariance), np.diag(expected.covariance), rtol=1e-9)
    assert found.n == pytest.approx(expected.n)


def test_ranges_are_those_of_all_cells(rng):
    x = _holes(rng)
    found = estimated(*_totals(x))
    assert np.array_equal(found.low, np.nanmin(x, axis=0))
    assert np.array_equal(found.high, np.nanmax(x, axis=0))
    assert (found.dropped, found.missing.tolist()) == (0, [0] * 4)


def _resampled(x, count, pieces=3):
    patterns, drawn = PatternSums("abcd", count), ResampledSums(4, count)
    total = summed("abcd", np.array_split(x, pieces), incomplete=patterns.see, resampled=drawn)
    return estimated(total, patterns.parts())


def test_a_resample_of_all_rows_twice_has_their_moments(rng, monkeypatch):
    class Ones:
        def integers(self, _most, size):
            return np.ones(size)

    x = _holes(rng)
    monkeypatch.setattr(resamples, "random_of", lambda *_: Ones())
    found, expected = _resampled(x, 2).resample(1), estimated(*_totals(x, pieces=3))
    assert found.n == 2 * expected.n
    assert found.moments.n == pytest.approx(2 * expected.moments.n)
    assert np.allclose(found.mean, expected.mean, rtol=1e-6)
    assert np.allclose(found.moments.correlation, expected.moments.correlation, atol=1e-6)


def test_resamples_vary_as_those_of_rows(rng):
    x = _holes(rng, n=400, share=0.05)
    found = _resampled(x, 60)
    drawn = np.array([found.resample(k).moments.correlation[0, 2] for k in range(60)])
    rows = np.array([moments(x[rng.integers(400, size=400)]).correlation[0, 2] for _ in range(60)])
    assert abs(drawn.mean() - moments(x).correlation[0, 2]) < 0.02
    assert 0.6 < drawn.std() / rows.std() < 1.6


def test_too_many_resampled_patterns_are_refused(rng, monkeypatch):
    monkeypatch.setattr(resamples, "MOST_NUMBERS", 3_000)
    with pytest.raises(DataError, match="different patterns, too many to sum up"):
        _resampled(_holes(rng), 60)


def test_no_row_need_be_complete(rng):
    x = _holes(rng, share=0.0)
    x[np.arange(800), np.arange(800) % 4] = np.nan
    assert np.allclose(estimated(*_totals(x)).moments.covariance, moments(x).covariance, rtol=1e-6)


def test_columns_that_are_never_seen_together_are_refused(rng):
    x = _holes(rng, share=0.0)
    x[:400, 0], x[400:, 1] = np.nan, np.nan
    with pytest.raises(DataError, match="columns 'a' and 'b' are never observed in the same row"):
        estimated(*_totals(x))


def test_too_many_patterns_are_refused(rng, monkeypatch):
    monkeypatch.setattr(pattern_moments, "MOST_NUMBERS", 20)
    with pytest.raises(DataError, match="different patterns, too many"):
        _totals(_holes(rng))
