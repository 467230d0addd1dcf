import numpy as np
import pytest

from drbo.data.statistics.content_order import column_order, row_order


@pytest.mark.parametrize("seed", range(30))
def test_rows_are_sorted_as_by_all_keys_at_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 1 + rng.integers(4), size=(1 + rng.integers(5), 1 + rng.integers(60))).astype(float)
    keys[rng.random(keys.shape) < 0.1] = np.nan
    keys[rng.random(keys.shape) < 0.1] = -0.0
    assert row_order(keys.shape[1], keys).tolist() == np.lexsort(keys[::-1]).tolist()


def test_columns_are_ordered_by_content_up_to_sign_and_unit(rng):
    values = rng.normal(size=(40, 6))
    values[:, 3] = values[::-1, 2]  # equal margins
    order, _ = column_order(values, "abcdef")
    shuffled = rng.permutation(6)
    other, _ = column_order(values[:, shuffled] * [-1.0, 3.0, -0.2, 1.0, -7.0, 2.0], "uvwxyz")
    assert shuffled[other].tolist() == order.tolist()
