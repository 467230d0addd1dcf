"""Checks every table before a score is built on it: shape, missing values, constant and collinear columns."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from drbo.arrays import Floats
from drbo.data.checks.columns import TEXT, Column, is_constant, read_column, read_numbers, shortened
from drbo.data.checks.dependence import find_dependent, find_relabelled, rank_is_telling
from drbo.data.checks.missing import complete_rows, missing_cells, note, refuse
from drbo.data.checks.weights import checked_weights
from drbo.data.reading.frames import as_frame
from drbo.data.reading.lines import check_width
from drbo.data.statistics.blocks import is_large
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.design import OnCollinear, OnConstant
from drbo.errors import DataError, first_of

if TYPE_CHECKING:
    import pandas as pd

MIN_ROWS = 3
MIN_COLUMNS = 2
#: So many columns of text have a note each, or are named in one note.
FEW_NOTES = 3


def check_table(
    data: Any,
    *,
    on_constant: OnConstant = "error",
    on_collinear: OnCollinear = "error",
    missing: Literal["error", "drop", "keep"] = "error",
) -> tuple[Statistics, tuple[str, ...]]:
    """Return the data as a checked table, and notes about what was decided or should be known.

    Numbers are numeric columns. Booleans, text and pandas categories are categorical columns; their levels are sorted
    as text, except that ordered categories keep their order. Whether data is accepted does not depend on the order of
    its rows or columns. Rows in messages are counted from 0.

    Parameters
    ----------
    data : anything that :func:`drbo.data.reading.frames.as_frame` takes; left alone.
    on_constant : what to do with a column that never changes.
    on_collinear : what to do with a column that copies another one, or is an exact linear combination of others. Of
        such a set the columns that come first by name are kept. A categorical column with the same groups of rows as
        another one is never refused: with ``"error"`` it is kept, and a note says so.
    missing : ``"drop"``: leave out rows with a missing value, and say so; ``"keep"``: the table has NaN in their place,
        for those who know what to do with it.

    Examples
    --------
    >>> table, notes = check_table([[1.0, "a"], [2.5, "b"], [0.5, "a"]])
    >>> table.kinds, table.levels, notes
    (('numeric', 'categorical'), (None, ('a', 'b')), ("column 'x1' contains text and ...",))
    """
    notes = list[str]()
    table = read_columns(as_frame(data), missing, notes)
    table = apply_policy(table, find_constant(table), "on_constant", on_constant, notes)
    table = without_collinear(table, on_collinear, notes)
    if table.n_rows < table.n_columns:
        notes.append(f"there are fewer rows ({table.n_rows}) than columns ({table.n_columns}): expect false edges")
    return table, tuple(notes)


def read_columns(frame: "pd.DataFrame", missing: str, notes: list[str]) -> Statistics:
    """Decide the kind of every column, and refuse, drop or keep rows with missing values."""
    check_shape(*frame.shape)
    missing_here = missing_cells(frame)
    if missing == "drop" and missing_here.any():
        notes.append(note(frame, missing_here, missing))
        kept = complete_rows(frame)
        frame, missing_here = frame.loc[kept].reset_index(drop=True), missing_here[kept]
    elif missing == "error":
        refuse(frame, missing_here)
    columns = [read_column(name, frame[name], missing_here[:, j]) for j, name in enumerate(frame.columns)]
    notes += _column_notes(dict(zip(frame.columns, columns, strict=True)))
    kinds, levels = (tuple(part) for part in zip(*((one.kind, one.levels) for one in columns), strict=True))
    return Statistics(_stacked(frame, columns), tuple(frame.columns), kinds, levels)


def _column_notes(columns: Mapping[str, Column]) -> list[str]:
    """Return what there is to say of columns; many columns of text have one note."""
    text = [name for name, column in columns.items() if TEXT in column.note]
    if len(text) <= FEW_NOTES:
        return [column.note for column in columns.values() if column.note]
    named = first_of((f"'{name}' ({len(columns[name].levels or ())} levels)" for name in text), FEW_NOTES)
    joined = f"{len(text)} columns contain text and are treated as categorical: {named}"
    return [joined, *(column.note for name, column in columns.items() if column.note and name not in text)]


def without_collinear(table: Statistics, on_collinear: str, notes: list[str]) -> Statistics:
    """Refuse, drop or keep columns that other columns determine; what there is to say is added to the notes."""
    if table.large and current().over():
        notes.append("the table was not checked for collinear columns: time ran out")
        return table
    whole = _complete(table)
    if whole is None:
        notes.append("there are too few complete rows to check for collinear columns")
        return table
    if not rank_is_telling(whole):
        notes.append(
            "there are too few rows to check for linear combinations: numeric columns were compared only in pairs"
        )
    relabelled = find_relabelled(whole)
    dependent = {j: fault for j, fault in find_dependent(whole).items() if j not in relabelled}
    if on_collinear == "error":  # scores of categories can work with equal groups
        table = apply_policy(table, dependent, "on_collinear", on_collinear, notes)
        return apply_policy(table, relabelled, "on_collinear", "keep", notes)
    return apply_policy(table, dict(sorted((dependent | relabelled).items())), "on_collinear", on_collinear, notes)


def find_fixed(table: Statistics) -> dict[int, str]:
    """Return the columns that a check refuses because others determine them, and how."""
    whole = _complete(table)
    if whole is None:
        return {}
    relabelled = find_relabelled(whole)
    return {j: fault for j, fault in find_dependent(whole).items() if j not in relabelled}


def recheck(table: Statistics) -> None:
    """Refuse a table that :func:`check_table` could not have made; for one that was read back from a file."""
    check_shape(table.n, table.n_columns)
    if len(set(table.names)) < table.n_columns:
        raise DataError("two columns have the same name")
    if not table.whole:  # a sample of their rows may be constant
        if not all(np.isfinite(part.values).all() for part in (table, table.rows_in_order)):
            raise DataError("a sample of rows is not complete")
        return
    for name, kind, levels, column in zip(table.names, table.kinds, table.levels, table.values.T, strict=True):
        cells = column[~np.isnan(column)]
        values = cells if len(cells) == 0 else read_numbers(name, cells).values
        if len(values) == 0 or is_constant(values.min(), values.max()):
            raise DataError(f"column '{name}' is constant")
        codes = () if kind == "numeric" else np.arange(len(levels or ()))
        if (levels is None) != (kind == "numeric") or (levels is not None and not np.isin(cells, codes).all()):
            raise DataError(f"column '{name}' is not {kind}")
    if table.weights is not None and (checked_weights(table.weights, table.n_rows) == 0).any():
        raise DataError("a row has the weight 0")


def _stacked(frame: "pd.DataFrame", columns: list[Column]) -> Floats:
    """Return the columns side by side; those of a large table stay where the frame has them, if they can."""
    n_rows, n_columns = frame.shape
    if not is_large(n_rows, n_columns):
        return np.column_stack([column.values for column in columns])
    if all(dtype == np.float64 for dtype in frame.dtypes):
        whole = frame.to_numpy()
        if all(np.shares_memory(whole[:, j], column.values) for j, column in enumerate(columns)):
            return whole
    stacked = np.empty((n_rows, n_columns), order="F")
    for j, column in enumerate(columns):
        stacked[:, j] = column.values
    return stacked


def check_shape(n_rows: int, n_columns: int) -> None:
    """Refuse a table with too few rows or columns, or too many columns."""
    check_width(n_columns, "the table")
    for count, least, what in ((n_rows, MIN_ROWS, "sample"), (n_columns, MIN_COLUMNS, "feature")):
        if count < least:  # the sentence that scikit-learn uses
            raise DataError(
                f"Found array with {count} {what}(s) (shape=({n_rows}, {n_columns})) "
                f"while a minimum of {least} is required.",
                hint=f"a table needs at least {MIN_ROWS} rows and {MIN_COLUMNS} columns",
            )


def _complete(table: Statistics) -> Statistics | None:
    """Return the rows without a missing cell; None where they are too few, or a column does not vary in them."""
    if not table.incomplete:
        return table
    whole = table.complete_rows
    if whole.n_rows < MIN_ROWS or any(is_constant(column.min(), column.max()) for column in whole.values.T):
        return None
    return whole


def find_constant(table: Statistics) -> dict[int, str]:
    """Return the columns that never change, and the value of each in words."""
    found = {}
    for j, levels in enumerate(table.levels):
        column = table.values[:, j]
        low, high = float(column.min()), float(column.max())
        if np.isnan(low):
            column = column[~np.isnan(column)]
            low, high = float(column.min()), float(column.max())
        if is_constant(low, high):
            found[j] = constant_words(column[0], levels)
    return found


def constant_words(value: float, levels: Sequence[str] | None) -> str:
    """Say that a column never changes, with the beginning of its value.

    Examples
    --------
    >>> constant_words(0.0, ("low",)), constant_words(2.5, None)
    ('is constant (every row contains low)', 'is constant (every row contains 2.5)')
    """
    return f"is constant (every row contains {f'{levels[int(value)]:.80}' if levels else f'{value:g}'})"


def apply_policy(table: Statistics, faults: dict[int, str], option: str, policy: str, notes: list[str]) -> Statistics:
    """Refuse, drop or keep the columns with a fault; ``faults`` says of each what it is."""
    if not faults:
        return table
    named = {f"column '{table.names[j]}'": fault for j, fault in faults.items()}
    if policy == "error":
        keep = "" if option == "on_constant" else f', or keep it with {option}="keep"'
        raise DataError(
            shortened(f"{column} {fault}" for column, fault in named.items()),
            hint=f'drop it with {option}="drop"{keep}',
        )
    if policy == "keep":
        notes.extend(f"kept {column}, although it {fault}" for column, fault in named.items())
        return table
    notes.extend(f"dropped {column}, because it {fault}" for column, fault in named.items())
    kept = np.array([j for j in range(table.n_columns) if j not in faults], dtype=np.intp)
    if len(kept) < MIN_COLUMNS:
        raise DataError(
            f"only {len(kept)} column(s) left, but at least {MIN_COLUMNS} are needed: dropped "
            + shortened(f"{column}, which {fault}" for column, fault in named.items()),
            hint="add columns that are not constant and not determined by others",
        )
    return table.take(np.arange(table.n_rows), kept)
