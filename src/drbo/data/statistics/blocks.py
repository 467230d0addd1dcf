"""Works on large tables in blocks."""

from collections.abc import Iterator

import numpy as np

from drbo.arrays import Floats, Indices

#: A table of more cells (128 MiB) is large: it is held column by column, and no step makes a copy of it as a whole.
LARGE_CELLS = 2**24
#: Cells of the columns that are sorted together, and rows that are taken together.
SLAB_CELLS, BLOCK_ROWS = 2**21, 2**14


def is_large(n_rows: int, n_columns: int) -> bool:
    """Tell whether a table of this size is too large to be copied at every step."""
    return n_rows * n_columns > LARGE_CELLS


def row_blocks(n_rows: int) -> Iterator[slice]:
    """Yield the rows of a table, some at a time."""
    yield from (slice(start, min(start + BLOCK_ROWS, n_rows)) for start in range(0, n_rows, BLOCK_ROWS))


def by_columns(values: Floats) -> Floats:
    """Return a copy of an array (n, d) that holds column after column; made in blocks, which is much quicker."""
    copy = np.empty(values.shape, order="F")
    for part in row_blocks(len(values)):
        copy[part] = values[part]
    return copy


def gathered(values: Floats, rows: Indices, columns: Indices) -> Floats:
    """Return some rows and columns; a large table is held column by column."""
    if not is_large(len(rows), len(columns)):
        return np.ascontiguousarray(values[np.ix_(rows, columns)])
    found = np.empty((len(rows), len(columns)), order="F")
    for place, column in enumerate(columns):
        np.take(values[:, column], rows, out=found[:, place])
    return found


def slabs(n_rows: int, n_columns: int) -> list[Indices]:
    """Return the columns of a table, some at a time.

    Never one alone, whose sums numpy would add up in another order: the last bits of a column must not depend on it.
    """
    most = max(2, SLAB_CELLS // max(1, n_rows))
    return np.array_split(np.arange(n_columns), max(1, n_columns // most))
