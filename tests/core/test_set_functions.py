import numpy as np
import pytest
from scipy.special import gammaln

from drbo._core import cell_sums, log_determinants


def _members(nodes, d):
    return [k for k in range(d) if nodes >> k & 1]


def test_log_determinants():
    rows = np.random.default_rng(0).normal(size=(50, 5))
    matrix = np.cov(rows.T)
    values = log_determinants(matrix)
    for nodes in range(32):
        chosen = _members(nodes, 5)
        assert values[nodes] == pytest.approx(np.linalg.slogdet(matrix[np.ix_(chosen, chosen)])[1], abs=1e-12)


def _counts(columns, repeats, chosen):
    cells = {}
    for row, times in zip(columns[chosen].T, repeats, strict=True):
        cells[tuple(row)] = cells.get(tuple(row), 0) + times
    return np.array(list(cells.values()), dtype=float)


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("ess", [None, 1.0, 25.0])
def test_cell_sums(ess, merged):
    rng = np.random.default_rng(1)
    cardinalities = np.array([2, 3, 2, 4, 2, 3])
    columns = np.array([rng.integers(r, size=60) for r in cardinalities], dtype=np.int32)
    columns[1, :40] = columns[0, :40]
    repeats = rng.integers(1, 5, size=60) if merged else np.ones(60, dtype=np.int64)
    values = cell_sums(columns, cardinalities, repeats, ess or 0.0, np.inf, 2)
    for nodes in range(64):
        chosen = _members(nodes, 6)
        counts = _counts(columns, repeats, chosen)
        if ess is None:
            expected = (counts * np.log(counts)).sum()
        else:
            a = ess / cardinalities[chosen].prod()
            expected = (gammaln(counts + a) - gammaln(a)).sum()
        assert values[nodes] == pytest.approx(expected, rel=1e-11, abs=1e-9)


def test_sets_above_the_limit_are_left_out_and_no_others():
    rng = np.random.default_rng(2)
    cardinalities = np.array([2, 3, 2, 4])
    columns = np.array([rng.integers(r, size=30) for r in cardinalities], dtype=np.int32)
    ones = np.ones(30, dtype=np.int64)
    full, cut = (cell_sums(columns, cardinalities, ones, 0.0, limit, 2) for limit in (np.inf, 8))
    cells = np.array([cardinalities[_members(nodes, 4)].prod() for nodes in range(16)])
    assert np.isnan(cut[cells > 8]).all()
    np.testing.assert_array_equal(cut[cells <= 8], full[cells <= 8])
