"""Moments in place of a table are checked as a table is."""

import numpy as np
import pandas as pd
import pytest

from drbo.data.checks.check import check_table
from drbo.data.checks.summed import checked_sums
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.sums import Sums
from drbo.errors import DataError


def _summed(values, names="abc"):
    return Statistics.from_sums(Sums.of_rows(names[: np.shape(values)[1]], values))


def test_the_columns_that_a_check_drops_are_dropped(rng):
    a, b = rng.normal(size=(2, 50))
    frame = pd.DataFrame({"a": a, "b": b, "c": a - b, "d": 1.0, "e": 2 * a})
    table, notes = checked_sums(_summed(frame.to_numpy(), "abcde"), on_constant="drop", on_collinear="drop")
    expected, same = check_table(frame, on_constant="drop", on_collinear="drop")
    assert table.names == expected.names == ("a", "b")
    assert table.sums.names == ("a", "b")
    assert notes == same


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: x[:2], r"Found array with 2 sample\(s\)"),
        (lambda x: x[:, :1], r"Found array with 1 feature\(s\)"),
        (lambda x: x * [1, 0, 1], r"column 'b' is constant \(every row contains 0\)"),
        (lambda x: x[:, [0, 1, 0]], r"column 'c' is a linear function of column 'a' \(1 \* 'a'\)"),
        (lambda x: x * [1, 1e151, 1], "column 'b' contains"),
        (lambda x: x * [1, 1e-160, 1], "column 'b' varies by only"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_bad_columns_are_refused(rng, change, words):
    with pytest.raises(DataError, match=words):
        checked_sums(_summed(change(rng.normal(size=(50, 3)))))


def test_copies_are_found_with_fewer_rows_than_columns(rng):
    x = rng.normal(size=(4, 6))
    x[:, 5] = -x[:, 0]
    with pytest.raises(DataError, match="column 'f' is a linear function of column 'a'"):
        checked_sums(_summed(x, "abcdef"))
    _, notes = checked_sums(_summed(x[:, :5], "abcde"))
    assert notes == ("there are fewer rows (4) than columns (5): expect false edges",)


def test_missing_cells_are_refused_or_said(rng):
    x = rng.normal(size=(50, 2))
    x[3, 1] = np.nan
    with pytest.raises(DataError, match=r"column 'b' \(1 of 50 rows\)"):
        checked_sums(_summed(x))
    with pytest.raises(DataError, match='missing="em" needs the rows'):
        checked_sums(_summed(x), missing="em")
    _, notes = checked_sums(_summed(x), missing="drop")
    assert notes[0].startswith('missing="drop": dropped 1 of 50 rows')


def test_codes_of_categories_are_named(rng):
    x = np.column_stack([rng.normal(size=50), rng.integers(0, 3, 50)])
    _, notes = checked_sums(_summed(x))
    assert notes == ("whole numbers in a small range are treated as numbers, not as categories: 'b'",)
