"""Columns of few values as codes 0, 1, ..., and several of them together as one."""

import numpy as np
import numpy.typing as npt

from drbo.arrays import Ints
from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError

#: A numeric column with more distinct values than this counts as continuous.
MAX_LEVELS = 32
#: Codes of configurations stay below this, so that one more digit cannot overflow int64.
CODE_LIMIT = 2**62


def level_codes(table: Statistics, score_name: str) -> tuple[npt.NDArray[np.int32], Ints]:
    """Return the codes 0, 1, ... of every column as (d, n), and the number of levels of each column.

    A categorical column has the levels it declares; a numeric one those that occur.
    """
    codes = np.empty((table.n_columns, table.n_rows), dtype=np.int32)
    cardinalities = np.empty(table.n_columns, dtype=np.int64)
    limit = max(2, min(MAX_LEVELS, table.n_rows // 2))
    for column, (name, levels) in enumerate(zip(table.names, table.levels, strict=True)):
        if levels is not None:
            codes[column], cardinalities[column] = table.values[:, column], len(levels)
        else:
            values, codes[column] = np.unique(table.values[:, column], return_inverse=True)
            cardinalities[column] = len(values)
            if len(values) > limit:
                raise ScoreError(
                    f"column '{name}' is continuous: it has {len(values)} distinct values in {table.n_rows} rows, "
                    f"but {score_name} accepts at most {limit}",
                    hint="use score='auto' or 'mixed', bin the column, or declare it categorical",
                )
        if cardinalities[column] < 2:
            raise ScoreError(
                f"column '{name}' has 1 distinct value, but {score_name} requires at least 2", hint="drop the column"
            )
    return codes, cardinalities


def configurations(
    columns: npt.NDArray[np.int32],  # (p, n) codes
    cardinalities: Ints,  # (p,)
) -> tuple[Ints, int]:
    """Return one code per row, equal exactly for rows with equal codes, and a bound on the codes.

    The columns are the digits of a number with mixed radix; codes are renumbered before they would overflow.
    """
    code = np.zeros(columns.shape[1], dtype=np.int64)
    span = 1
    for column, cardinality in zip(columns, cardinalities.tolist(), strict=True):
        if span * cardinality > CODE_LIMIT:
            code, span = renumbered(code)
        code *= cardinality
        code += column
        span *= cardinality
    return code, span


def renumbered(code: Ints) -> tuple[Ints, int]:
    """Return codes from 0 to the number of different ones, and that number."""
    values, places = np.unique(code, return_inverse=True)
    return places.astype(np.int64), len(values)
