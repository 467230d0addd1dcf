"""Decides whether a column holds numbers or categories, and refuses dates, free text and numbers in disguise."""

import datetime
import re
from collections.abc import Iterable
from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.data.reading.text import NUMBER
from drbo.data.statistics.statistics import Kind
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


#: The square of a larger number, or of a smaller spread, leaves the range of floating-point numbers.
LARGEST = 1e150
SMALLEST_SPREAD = 1e-150
#: A column whose spread is this small a part of its values is constant up to rounding.
RELATIVE_SPREAD = 1e-13
#: Text with more different values than this, and than half of the rows, is no set of groups.
MANY_LEVELS = 50

_COMMA_NUMBER = re.compile(r"\s*[+-]?[\d.]*\d,\d+\s*")
_DATE = re.compile(r"\s*(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})([ T]\d{1,2}:(?s:.*)|\s*)")


class CellTypeError(DataError, TypeError):
    """A cell holds neither a number nor text; also a TypeError, as scikit-learn asks of an estimator."""


class NumberTextError(DataError):
    """A column holds numbers as text, or numbers and a few other cells."""


class InfinityError(DataError):
    """A column of numbers has a cell that is infinite."""


class DateError(DataError):
    """A column holds dates or times."""


#: What is said of a column of labels.
TEXT = "contains text and is treated as categorical"


class Column(NamedTuple):
    """A column as numbers; those of a categorical column are places in its levels."""

    kind: Kind
    values: Floats
    levels: tuple[str, ...] | None = None
    note: str = ""


def read_column(name: str, column: "pd.Series[Any]", missing: Bools) -> Column:
    """Decide the kind of a column by the cells that are not missing; missing ones become NaN."""
    if not missing.any():
        return _read_complete(name, column)
    if missing.all():
        raise DataError(f"column '{name}' has no value in any row", hint="drop the column")
    cells = column[~missing].reset_index(drop=True)
    found = _read_complete(name, cells.infer_objects() if cells.dtype == object else cells)
    values = np.full(len(column), np.nan)
    values[~missing] = found.values
    return found._replace(values=values)


def _read_complete(name: str, column: "pd.Series[Any]") -> Column:
    """Decide the kind of one column without missing values."""
    import pandas as pd

    types = pd.api.types
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _categories(name, column)
    if types.is_bool_dtype(column):
        codes = column.to_numpy(dtype=np.float64)
        return Column(
            "categorical", codes, ("False", "True"), f"column '{name}' contains booleans and is treated as categorical"
        )
    if types.is_numeric_dtype(column):
        with np.errstate(over="ignore"):  # what float64 cannot hold becomes infinite, and is refused as such
            return read_numbers(name, column.to_numpy(dtype=np.float64))
    if types.is_object_dtype(column) or types.is_string_dtype(column):
        return _cells(name, column.tolist())
    if column.dtype.kind in "mM" or isinstance(column.dtype, pd.PeriodDtype):
        raise _date_error(name, str(column.dtype).partition("[")[0])
    raise DataError(
        f"column '{name}' has dtype {column.dtype}: only numbers, booleans, text and categories can be used",
        hint="convert it to one of these types, or drop it",
    )


def read_numbers(name: str, values: Floats) -> Column:
    """Return a numeric column whose squares and variance are finite and positive, or refuse it."""
    low, high = float(values.min()), float(values.max())
    if np.isinf(low) or np.isinf(high):
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise InfinityError(
            f"Input contains infinity: column '{name}', row {row} is {values[row]}",
            hint='correct or drop the row, or read the cell as missing with na=["inf"] (--na inf)',
        )
    if max(-low, high) > LARGEST:
        row = int(np.argmax(np.abs(values)))
        raise DataError(
            f"column '{name}' contains {values[row]:g} in row {row}, but absolute values must be below {LARGEST:g}",
            hint=f"rescale the column, for example divide it by {abs(values[row]):.0e}",
        )
    spread = high - low
    if not is_constant(low, high) and spread < SMALLEST_SPREAD:
        raise DataError(
            f"column '{name}' varies by only {spread:g}, so that its variance is 0 in floating point",
            hint=f"rescale the column, for example divide it by {spread:.0e}",
        )
    return Column("numeric", values)


def is_constant(low: float, high: float) -> bool:
    """Tell whether values between these limits are the same up to rounding."""
    return bool(high - low <= RELATIVE_SPREAD * max(-low, high))


