import numpy as np

from drbo.data.statistics.blocks import BLOCK_ROWS, by_columns, gathered, is_large, row_blocks, slabs


def test_blocks_cover_all_rows() -> None:
    rows = np.concatenate([np.arange(40_000)[part] for part in row_blocks(40_000)])
    assert rows.tolist() == list(range(40_000))


def test_slabs_hold_every_column_once_and_never_one_alone():
    for n_columns in (2, 3, 50, 101):
        parts = slabs(10**6, n_columns)
        assert np.concatenate(parts).tolist() == list(range(n_columns))
        assert min(map(len, parts)) >= 2


def test_copies_hold_the_same_cells(rng):
    values = rng.normal(size=(BLOCK_ROWS + 3, 2))
    assert (by_columns(values) == values).all()
    rows, columns = rng.permutation(len(values))[:9], np.array([1, 0])
    assert (gathered(values, rows, columns) == values[rows][:, columns]).all()
    assert not is_large(*values.shape)
