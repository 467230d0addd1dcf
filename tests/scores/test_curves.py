"""Splines from sums: the score of all rows, from moments of basis functions with knots of a sample."""

from dataclasses import replace

import numpy as np
import pytest

from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.sums import Sums, summed
from drbo.data.statistics.units import unit_free, winsorized
from drbo.errors import DataError, ScoreError
from drbo.scores.curves import Curves
from drbo.scores.families import Families
from drbo.scores.registry import build_score
from drbo.scores.splines import SplineScore, natural_spline


@pytest.fixture
def x(rng):
    x = rng.normal(size=(4_000, 5))
    x[:, 2] += np.sin(2 * x[:, 0]) + x[:, 1] ** 2
    x[:, 3] = 1e5 + 100 * (rng.standard_t(2, size=4_000) + x[:, 2])  # far from 0, with wild values
    x[:, 4] = np.round(x[:, 4] + x[:, 0])  # few values: fewer functions
    return x


def _names(count):
    return [f"f{k}" for k in range(count)]


def _table(x, curves, rows=50):
    """A table of which only sums and some rows are known."""
    bases = summed(_names(int(curves.widths.sum())), [curves(x[:1_500]), curves(x[1_500:])])
    table = replace(Statistics.from_sums(Sums.of_rows(_names(x.shape[1]), x)), values=x[:rows])
    return table.with_bases(Statistics.from_sums(bases), curves.widths)


def _families(rng, d):
    sets = [(node, rng.permutation(np.delete(np.arange(d), node))[:k]) for node in range(d) for k in range(d)]
    return Families.from_sets(d, [(node, tuple(parents.tolist())) for node, parents in sets])


def test_sums_with_the_same_knots_have_the_score_of_the_rows(x, rng):
    families = _families(rng, 5)
    rows, sums = SplineScore(Statistics.from_array(x)), SplineScore(_table(x, Curves.of_sample(x)))
    assert np.allclose(rows.local(families), sums.local(families), rtol=1e-8, atol=1e-9)
    assert np.array_equal(rows.family_price(families), sums.family_price(families))
    assert np.array_equal(rows.credited(families), sums.credited(families))
    assert (rows.gain == sums.gain).all()


def test_functions_span_the_splines_of_the_whole_table(x):
    curves = Curves.of_sample(x)
    columns = unit_free(winsorized(x))
    for column, own in zip(columns.T, np.split(curves(x), np.cumsum(curves.widths)[:-1], axis=1), strict=True):
        basis = natural_spline(column, 5)
        assert basis.shape == own.shape
        assert np.allclose(own.mean(axis=0), 0, atol=1e-9)
        assert np.allclose(own.T @ own / len(x), np.eye(own.shape[1]), atol=1e-9)
        assert np.allclose(basis @ (basis.T @ own), own, atol=1e-5)
        assert np.allclose(own[:, 0], column, atol=1e-8)  # the first one is the column itself
    assert curves.widths.tolist()[:4] == [5, 5, 5, 5]
    assert curves.widths[4] < 5


def test_knots_of_a_sample_have_nearly_the_same_score(x, rng):
    families = _families(rng, 5)
    exact, found = (SplineScore(_table(x, Curves.of_sample(rows))) for rows in (x, x[::4]))
    assert np.abs(exact.local(families) - found.local(families)).max() < 0.03


def test_columns_in_another_order_keep_their_functions(x, rng):
    table, order = _table(x, Curves.of_sample(x)), np.array([4, 2, 0, 3, 1])
    families = _families(rng, 5)
    moved = Families(np.argsort(order)[families.nodes], families.parents[:, order])
    taken = table.take(np.arange(table.n_rows), order)
    assert np.allclose(SplineScore(table).local(families), SplineScore(taken).local(moved))


def test_missing_cells_have_missing_functions(x):
    curves, some = Curves.of_sample(x), x[:3].copy()
    some[1, 2] = np.nan
    start, end = curves.widths[:2].sum(), curves.widths[:3].sum()
    assert np.array_equal(np.flatnonzero(np.isnan(curves(some)[1])), np.arange(start, end))
    assert not np.isnan(curves(some)[[0, 2]]).any()


def test_sums_of_other_functions_are_refused(x):
    table = _table(x, Curves.of_sample(x))
    with pytest.raises(ScoreError, match="needs sums of basis functions with df=3"):
        SplineScore(table, df=3)
    with pytest.raises(ScoreError, match="mixed needs sums over the indicators"):
        build_score("mixed", table)
    with pytest.raises(DataError, match="score 'splines-ranks' needs the rows of the table"):
        build_score("splines-ranks", table)
    plain = replace(table, bases=None)
    with pytest.raises(DataError, match="score 'splines' needs the rows of the table"):
        build_score("splines", plain)
    with pytest.raises(DataError, match="the files have 3999 complete rows, but 4000 when they were first read"):
        plain.with_bases(Statistics.from_sums(Sums.of_rows(["a"], x[1:, :1])), np.array([1]))


def test_a_rare_value_that_is_not_in_the_rows_adds_nothing(x, rng):
    x[:, 4] = 0
    x[:3, 4] = 1  # not in the sample
    curves = Curves.of_sample(x[3:])
    assert curves.widths[4] == 1
    families = _families(rng, 5)
    found = SplineScore(_table(x, curves)).local(families)
    expected = SplineScore(Statistics.from_array(x)).local(families)
    assert np.allclose(found, expected, atol=0.01)
    without = SplineScore(_table(x[3:], curves)).local(families)  # as in a resample
    alone = families.nodes == 4
    assert (without[alone] == 0).all()
    others = families.parents.copy()
    others[:, 4] = False
    smaller = SplineScore(_table(x[3:], curves)).local(Families(families.nodes, others))
    assert np.allclose(without, smaller, atol=1e-12)