def _cells(name: str, cells: list[Any]) -> Column:
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
        return read_numbers(name, np.array([_as_float(cell) for cell in cells]))
    _check_text(name, cells, is_number)
    texts = np.array([str(cell) for cell in cells], dtype=object)
    levels = sorted(set(texts.tolist()))
    place = {level: code for code, level in enumerate(levels)}
    codes = np.array([place[text] for text in texts], dtype=np.float64)
    return _grouped(name, codes, levels, f"column '{name}' {TEXT} with {len(levels)} levels")


def is_number_text(text: str) -> bool:
    """Tell whether a text is a number as programs write it.

    Examples
    --------
    >>> is_number_text(" -1.5e3"), is_number_text("1,5")
    (True, False)
    """
    return NUMBER.fullmatch(text) is not None


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return is_number_text(cell)
    return isinstance(cell, Number) and not isinstance(cell, bool)


def _as_float(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:  # a Python integer has no largest value
        return float("inf")


def _check_text(name: str, cells: list[Any], is_number: Bools) -> None:
    """Refuse numbers in disguise, numbers with a few bad cells, and dates."""
    is_comma = np.array([isinstance(cell, str) and _COMMA_NUMBER.fullmatch(cell) is not None for cell in cells])
    is_date = np.array([isinstance(cell, str) and _DATE.fullmatch(cell) is not None for cell in cells])
    if is_date.mean() > 0.5:
        raise _date_error(name, _short(cells[int(np.argmax(is_date))]))
    if is_comma.any() and (is_comma | is_number).mean() > 0.5:
        row = int(np.argmax(is_comma))
        raise NumberTextError(
            f"column '{name}' contains numbers with a decimal comma, such as {_short(cells[row])} in row {row}",
            hint="write 12.5 instead of 12,5, or read the file with pandas.read_csv(path, sep=';', decimal=',')",
        )
    if is_number.all():
        row = next(row for row, cell in enumerate(cells) if isinstance(cell, str))
        raise NumberTextError(
            f"column '{name}' contains numbers stored as text, such as {_short(cells[row])} in row {row}",
            hint=f"convert it with frame['{name}'].astype(float); for labels use astype('category')",
        )
    if is_number.mean() > 0.5:
        bad = np.flatnonzero(~is_number)
        others = f"; {len(bad) - 1} more cells are not numbers" if len(bad) > 1 else ""
        raise NumberTextError(
            f"column '{name}' is mostly numeric, but row {bad[0]} contains {_short(cells[bad[0]])}{others}",
            hint=f"correct or drop these rows; for labels use frame['{name}'].astype('category')",
        )


def _categories(name: str, column: "pd.Series[Any]") -> Column:
    declared = [str(level) for level in column.cat.categories]
    if len(set(declared)) < len(declared):
        raise DataError(f"column '{name}' has two categories with the same text", hint="rename one of them")
    codes = column.cat.codes.to_numpy()
    used = sorted(set(codes.tolist()), key=None if column.cat.ordered else lambda code: declared[code])
    place = np.zeros(len(declared))
    place[used] = np.arange(len(used))
    unused = [repr(level) for code, level in enumerate(declared) if code not in used]
    note = f"column '{name}': ignored {shortened(unused)}, which no row uses" if unused else ""
    return _grouped(name, place[codes], [declared[code] for code in used], note)


def _grouped(name: str, codes: Floats, levels: list[str], note: str) -> Column:
    n_rows, n_levels = len(codes), len(levels)
    if n_levels == n_rows or n_levels > max(MANY_LEVELS, n_rows / 2):
        raise DataError(
            f"column '{name}' has {n_levels} distinct values in {n_rows} rows, so it looks like an identifier "
            "or free text, not a category",
            hint="drop the column, or merge its values into fewer groups",
        )
    return Column("categorical", codes, tuple(levels), note)


def _date_error(name: str, what: str) -> DateError:
    return DateError(
        f"column '{name}' contains dates or times ({what})",
        hint="convert it to a number, such as days since the first date, or drop it",
    )


def _short(cell: Any) -> str:
    text = repr(cell)
    return text if len(text) <= 40 else text[:37] + "..."


def shortened(parts: Iterable[str], most: int = 5) -> str:
    """Join parts with semicolons; a long list is cut."""
    every = list(parts)
    more = f"; and {len(every) - most} more" if len(every) > most else ""
    return "; ".join(every[:most]) + more
