"""The preflight: every table is checked here, in words, before a score sees it."""

import datetime
import re
from collections.abc import Iterable
from numbers import Number
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from drbo.data.dependence import find_dependent, rank_is_telling
from drbo.data.missing import complete_rows, missing_cells, note, refuse
from drbo.data.read import as_frame
from drbo.data.table import Kind, Table, is_large
from drbo.data.text import MAX_COLUMNS, NUMBER
from drbo.data.weights import checked_weights
from drbo.deadline import current
from drbo.errors import DataError, SettingsError

if TYPE_CHECKING:
    import pandas as pd

FloatArray = npt.NDArray[np.float64]
#: What to do with a column that never changes, or that other columns determine.
OnConstant = Literal["error", "drop"]
OnCollinear = Literal["error", "drop", "keep"]

MIN_ROWS = 3
MIN_COLUMNS = 2
#: The square of a larger number, or of a smaller spread, leaves the range of floating-point numbers.
LARGEST = 1e150
SMALLEST_SPREAD = 1e-150
#: A column whose spread is this small a part of its values is constant up to rounding.
RELATIVE_SPREAD = 1e-13
#: Text with more different values than this, and than half of the rows, is no set of groups.
MANY_LEVELS = 50

_COMMA_NUMBER = re.compile(r"\s*[+-]?[\d.]*\d,\d+\s*")
_DATE = re.compile(r"\s*(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})([ T]\d{1,2}:.*)?\s*")


class CellTypeError(DataError, TypeError):
    """A cell holds neither a number nor text; also a TypeError, as scikit-learn asks of an estimator."""


class _Column(NamedTuple):
    kind: Kind
    values: FloatArray
    levels: tuple[str, ...] | None = None
    note: str = ""


def check_table(
    data: Any,
    *,
    on_constant: OnConstant = "error",
    on_collinear: OnCollinear = "error",
    missing: Literal["error", "drop", "keep"] = "error",
) -> tuple[Table, tuple[str, ...]]:
    """Return the data as a checked table, and notes about what was decided or should be known.

    Numbers are numeric columns. Booleans, text and pandas categories are categorical columns; their levels are sorted
    as text, except that ordered categories keep their order. Whether data is accepted does not depend on the order of
    its rows or columns. Rows in messages are counted from 0.

    Parameters
    ----------
    data : anything that :func:`drbo.data.read.as_frame` takes; left alone.
    on_constant : what to do with a column that never changes.
    on_collinear : what to do with a column that copies another one, or is an exact linear combination of others. Of
        such a set the columns that come first by name are kept.
    missing : ``"drop"``: leave out rows with a missing value, and say so; ``"keep"``: the table has NaN in their place,
        for those who know what to do with it.

    Examples
    --------
    >>> table, notes = check_table([[1.0, "a"], [2.5, "b"], [0.5, "a"]])
    >>> table.kinds, table.levels, notes
    (('numeric', 'categorical'), (None, ('a', 'b')), ("column 'x1' contains text and ...",))
    """
    _check_choice("on_constant", on_constant, get_args(OnConstant))
    _check_choice("on_collinear", on_collinear, get_args(OnCollinear))
    _check_choice("missing", missing, ("error", "drop", "keep"))
    frame, notes = as_frame(data), list[str]()
    _check_shape(*frame.shape)
    missing_here = missing_cells(frame)
    if missing == "drop" and missing_here.any():
        notes.append(note(frame, missing_here, missing))
        kept = complete_rows(frame)
        frame, missing_here = frame.loc[kept].reset_index(drop=True), missing_here[kept]
    elif missing == "error":
        refuse(frame, missing_here)
    columns = [_seen_column(name, frame[name], missing_here[:, j]) for j, name in enumerate(frame.columns)]
    table = Table(
        _stacked(frame, columns),
        tuple(frame.columns),
        tuple(column.kind for column in columns),
        tuple(column.levels for column in columns),
    )
    notes += [column.note for column in columns if column.note]
    table = _apply(table, _find_constant(table), "on_constant", on_constant, notes)
    if table.large and current().over():
        notes.append("the table was not checked for collinear columns: time ran out")
    elif (whole := _complete(table)) is None:
        notes.append("there are too few complete rows to check for collinear columns")
    else:
        if not rank_is_telling(whole):
            notes.append(
                "there are too few rows to check for linear combinations: numeric columns were compared only in pairs"
            )
        table = _apply(table, find_dependent(whole), "on_collinear", on_collinear, notes)
    if table.n_rows < table.n_columns:
        notes.append(f"there are fewer rows ({table.n_rows}) than columns ({table.n_columns}): expect false edges")
    return table, tuple(notes)


