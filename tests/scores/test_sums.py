from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

from drbo.scores.sums import log_sum_exp, sum_nodes

pytestmark = pytest.mark.floats

EPS = {np.float32: 2.0**-24, np.float64: 2.0**-53}  # of one addition, relative


def _by_hand(row):
    """The same additions, one at a time."""
    while len(row) > 1:
        kept = -(-len(row) // 2)
        row = [row[i] + row[kept + i] if kept + i < len(row) else row[i] for i in range(kept)]
    return row[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 3, 5, 8, 30, 101])
def test_sums_are_those_of_one_order_and_nearly_exact(d, dtype, rng):
    values = (rng.normal(size=(20, d)) * 10.0 ** rng.uniform(-3, 6, (20, d))).astype(dtype)
    for row, total in zip(values, sum_nodes(values), strict=True):
        assert total == _by_hand(list(row))
        exact = sum(Fraction(float(x)) for x in row)
        assert abs(Fraction(float(total)) - exact) <= EPS[dtype] * np.ceil(np.log2(d)) * 1.01 * np.abs(row).sum()


@pytest.mark.parametrize("way", [sum_nodes, log_sum_exp])
def test_neither_shape_nor_strides_matter(way, rng):
    """Any part of a batch, in any layout, has the bits that it has in the whole."""
    for _ in range(30):
        d, n, draws = (int(rng.integers(1, high)) for high in (40, 300, 20))
        values = rng.normal(size=(d, n, draws)) * 10.0 ** rng.uniform(-2, 1)
        whole = way(values.transpose(1, 2, 0))
        start, end = sorted(rng.integers(0, n + 1, 2))
        part = values[:, start:end].transpose(1, 2, 0)
        assert np.array_equal(way(part), whole[start:end])
        assert np.array_equal(way(np.ascontiguousarray(part)), whole[start:end])
        assert np.array_equal(way(values[:, :, 0].T), whole[:, 0])


def test_what_is_summed_is_left_alone(rng):
    values = rng.normal(size=(4, 7))
    for given in (values, np.broadcast_to(values[0], (4, 7))):
        before = given.copy()
        sum_nodes(given)
        log_sum_exp(given)
        assert np.array_equal(given, before)


def test_nothing_sums_to_zero():
    assert sum_nodes(np.empty((3, 0))).tolist() == [0.0, 0.0, 0.0]


def test_logarithms_of_sums_are_scipys(rng):
    values = rng.normal(size=(50, 6)) * 100
    values[0] = -np.inf
    values[1, 0] = np.inf
    values[2, 0] = -np.inf
    values[3] += 1e4
    np.testing.assert_allclose(log_sum_exp(values), logsumexp(values, axis=-1), rtol=1e-14)
