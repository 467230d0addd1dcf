"""One look at a table that finds all of its problems, and what to do about each of them.

:func:`drbo.data.checks.check.check_table` stops at the first column that cannot be used. Here every column is
described, those that can be used but hardly are meant to be (row numbers, codes of categories, columns that almost
never change) are named, and the answers are put together.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.data.checks.check import MIN_COLUMNS, MIN_ROWS, find_constant, find_fixed, read_columns
from drbo.data.checks.columns import DateError, NumberTextError, is_constant, read_column
from drbo.data.checks.missing import missing_cells, missing_in_words
from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

#: Rows that tell what a column is; all rows are checked for what makes it unusable.
LOOKED_AT = 10_000
#: The same value in such a share of the rows leaves next to nothing to learn from.
NEARLY_CONSTANT = 0.99
#: Numbers with so few different values are counted as categories if all columns are; as few as these look like codes.
CODES, FEW_CODES = 10, 3
ROWS_PER_CODE = 5
#: With at least this share of complete rows, the others can be dropped.
ENOUGH_COMPLETE = 0.9
MIN_COUNTED = 10  # rows that show that a column counts them
SHOWN_LEVELS = 5
_IDENTIFIER = re.compile(r"(^|[\W_])(id|ids|nr|no|number|index|uuid|key|code)$|[a-z](ID|Id|Nr)$", re.IGNORECASE)

#: What solves a problem: leave the column out, or say what it holds.
Remedy = Literal["", "drop", "number", "category"]


class TableProblem(NamedTuple):
    """What is wrong with a column, or with the table (no column); ``blocks``: a fit cannot use it as it is."""

    column: str
    text: str
    remedy: Remedy
    blocks: bool


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

    @property
    def drop(self) -> list[str]:
        """Columns to leave out."""
        return [problem.column for problem in self.problems if problem.remedy == "drop"]

    @property
    def usable(self) -> bool:
        """Whether a table is left without the columns to leave out."""
        return len(self.columns) - len(self.drop) >= MIN_COLUMNS

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
    problems += _dependent(frame[good], on_constant, on_collinear, {problem.column for problem in problems})
    types = {problem.column: problem.remedy for problem in problems if problem.remedy in ("number", "category")}
    dropped = {problem.column for problem in problems if problem.remedy == "drop"}
    lost = absent | _no_numbers(frame, types)
    used = [place for place, name in enumerate(frame.columns) if name not in dropped]
    policy = ""
    if missing == "error" and lost[:, used].any():
        words = missing_in_words(frame, lost)
        problems.append(
            TableProblem("", f"Input contains NaN: missing values in {words}", "", bool(absent[:, used].any()))
        )
        labels = any(look.used_as == "categorical" or types.get(look.name) == "category" for look in columns)
        policy = _policy(lost[:, used], labels=labels)
    return Look(tuple(columns), tuple(problems), policy, types)


def complete_error(error: DataError, frame: "pd.DataFrame", **policies: Any) -> DataError:
    """Return the refusal of a table with all of its problems; the error itself where it is the only one."""
    if not (frame.shape[0] >= MIN_ROWS and frame.shape[1] >= MIN_COLUMNS):
        return error
    look = look_at(frame, **policies)
    return look.error() if len(look.blocking) > 1 else error


def _policy(lost: Bools, *, labels: bool) -> str:
    """Return what to do about missing values: EM needs numbers, and few rows with a hole can be dropped."""
    whole = ~lost.any(axis=1)
    if not labels:
        return "em"
    return "drop" if whole.mean() >= ENOUGH_COMPLETE and whole.sum() >= MIN_ROWS else "impute"


def _no_numbers(frame: "pd.DataFrame", types: Mapping[str, str]) -> Bools:
    """Return the cells that are missing once text is read as numbers."""
    from drbo.data.checks.types import typed

    numbers = {name: kind for name, kind in types.items() if kind == "number"}
    if not numbers:
        return np.zeros(frame.shape, dtype=bool)
    return missing_cells(typed(frame, numbers))


def _column(name: str, column: "pd.Series[Any]", absent: Bools) -> tuple[ColumnLook, list[TableProblem]]:
    """Describe one column, and say what is wrong with it."""
    share = float(absent.mean())
    try:
        read = read_column(name, column, absent)
    except DataError as error:
        holds = "dates" if isinstance(error, DateError) else "nothing" if absent.all() else "text"
        remedy: Remedy = "number" if isinstance(error, NumberTextError) else "drop"
        cells = column[~absent].astype(str)
        some = ", ".join(cells.iloc[:2].tolist())
        return ColumnLook(name, holds, share, f"such as {some:.60}" if len(cells) else "", "-"), [
            TableProblem(name, error.message, remedy, blocks=True)
        ]
    values = read.values[~absent]
    if read.levels is not None:
        more = ", ..." if len(read.levels) > SHOWN_LEVELS else ""
        words = f"{len(read.levels)} levels: {', '.join(read.levels[:SHOWN_LEVELS])}{more}"
        holds = "booleans" if read.levels == ("False", "True") else "text"
        return ColumnLook(name, holds, share, words, "categorical"), _rare(name, values)
    low, high = float(values.min()), float(values.max())
    whole = bool((values == np.round(values)).all())
    words = f"mean {values.mean():.4g}, sd {values.std():.4g}, from {low:.4g} to {high:.4g}"
    look = ColumnLook(name, "whole numbers" if whole else "numbers", share, words, "numeric")
    some_values = values[:LOOKED_AT]
    doubts = _counter(name, some_values) or _rare(name, values) or _codes(name, some_values) if whole else []
    return look, doubts or _rare(name, values)


def _counter(name: str, values: Floats) -> list[TableProblem]:
    """Name a column that numbers the rows, or that names them by numbers."""
    if len(values) < MIN_COUNTED:
        return []
    if (np.diff(values) == 1).all():
        return [
            TableProblem(
                name, f"column '{name}' only counts the rows ({values[0]:g}, {values[1]:g}, ...)", "drop", False
            )
        ]
    if _IDENTIFIER.search(name) and len(np.unique(values)) == len(values):
        return [
            TableProblem(
                name, f"column '{name}' is an identifier: every row has a different whole number", "drop", False
            )
        ]
    return []


def _rare(name: str, values: Floats) -> list[TableProblem]:
    """Name a column with the same value in nearly all rows; one that is the same in all rows is refused elsewhere."""
    low, high = float(values.min()), float(values.max())
    if is_constant(low, high):
        return []
    found, counts = np.unique(values[:: -(-len(values) // LOOKED_AT)], return_counts=True)  # rows may be sorted
    share = float(np.mean(values == found[counts.argmax()]))
    if share < NEARLY_CONSTANT:
        return []
    return [TableProblem(name, f"column '{name}' has the same value in {100 * share:.1f}% of the rows", "drop", False)]


def _codes(name: str, values: Floats) -> list[TableProblem]:
    """Name whole numbers that could be codes of categories."""
    levels = np.unique(values)
    if not 2 <= len(levels) <= FEW_CODES or len(values) < ROWS_PER_CODE * len(levels):
        return []
    if levels[0] not in (0, 1) or (np.diff(levels) != 1).any():
        return []
    shown = ", ".join(f"{level:g}" for level in levels)
    text = f"column '{name}' has only the values {shown}, which look like codes of categories"
    return [TableProblem(name, text, "category", blocks=False)]


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
