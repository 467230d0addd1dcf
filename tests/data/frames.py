"""A frame of two good columns and one that is to be judged."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from drbo.data.checks.check import check_table
from drbo.errors import DataError

N = 8
RNG = np.random.default_rng(0)
GOOD = {"a": RNG.normal(size=N), "b": RNG.normal(size=N)}


def checked(column: Any, name: str = "z", **options: Any) -> tuple[str, list[float], Any, tuple[str, ...]]:
    """Return kind, values, levels and notes of one column beside two good ones."""
    table, notes = check_table(pd.DataFrame(GOOD | {name: column}), **options)
    return table.kinds[2], table.values[:, 2].tolist(), table.levels[2], notes


def refused(column: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        checked(column)
    assert "'z'" in caught.value.message
    assert caught.value.hint
    return caught.value


def numbers(*first: Any) -> list[Any]:
    """A column of text in which all further cells are numbers."""
    return [*first, *(str(value) for value in range(2, 2 + N - len(first)))]
