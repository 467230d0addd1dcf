"""Long tables of numbers and categories: which categories there are, and their indicators."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.arrays import Floats, Indices
from drbo.data.checks.columns import is_number_text, read_column
from drbo.data.reading.source import Source, frames_of
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


#: Different categories of a column, at most: beyond it, indicators take too much memory.
MOST_LEVELS = 2**12
#: Rows that tell whether a column holds categories.
FIRST_ROWS = 10_000


def levels_of(source: Source, first: "pd.DataFrame") -> dict[str, tuple[str, ...]]:
    """Return the columns that hold categories by the first rows of a table, and the categories in all of its rows."""
    names = [str(name) for name, column in first.iloc[:FIRST_ROWS].items() if _is_category(str(name), column)]
    found: dict[str, set[str]] = {name: set() for name in names}
    for part in source.parts() if names else ():
        with closing(frames_of(part)) as frames:
            for frame in frames:
                for name in set(names) & set(frame.columns):
                    found[name] |= set(_texts(frame[name]).dropna().unique().tolist())
                    _check_number(name, found[name], part.name)
    return {name: tuple(sorted(levels)) for name, levels in found.items()}


def codes_of(column: "pd.Series[Any]", levels: Sequence[str], where: str) -> Floats:
    """Return the place of each cell among the categories; NaN where it is missing."""
    import pandas as pd

    missing = column.isna().to_numpy()
    codes = pd.Index(levels).get_indexer(pd.Index(_texts(column))).astype(np.float64)
    codes[missing] = np.nan
    if (codes < 0).any():
        raise DataError(
            f"{where}: column '{column.name}' has categories that were not there when the files were first read",
            hint="do not change files while they are read",
        )
    return codes


@dataclass(frozen=True, eq=False)
class Indicators:
    """Numbers as they are, and for every category but the last of its column whether a row has it."""

    levels: tuple[tuple[str, ...] | None, ...]

    @property
    def widths(self) -> Indices:
        """Functions of each column (d,)."""
        return np.array([1 if levels is None else max(1, len(levels) - 1) for levels in self.levels], dtype=np.intp)

    def __call__(self, rows: Floats) -> Floats:
        """Return the functions of some rows; those of a missing cell are missing."""
        widths, found = self.widths, np.empty((len(rows), int(self.widths.sum())), order="F")
        for j, (levels, end) in enumerate(zip(self.levels, np.cumsum(widths), strict=True)):
            column = rows[:, j]
            if levels is None:
                found[:, end - 1] = column
                continue
            for k, place in enumerate(range(end - widths[j], end)):
                np.equal(column, k, out=found[:, place], casting="unsafe")
                found[np.isnan(column), place] = np.nan
        return found


def _is_category(name: str, column: "pd.Series[Any]") -> bool:
    """Tell whether a column is one of categories; refuse dates, and text that names every row."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if is_numeric_dtype(column) and not is_bool_dtype(column):
        return False
    cells = column.dropna()
    if all(isinstance(cell, str) and (not cell.strip() or is_number_text(cell)) for cell in cells):
        return False
    return read_column(name, column, column.isna().to_numpy()).kind == "categorical"


def _texts(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return cells as text; missing ones stay missing."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    texts = column.astype(str)
    return texts.where(column.notna())


def _check_number(name: str, levels: set[str], what: str) -> None:
    if len(levels) > MOST_LEVELS:
        raise DataError(
            f"{what}: column '{name}' has more than {MOST_LEVELS:,} different texts, too many for categories",
            hint=f"leave it out with --drop {name}, or merge its values into fewer groups",
        )