def recheck(table: Table) -> None:
    """Refuse a table that :func:`check_table` could not have made; for one that was read back from a file.

    Examples
    --------
    >>> recheck(Table.from_array(np.ones((3, 2)), names=["a", "b"]))
    Traceback (most recent call last):
        ...
    drbo.errors.DataError: column 'a' is constant
    """
    _check_shape(table.n_rows, table.n_columns)
    if len(set(table.names)) < table.n_columns:
        raise DataError("two columns have the same name")
    for name, kind, levels, column in zip(table.names, table.kinds, table.levels, table.values.T, strict=True):
        cells = column[~np.isnan(column)]
        values = cells if len(cells) == 0 else _numbers(name, cells).values
        if len(values) == 0 or _is_constant(values.min(), values.max()):
            raise DataError(f"column '{name}' is constant")
        codes = () if kind == "numeric" else np.arange(len(levels or ()))
        if (levels is None) != (kind == "numeric") or (levels is not None and not np.isin(cells, codes).all()):
            raise DataError(f"column '{name}' is not {kind}")
    if table.weights is not None and (checked_weights(table.weights, table.n_rows) == 0).any():
        raise DataError("a row has the weight 0")


def _stacked(frame: "pd.DataFrame", columns: list[_Column]) -> FloatArray:
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


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingsError(
            f"{name} must be one of {', '.join(choices)}, got {value!r}", hint=f"the default is '{choices[0]}'"
        )


def _check_shape(n_rows: int, n_columns: int) -> None:
    if n_columns > MAX_COLUMNS:
        raise DataError(
            f"the table has {n_columns} columns, but at most {MAX_COLUMNS} are allowed", hint="select fewer columns"
        )
    for count, least, what in ((n_rows, MIN_ROWS, "sample"), (n_columns, MIN_COLUMNS, "feature")):
        if count < least:  # the sentence that scikit-learn uses
            raise DataError(
                f"Found array with {count} {what}(s) (shape=({n_rows}, {n_columns})) "
                f"while a minimum of {least} is required.",
                hint=f"a table needs at least {MIN_ROWS} rows and {MIN_COLUMNS} columns",
            )


def _seen_column(name: str, column: "pd.Series[Any]", missing: npt.NDArray[np.bool_]) -> _Column:
    """Decide the kind of one column by the cells that are there; the others become NaN."""
    if not missing.any():
        return _column(name, column)
    if missing.all():
        raise DataError(f"column '{name}' has no value in any row", hint="drop the column")
    cells = column[~missing].reset_index(drop=True)
    found = _column(name, cells.infer_objects() if cells.dtype == object else cells)
    values = np.full(len(column), np.nan)
    values[~missing] = found.values
    return found._replace(values=values)


def _complete(table: Table) -> Table | None:
    """Return the rows without a missing cell; None where they are too few, or a column does not vary in them."""
    if not table.incomplete:
        return table
    whole = table.complete_rows
    if whole.n_rows < MIN_ROWS or any(_is_constant(column.min(), column.max()) for column in whole.values.T):
        return None
    return whole


