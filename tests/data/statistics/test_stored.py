"""Tables come back from arrays and words as they were; what no check could have made is refused by test_saver.py."""

import io
from dataclasses import replace

import numpy as np
import pytest

from drbo.data.checks.summed import checked_sums
from drbo.data.files.files import npz_bytes, stored_archive
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.stored import arrays_of, table_of, words_of
from drbo.data.statistics.sums import Sums
from drbo.errors import ResultError


def _again(table, **changes):
    raw = npz_bytes(arrays_of(table) | changes)
    return table_of(stored_archive(io.BytesIO(raw), "t"), words_of(table), "t", 10**6)


def _sums(rng):
    x = rng.normal(size=(60, 2))
    functions = Statistics.from_sums(Sums.of_rows("abc", np.c_[x, x[:, 0] ** 2]))
    table = replace(Statistics.from_sums(Sums.of_rows("ab", x)), values=x[:20], first=x[:9])
    return checked_sums(table.with_bases(functions, np.array([2, 1])))[0]


def test_rows_come_back(rng):
    table = replace(
        Statistics.from_array(rng.normal(size=(20, 2))),
        weights=np.arange(1.0, 21),
        groups=np.arange(20) // 2,
        order=rng.permutation(20),
    )
    found = _again(table)
    assert (found.names, found.kinds, found.levels) == (table.names, table.kinds, table.levels)
    for name in ("values", "weights", "groups", "order"):
        np.testing.assert_array_equal(getattr(found, name), getattr(table, name))
    assert found.whole


def test_sums_come_back(rng):
    table = _sums(rng)
    found = _again(table)
    assert (found.n, found.n_rows, found.rows_in_order.n_rows) == (60, 20, 9)
    assert found.digest() == table.digest()
    np.testing.assert_array_equal(found.bases.covariance, table.bases.covariance)


@pytest.mark.parametrize("changes", [{"widths": np.array([1, 1])}, {"widths": np.array([0, 3])}, {"first": np.eye(3)}])
def test_parts_that_do_not_fit_together_are_refused(rng, changes):
    with pytest.raises(ResultError, match="does not match its description"):
        _again(_sums(rng), **changes)
