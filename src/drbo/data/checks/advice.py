"""One look at a table that finds all of its problems, and what to do about each of them.

:func:`drbo.data.checks.check.check_table` stops at the first column that cannot be used. Here every column is
described, those that can be used but hardly are meant to be (row numbers, codes of categories, columns that almost
never change) are named, and the answers are put together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drbo.arrays import Bools
from drbo.data.checks.censored import with_censored
from drbo.data.checks.check import MIN_COLUMNS, MIN_ROWS, find_constant, find_fixed, read_columns
from drbo.data.checks.columns import DateError, InfinityError, NumberTextError, read_column
from drbo.data.checks.doubts import (
    LOOKED_AT,
    ROWS_PER_CODE,
    TableProblem,
    codes,
    counter,
    empty,
    number_markers,
    ordered_text,
    rare,
    text_markers,
)
from drbo.data.checks.missing import is_marker, missing_cells, missing_in_words
from drbo.data.checks.types import declared, shared_unit
from drbo.data.reading.lines import check_width
from drbo.data.statistics.statistics import Statistics
from drbo.design import CENSORED, DataPolicy
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

#: Numbers with so few different values are counted as categories if all columns are.
CODES = 10
IMPUTED = "each of the imputed tables is searched (fewer with --set imputations=3, or DataPolicy(imputations=3))"
#: With at least this share of complete rows, the others can be dropped.
ENOUGH_COMPLETE = 0.9
#: Ten imputed tables of more columns take minutes; so many complete rows per column are enough without them.
QUICKLY_IMPUTED, ROWS_PER_COLUMN = 20, 10
SHOWN_LEVELS = 5


class ColumnLook(NamedTuple):
    """A column as a person would describe it."""

    name: str
    holds: str  # numbers, whole numbers, text, ...
    missing: float  # share of the rows
    values: str  # the range or the levels
    used_as: str  # numeric, categorical, or nothing


@dataclass(frozen=True)
class Look:
    """All columns, all problems, and the answers to them."""

    columns: tuple[ColumnLook, ...]
    problems: tuple[TableProblem, ...]
    missing: str = ""  # a policy for missing values, where one is needed
    types: Mapping[str, str] = field(default_factory=dict)
    na: tuple[str, ...] = ()  # cells that mean that a value is missing
    unsolved: str = ""  # why a fit still refuses the table with these answers

    @property
    def drop(self) -> list[str]:
        """Columns to leave out."""
        return list(dict.fromkeys(problem.column for problem in self.problems if problem.remedy == "drop"))

    @property
    def usable(self) -> bool:
        """Whether a table is left that a fit takes, with the answers."""
        return len(self.columns) - len(self.drop) >= MIN_COLUMNS and not self.unsolved

    def policy(self, given: DataPolicy) -> DataPolicy:
        """Return what to do about columns and cells, with the answers."""
        types = {**(given.types or {}), **self.types}
        na = tuple(dict.fromkeys((*given.na, *self.na)))
        missing: Any = self.missing or given.missing
        return replace(given, missing=missing, types=types or None, na=na)

    def joined(self, later: "Look") -> "Look":
        """Return this look with the problems that only showed once its own were solved."""
        known = {(problem.column, problem.remedy) for problem in self.problems}
        more = tuple(one for one in later.blocking if (one.column, one.remedy) not in known)
        dropped = {problem.column for problem in more if problem.remedy == "drop"}
        needed = {one.column: one.remedy for one in more if one.remedy not in ("", "drop")}
        types = {name: kind for name, kind in {**self.types, **needed}.items() if name not in dropped}
        na = tuple(dict.fromkeys((*self.na, *later.na)))
        return Look(self.columns, (*self.problems, *more), later.missing or self.missing, types, na)

    @property
    def blocking(self) -> tuple[TableProblem, ...]:
        """Problems that a fit refuses."""
        return tuple(problem for problem in self.problems if problem.blocks)

    @property
    def answers(self) -> str:
        """What solves the problems, in the words of Python."""
        answers = [f"drop the columns {', '.join(self.drop)}"] * bool(self.drop)
        answers += [f'use missing="{self.missing}"'] * bool(self.missing)
        answers += [f"use types={dict(self.types)}"] * bool(self.types)
        answers += [f"use na={list(self.na)}"] * bool(self.na)
        return "; ".join(answers)

    def error(self) -> "TableError":
        """Return the refusal of the table, with all problems at once."""
        texts = [problem.text for problem in self.problems]
        message = f"the table has {len(texts)} problems: " + "; ".join(f"({k}) {t}" for k, t in enumerate(texts, 1))
        return TableError(message, hint=self.answers or None, look=self)


class TableError(DataError):
    """A table with several problems; ``look`` has all of them."""

    def __init__(self, message: str, hint: str | None = None, look: Look | None = None) -> None:
        super().__init__(message, hint)
        self.look = look


def look_at(
    frame: "pd.DataFrame",
    *,
    missing: str = "error",
    on_constant: str = "error",
    on_collinear: str = "error",
) -> Look:
    """Look at all columns of a table; the policies are those of a fit.

    Examples
    --------
    >>> import pandas as pd
    >>> look = look_at(pd.DataFrame({"id": range(20), "sex": [1, 2] * 10, "x": [k % 7 + k / 9 for k in range(20)]}))
    >>> look.drop, look.types
    (['id'], {'sex': 'category'})
    """
    check_width(frame.shape[1], "the table")
    absent = missing_cells(frame)
    columns, problems, good = list[ColumnLook](), list[TableProblem](), list[str]()
    for place, name in enumerate(frame.columns):
        look, found = _column(str(name), frame[name], absent[:, place])
        columns.append(look)
        problems += found
        if not any(problem.blocks for problem in found):
            good.append(str(name))
    if all(look.used_as != "numeric" or _is_discrete(frame[look.name]) for look in columns):
        problems = [problem for problem in problems if problem.remedy != "category"]  # counted as categories anyway
    dropped = {problem.column for problem in problems if problem.remedy == "drop"}
    problems = with_censored(frame, problems, [name for name in good if name not in dropped])
    problems += _dependent(frame[good], on_constant, on_collinear, dropped)
    dropped |= {problem.column for problem in problems if problem.remedy == "drop"}
    types = {one.column: one.remedy for one in problems if one.remedy not in ("", "drop") and one.column not in dropped}
    na = _markers(frame.drop(columns=list(dropped)), [one for one in problems if one.column not in dropped])
    as_cells = {name: kind for name, kind in types.items() if not kind.startswith(CENSORED)}
    lost = absent | missing_cells(declared(frame, DataPolicy(types=as_cells, na=na)))
    problems += [
        one for j, look in enumerate(columns) for one in empty(look.name, lost[:, j].mean()) if look.name not in dropped
    ]
    dropped |= {problem.column for problem in problems if problem.remedy == "drop"}
    used = [place for place, name in enumerate(frame.columns) if name not in dropped]
    policy = ""
    if missing == "error" and lost[:, used].any():
        words = missing_in_words(frame.iloc[:, used], lost[:, used])
        problems.append(
            TableProblem("", f"Input contains NaN: missing values in {words}", "", bool(absent[:, used].any()))
        )
        labels = any(
            types.get(look.name) == "category" or (look.used_as == "categorical" and look.name not in types)
            for look in columns
            if look.name not in dropped
        )
        policy = _policy(lost[:, used], labels=labels)
        if policy == "impute" and len(used) > QUICKLY_IMPUTED:
            problems.append(
                TableProblem("", f"to impute {len(used)} columns takes minutes: {IMPUTED}", "", blocks=False)
            )
    return Look(tuple(columns), tuple(problems), policy, {k: v for k, v in types.items() if k not in dropped}, na)


def _markers(frame: "pd.DataFrame", problems: list[TableProblem]) -> tuple[str, ...]:
    """Return the markers of missing values that are values in no other column."""
    found = dict.fromkeys(problem.marker for problem in problems if problem.marker)
    marked = {(problem.column, problem.marker) for problem in problems}
    return tuple(
        marker
        for marker in found
        if all((name, marker) in marked for name in frame if is_marker(frame[name], marker).any())
    )


def complete_error(error: DataError, frame: "pd.DataFrame", **policies: Any) -> DataError:
    """Return the refusal of a table with all of its problems; the error itself where it is the only one."""
    if not (frame.shape[0] >= MIN_ROWS and frame.shape[1] >= MIN_COLUMNS):
        return error
    look = look_at(frame, **policies)
    return look.error() if len(look.blocking) > 1 else error


def _policy(lost: Bools, *, labels: bool) -> str:
    """Return what to do about missing values: EM needs numbers, and few rows with a hole can be dropped."""
    whole, columns = ~lost.any(axis=1), lost.shape[1]
    if not labels:
        return "em"
    few_lost = whole.mean() >= ENOUGH_COMPLETE and whole.sum() >= MIN_ROWS
    slow = columns > QUICKLY_IMPUTED and whole.sum() >= ROWS_PER_COLUMN * columns
    return "drop" if few_lost or slow else "impute"


def _column(name: str, column: "pd.Series[Any]", absent: Bools) -> tuple[ColumnLook, list[TableProblem]]:
    """Describe one column, and say what is wrong with it."""
    share = float(absent.mean())
    unit = _unit(column[~absent])
    try:
        read = read_column(name, column, absent)
    except DataError as error:
        return _refused(name, column[~absent], share, unit, error)
    values = read.values[~absent]
    if read.levels is not None:
        more = ", ..." if len(read.levels) > SHOWN_LEVELS else ""
        words = f"{len(read.levels)} levels: {', '.join(read.levels[:SHOWN_LEVELS])}{more}"
        holds = "booleans" if read.levels == ("False", "True") else "text"
        look = ColumnLook(name, holds, share, words, "categorical")
        if unit:
            return look, [TableProblem(name, _unit_words(name, unit), "number", blocks=False)]
        return look, text_markers(name, read.levels) + (rare(name, values) or ordered_text(name, read.levels))
    low, high = float(values.min()), float(values.max())
    whole = bool((values == np.round(values)).all())
    mean, spread = float(values.mean()), float(values.std())
    digits = 4 if spread == 0 else min(12, max(4, 3 + int(np.floor(np.log10(max(abs(low), abs(high)) / spread)))))
    shown = [f"{0.0 if abs(number) < 1e-12 * spread else number:.{digits}g}" for number in (mean, low, high)]
    words = f"mean {shown[0]}, sd {spread:.4g}, from {shown[1]} to {shown[2]}"
    look = ColumnLook(name, "whole numbers" if whole else "numbers", share, words, "numeric")
    marks = number_markers(name, values)
    rest = values[~np.isin(values, [float(one.marker) for one in marks])]
    some = rest[:LOOKED_AT]
    doubts = counter(name, some) or rare(name, rest) or codes(name, some) if whole else rare(name, rest)
    return look, marks + doubts


def _refused(
    name: str, cells: "pd.Series[Any]", share: float, unit: str | None, error: DataError
) -> tuple[ColumnLook, list[TableProblem]]:
    """Describe a column that a fit refuses, and say what solves it."""
    if isinstance(error, InfinityError):
        numbers = cells.to_numpy(dtype=np.float64)
        signs = [marker for marker, value in (("inf", np.inf), ("-inf", -np.inf)) if (numbers == value).any()]
        look = ColumnLook(name, "numbers", share, f"{int(np.isinf(numbers).sum())} infinite", "-")
        return look, [TableProblem(name, error.message, "", blocks=True, marker=marker) for marker in signs]
    holds = "dates" if isinstance(error, DateError) else "text" if len(cells) else "nothing"
    text, remedy = error.message, "number" if isinstance(error, NumberTextError) else "drop"
    if unit:
        text, remedy = _unit_words(name, unit), "number"
    some = ", ".join(cells.iloc[:2].astype(str).tolist())
    look = ColumnLook(name, holds, share, f"such as {some:.60}" if len(cells) else "", "-")
    return look, [TableProblem(name, text, remedy, blocks=True)]


def _unit(cells: "pd.Series[Any]") -> str | None:
    """Return the unit that stands in the cells of a column, which are numbers otherwise."""
    if cells.dtype.kind != "O" or not len(cells) or not all(isinstance(cell, str) for cell in cells):
        return None
    return shared_unit(cells.unique().tolist())


def _unit_words(name: str, unit: str) -> str:
    """Say that numbers have a unit."""
    return f"column '{name}' contains numbers with the unit {unit!r:.40}"


def _is_discrete(column: "pd.Series[Any]") -> bool:
    """Tell whether ``auto`` would count a column of numbers as categories."""
    values = column.dropna().iloc[:LOOKED_AT]
    levels = values.nunique()
    return bool(levels <= CODES and len(values) >= ROWS_PER_CODE * levels)


def _dependent(frame: "pd.DataFrame", on_constant: str, on_collinear: str, named: set[str]) -> list[TableProblem]:
    """Name the columns that never change, and then those that others determine."""
    if frame.shape[1] < 1 or frame.shape[0] < MIN_ROWS:
        return []
    table = read_columns(frame, "keep", [])
    found = list[TableProblem]()
    constant = find_constant(table)
    if on_constant == "error":
        found += [_of(table, j, fault) for j, fault in constant.items()]
    kept = [j for j, name in enumerate(table.names) if j not in constant and name not in named]
    if on_collinear == "error" and len(kept) >= MIN_COLUMNS:
        rest = table.take(np.arange(table.n_rows), np.array(kept, dtype=np.intp))
        found += [_of(rest, j, fault) for j, fault in find_fixed(rest).items()]
    return found


def _of(table: Statistics, j: int, fault: str) -> TableProblem:
    return TableProblem(table.names[j], f"column '{table.names[j]}' {fault}", "drop", blocks=True)