def _column(name: str, column: "pd.Series[Any]") -> _Column:
    """Decide the kind of one column without missing values."""
    import pandas as pd

    types = pd.api.types
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _categories(name, column)
    if types.is_bool_dtype(column):
        codes = column.to_numpy(dtype=np.float64)
        return _Column(
            "categorical", codes, ("False", "True"), f"column '{name}' contains booleans and is treated as categorical"
        )
    if types.is_numeric_dtype(column):
        with np.errstate(over="ignore"):  # what float64 cannot hold becomes infinite, and is refused as such
            return _numbers(name, column.to_numpy(dtype=np.float64))
    if types.is_object_dtype(column) or types.is_string_dtype(column):
        return _cells(name, column.tolist())
    if column.dtype.kind in "mM" or isinstance(column.dtype, pd.PeriodDtype):
        raise _date_error(name, str(column.dtype).partition("[")[0])
    raise DataError(
        f"column '{name}' has dtype {column.dtype}: only numbers, booleans, text and categories can be used",
        hint="convert it to one of these types, or drop it",
    )


def _numbers(name: str, values: FloatArray) -> _Column:
    low, high = float(values.min()), float(values.max())
    if np.isinf(low) or np.isinf(high):
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise DataError(
            f"Input contains infinity: column '{name}', row {row} is {values[row]}",
            hint="replace it with a finite number, or drop the row",
        )
    if max(-low, high) > LARGEST:
        row = int(np.argmax(np.abs(values)))
        raise DataError(
            f"column '{name}' contains {values[row]:g} in row {row}, but absolute values must be below {LARGEST:g}",
            hint=f"rescale the column, for example divide it by {abs(values[row]):.0e}",
        )
    spread = high - low
    if not _is_constant(low, high) and spread < SMALLEST_SPREAD:
        raise DataError(
            f"column '{name}' varies by only {spread:g}, so that its variance is 0 in floating point",
            hint=f"rescale the column, for example divide it by {spread:.0e}",
        )
    return _Column("numeric", values)


def _is_constant(low: float, high: float) -> bool:
    """Tell whether values between these limits are the same up to rounding."""
    return bool(high - low <= RELATIVE_SPREAD * max(-low, high))


def _cells(name: str, cells: list[Any]) -> _Column:
    """Decide what a column of text or mixed objects is: numbers, groups, or a mistake."""
    for row, cell in enumerate(cells):
        if isinstance(cell, (datetime.date, datetime.time, datetime.timedelta)):
            raise _date_error(name, type(cell).__name__)
        if isinstance(cell, complex):
            raise DataError(f"Complex data not supported: column '{name}', row {row}", hint="use real numbers")
        if not isinstance(cell, (str, Number, bool, np.bool_)):
            raise CellTypeError(
                f"column '{name}', row {row}: argument must be a string or a number, not {type(cell).__name__}",
                hint="convert the column to numbers or text, or drop it",
            )
    is_text = np.array([isinstance(cell, str) for cell in cells])
    is_number = np.array([_is_number(cell) for cell in cells])
    if is_number.all() and not is_text.any():
        return _numbers(name, np.array([_as_float(cell) for cell in cells]))
    _check_text(name, cells, is_number)
    texts = np.array([str(cell) for cell in cells], dtype=object)
    levels = sorted(set(texts.tolist()))
    place = {level: code for code, level in enumerate(levels)}
    codes = np.array([place[text] for text in texts], dtype=np.float64)
    return _grouped(
        name, codes, levels, f"column '{name}' contains text and is treated as categorical with {len(levels)} levels"
    )


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return NUMBER.fullmatch(cell) is not None
    return isinstance(cell, Number) and not isinstance(cell, bool)


