from fractions import Fraction

import numpy as np
import pytest
import torch

from drbo.scores.sums import log_sum_exp, sum_nodes

pytestmark = pytest.mark.floats

EPS = {torch.float32: 2.0**-24, torch.float64: 2.0**-53}  # of one addition, relative


def _by_hand(row):
    """The same additions, one at a time."""
    while len(row) > 1:
        kept = -(-len(row) // 2)
        row = [row[i] + row[kept + i] if kept + i < len(row) else row[i] for i in range(kept)]
    return row[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("d", [1, 2, 3, 5, 8, 30, 101])
def test_sums_are_those_of_one_order_and_nearly_exact(d, dtype, rng):
    values = torch.as_tensor(rng.normal(size=(20, d)) * 10.0 ** rng.uniform(-3, 6, (20, d)), dtype=dtype)
    for row, total in zip(values.numpy(), sum_nodes(values).numpy(), strict=True):
        assert total == _by_hand(list(row))
        exact = sum(Fraction(float(x)) for x in row)
        assert abs(Fraction(float(total)) - exact) <= EPS[dtype] * np.ceil(np.log2(d)) * 1.01 * np.abs(row).sum()


@pytest.mark.parametrize("way", [sum_nodes, log_sum_exp])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_neither_shape_nor_strides_nor_threads_matter(way, dtype, rng):
    """Any part of a batch, in any layout, has the bits that it has in the whole."""
    before = torch.get_num_threads()
    try:
        for _ in range(30):
            d, n, draws = (int(rng.integers(1, high)) for high in (40, 300, 20))
            values = torch.as_tensor(rng.normal(size=(d, n, draws)) * 10.0 ** rng.uniform(-2, 1), dtype=dtype)
            whole = way(values.permute(1, 2, 0))
            start, end = sorted(rng.integers(0, n + 1, 2))
            part = values[:, start:end].permute(1, 2, 0)
            torch.set_num_threads(int(rng.integers(1, 4)))
            assert torch.equal(way(part), whole[start:end])
            assert torch.equal(way(part.contiguous()), whole[start:end])
            assert torch.equal(way(values[:, :, 0].T), whole[:, 0])
    finally:
        torch.set_num_threads(before)


def test_what_is_summed_is_left_alone(rng):
    values = torch.as_tensor(rng.normal(size=(4, 7)))
    for given in (values, values[:1].expand(4, 7)):
        before = given.clone()
        sum_nodes(given)
        log_sum_exp(given)
        assert torch.equal(given, before)


def test_nothing_sums_to_zero():
    assert sum_nodes(torch.empty(3, 0)).tolist() == [0.0, 0.0, 0.0]


def test_logarithms_of_sums_are_torchs(rng):
    values = torch.as_tensor(rng.normal(size=(50, 6)) * 100)
    values[0] = -torch.inf
    values[1, 0] = torch.inf
    values[2, 0] = -torch.inf
    values[3] += 1e4
    assert torch.allclose(log_sum_exp(values), torch.logsumexp(values, -1), rtol=1e-14)
