"""A random sample of the rows of a table that is not held in memory, as they are: text, missing cells and all."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from drbo.data.statistics import sums
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def sampled(pieces: Iterable["pd.DataFrame"], seed: int = 0) -> tuple["pd.DataFrame", int]:
    """Return rows that were drawn at random, in the order of the table, and how many rows the table has.

    The draw depends on the seed and not on the size of the pieces. All rows are returned if they are few.

    Examples
    --------
    >>> import pandas as pd
    >>> frame, n_rows = sampled(pd.DataFrame({"a": [k, k], "b": "x"}) for k in range(3))
    >>> frame["a"].tolist(), n_rows
    ([0, 0, 1, 1, 2, 2], 6)
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    kept, keys, n_rows, threshold, size = list[pd.DataFrame](), list[np.ndarray](), 0, np.inf, 0
    for piece in pieces:
        size = size or max(sums.SAMPLE_ROWS, sums.SAMPLE_CELLS // max(1, piece.shape[1]))
        drawn = rng.random(len(piece))
        taken = np.flatnonzero(drawn < threshold)
        kept.append(piece.iloc[taken])
        keys.append(drawn[taken])
        n_rows += len(piece)
        if sum(map(len, keys)) >= 2 * size:
            kept, keys = _smallest(kept, keys, size)
            threshold = float(keys[0].max())
    if not n_rows:
        raise DataError("the table has 0 rows", hint="a table needs at least 3 rows")
    kept, _ = _smallest(kept, keys, size)
    return kept[0], n_rows


def _smallest(
    kept: list["pd.DataFrame"], keys: list[np.ndarray], size: int
) -> tuple[list["pd.DataFrame"], list[np.ndarray]]:
    """Leave out all rows but those with the smallest keys."""
    import pandas as pd

    rows, drawn = pd.concat(kept, ignore_index=True), np.concatenate(keys)
    if len(drawn) <= size:
        return [rows], [drawn]
    smallest = np.sort(np.argpartition(drawn, size)[:size])
    return [rows.iloc[smallest].reset_index(drop=True)], [drawn[smallest]]