def _as_float(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:  # a Python integer has no largest value
        return float("inf")


def _check_text(name: str, cells: list[Any], is_number: npt.NDArray[np.bool_]) -> None:
    """Refuse numbers in disguise, numbers with a few bad cells, and dates."""
    is_comma = np.array([isinstance(cell, str) and _COMMA_NUMBER.fullmatch(cell) is not None for cell in cells])
    is_date = np.array([isinstance(cell, str) and _DATE.fullmatch(cell) is not None for cell in cells])
    if is_date.mean() > 0.5:
        raise _date_error(name, _short(cells[int(np.argmax(is_date))]))
    if is_comma.any() and (is_comma | is_number).mean() > 0.5:
        row = int(np.argmax(is_comma))
        raise DataError(
            f"column '{name}' contains numbers with a decimal comma, such as {_short(cells[row])} in row {row}",
            hint="write 12.5 instead of 12,5, or read the file with pandas.read_csv(path, sep=';', decimal=',')",
        )
    if is_number.all():
        row = next(row for row, cell in enumerate(cells) if isinstance(cell, str))
        raise DataError(
            f"column '{name}' contains numbers stored as text, such as {_short(cells[row])} in row {row}",
            hint=f"convert it with frame['{name}'].astype(float); for labels use astype('category')",
        )
    if is_number.mean() > 0.5:
        bad = np.flatnonzero(~is_number)
        others = f"; {len(bad) - 1} more cells are not numbers" if len(bad) > 1 else ""
        raise DataError(
            f"column '{name}' is mostly numeric, but row {bad[0]} contains {_short(cells[bad[0]])}{others}",
            hint=f"correct or drop these rows; for labels use frame['{name}'].astype('category')",
        )


def _categories(name: str, column: "pd.Series[Any]") -> _Column:
    declared = [str(level) for level in column.cat.categories]
    if len(set(declared)) < len(declared):
        raise DataError(f"column '{name}' has two categories with the same text", hint="rename one of them")
    codes = column.cat.codes.to_numpy()
    used = sorted(set(codes.tolist()), key=None if column.cat.ordered else lambda code: declared[code])
    place = np.zeros(len(declared))
    place[used] = np.arange(len(used))
    unused = [repr(level) for code, level in enumerate(declared) if code not in used]
    note = f"column '{name}': ignored {_listed(unused)}, which no row uses" if unused else ""
    return _grouped(name, place[codes], [declared[code] for code in used], note)


def _grouped(name: str, codes: FloatArray, levels: list[str], note: str) -> _Column:
    n_rows, n_levels = len(codes), len(levels)
    if n_levels == n_rows or n_levels > max(MANY_LEVELS, n_rows / 2):
        raise DataError(
            f"column '{name}' has {n_levels} distinct values in {n_rows} rows, so it looks like an identifier "
            "or free text, not a category",
            hint="drop the column, or merge its values into fewer groups",
        )
    return _Column("categorical", codes, tuple(levels), note)


def _date_error(name: str, what: str) -> DataError:
    return DataError(
        f"column '{name}' contains dates or times ({what})",
        hint="convert it to a number, such as days since the first date, or drop it",
    )


def _find_constant(table: Table) -> dict[int, str]:
    found = {}
    for j, levels in enumerate(table.levels):
        column = table.values[:, j]
        low, high = float(column.min()), float(column.max())
        if np.isnan(low):
            column = column[~np.isnan(column)]
            low, high = float(column.min()), float(column.max())
        if _is_constant(low, high):
            value = column[0]
            found[j] = f"is constant (every row contains {levels[int(value)] if levels else format(value, 'g')})"
    return found


def _apply(table: Table, faults: dict[int, str], option: str, policy: str, notes: list[str]) -> Table:
    """Refuse, drop or keep the columns with a fault; ``faults`` says of each what it is."""
    if not faults:
        return table
    named = {f"column '{table.names[j]}'": fault for j, fault in faults.items()}
    if policy == "error":
        keep = "" if option == "on_constant" else f', or keep it with {option}="keep"'
        raise DataError(
            _listed(f"{column} {fault}" for column, fault in named.items()),
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
            + _listed(f"{column}, which {fault}" for column, fault in named.items()),
            hint="add columns that are not constant and not determined by others",
        )
    return table.take(np.arange(table.n_rows), kept)


def _listed(parts: Iterable[str], most: int = 5) -> str:
    """Join parts with semicolons; a long list is cut."""
    every = list(parts)
    more = f"; and {len(every) - most} more" if len(every) > most else ""
    return "; ".join(every[:most]) + more


def _short(cell: Any) -> str:
    text = repr(cell)
    return text if len(text) <= 40 else text[:37] + "..."
