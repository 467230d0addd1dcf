"""Missing values: where they are, and how each policy describes what it does with them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.arrays import Bools
from drbo.data.checks.columns import is_number_text
from drbo.data.reading.number_text import with_columns
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


MIN_ROWS = 3
SHOWN = 5  # columns in a message


def table_policy(policy: str) -> Any:
    """Return what the check of a table does about missing values, so that an estimator can follow a policy.

    Examples
    --------
    >>> [table_policy(policy) for policy in ("error", "drop", "em", "impute")]
    ['error', 'drop', 'keep', 'keep']
    """
    return "keep" if policy in ("em", "impute") else policy


def missing_cells(frame: "pd.DataFrame") -> Bools:
    """Return (n, d) True for cells without a value: NaN, None, NaT, and text of blanks alone."""
    import pandas as pd

    found: Bools = np.asfortranarray(frame.isna().to_numpy())  # read column by column
    objects = [place for place, kind in enumerate(frame.dtypes) if kind.kind in "OU"]
    found = found.copy(order="F") if objects else found
    for place in objects:
        column = frame.iloc[:, place]
        if pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column):
            found[:, place] |= [isinstance(cell, str) and not cell.strip() for cell in column.tolist()]
    return found


def without_markers(frame: "pd.DataFrame", markers: Sequence[str], notes: list[str]) -> "pd.DataFrame":
    """Return a table without the cells that mean that a value is missing; what was found is added to the notes.

    A column of text whose other cells are all numbers is one of numbers then.
    """
    import pandas as pd

    new, counts = dict[str, Any](), dict.fromkeys(markers, 0)
    for name in frame.columns if markers else ():
        column, lost = frame[name], np.zeros(len(frame), dtype=bool)
        for marker in markers:
            found = is_marker(column, marker)
            counts[marker] += int(found.sum())
            lost |= found
        if not lost.any():
            continue
        kept = column.mask(lost)
        if column.dtype.kind == "O":
            cells = kept[~missing_cells(frame[[name]])[:, 0] & ~lost].tolist()
            if cells and all(isinstance(cell, str) and is_number_text(cell) for cell in cells):
                kept = pd.to_numeric(kept.where(kept.notna(), None), errors="coerce")
        new[name] = kept
    notes += [f"{marker!r:.40} means missing in {count} cells" for marker, count in counts.items()]
    return with_columns(frame, new)


def is_marker(column: "pd.Series[Any]", marker: str) -> Bools:
    """Return (n,) True for the cells that are this text, or this number."""
    import pandas as pd

    number = float(marker) if is_number_text(marker) or marker.lstrip("+-").lower() == "inf" else None
    types = pd.api.types
    if types.is_numeric_dtype(column) and not types.is_bool_dtype(column):
        return np.zeros(len(column), dtype=bool) if number is None else (column == number).fillna(False).to_numpy(bool)
    return np.array(
        [
            cell.strip() == marker
            if isinstance(cell, str)
            else number is not None and isinstance(cell, int | float) and cell == number
            for cell in column.tolist()
        ],
        dtype=bool,
    )


def refuse(frame: "pd.DataFrame", missing: Bools) -> None:
    """Refuse a table with missing cells, naming the columns."""
    if missing.any():
        raise DataError(
            f"Input contains NaN: missing values in {missing_in_words(frame, missing)}",
            hint='use missing="drop", missing="em" or missing="impute", fill in the values yourself, or drop the '
            "columns",
        )


def complete_rows(frame: "pd.DataFrame") -> Bools:
    """Return (n,) True for rows in which no cell is missing; an error where fewer than 3 are left."""
    missing = missing_cells(frame)
    kept: Bools = np.asarray(~missing.any(axis=1))
    if kept.sum() < MIN_ROWS and missing.any():
        raise DataError(
            f"only {int(kept.sum())} of {len(frame)} rows have no missing value, but at least {MIN_ROWS} are "
            f"needed: missing in {missing_in_words(frame, missing)}",
            hint='use missing="em" or missing="impute", or drop the columns with the most missing values',
        )
    return kept


def note(frame: "pd.DataFrame", missing: Bools, policy: str) -> str:
    """Return what a policy does with the missing cells of a table, and what it takes for granted."""
    return said(policy, len(frame), int(missing.any(axis=1).sum()), int(missing.sum()))


def said(policy: str, n: int, rows: int, cells: int) -> str:
    """Return what a policy does with so many missing cells in so many of n rows, and what it takes for granted."""
    if policy == "drop":
        words = f"dropped {rows} of {n} rows; valid only if values are missing completely at random (MCAR)"
    elif policy == "em":
        words = (
            f"{cells} missing cells in {rows} of {n} rows; the covariance is estimated by EM, which is valid if "
            "columns are jointly Gaussian and values are missing at random (MAR)"
        )
    else:
        words = (
            f"{cells} missing cells in {rows} of {n} rows are imputed several times with values from similar rows, "
            "which is valid if values are missing at random (MAR)"
        )
    return f'missing="{policy}": {words}'


def missing_in_words(frame: "pd.DataFrame", missing: Bools) -> str:
    """Return which columns have missing cells, and how many."""
    counts = missing.sum(axis=0)
    places = np.flatnonzero(counts)
    named = [f"column '{frame.columns[j]}' ({counts[j]} of {len(frame)} rows)" for j in places[:SHOWN]]
    return "; ".join(named) + (f"; and {len(places) - SHOWN} more" if len(places) > SHOWN else "")
