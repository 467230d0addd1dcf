"""What a person says that columns hold: numbers, categories, or ordered levels."""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from drbo.data.checks.censored import censored_time
from drbo.data.checks.columns import is_number_text, shortened
from drbo.data.checks.missing import missing_cells, without_markers
from drbo.data.reading.number_text import with_columns, written_numbers
from drbo.design import CENSORED, DataPolicy
from drbo.errors import DataError, SettingsError, name_hint

if TYPE_CHECKING:
    import pandas as pd

#: What a column can be declared as; an order, such as ``low<medium<high``, is a type, too.
TYPES = ("number", "category", "ordered")
SHOWN_CELLS = 3
_WITH_UNIT = re.compile(r"\s*([+-]?[\d.,]*\d)\s*([a-zA-Zµμ°Ω%][\w/%°²³^.*-]{0,9})\s*")


def declared(frame: "pd.DataFrame", policy: DataPolicy, notes: list[str] | None = None) -> "pd.DataFrame":
    """Return a table without markers of missing values, whose columns are what a person says they are."""
    notes = [] if notes is None else notes
    return typed(without_markers(frame, policy.na, notes), policy.types, notes)


def typed(frame: "pd.DataFrame", types: Mapping[str, str] | None, notes: list[str] | None = None) -> "pd.DataFrame":
    """Return a table whose columns are what a person says they are; what that changes is added to the notes.

    A name with ``*`` or ``?`` stands for all columns that it matches, such as ``A*``; a type of a column itself counts
    more. ``number``: cells that are no numbers become missing, a unit that all of them share is left out, and dates
    become days since the first one. ``category``: each value is a level. ``ordered``: the levels count 1, 2, 3, ... in
    their order, which is that of the numbers, or is given, as in ``low<medium<high``. ``censored:status``: a time until
    an event, which column status says; see :func:`~drbo.data.checks.censored.censored_time`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": [1, 2, 1], "grade": ["low", "high", "low"]})
    >>> typed(frame, {"sex": "category", "grade": "low<high"}).to_dict("list")
    {'sex': ['1', '2', '1'], 'grade': [1.0, 2.0, 1.0]}
    """
    notes = [] if notes is None else notes
    new, told = {}, list[str]()
    for name, kind in _by_column(types or {}, [str(name) for name in frame.columns]).items():
        column = frame[name].mask(missing_cells(frame[[name]])[:, 0])
        if kind == "number":
            new[name] = _numbers(name, column, notes)
        elif kind == "category":
            new[name] = _categories(column)
        elif kind.startswith(CENSORED):
            new[name] = censored_time(frame, name, kind.removeprefix(CENSORED), notes)
            told.append(kind.removeprefix(CENSORED))
        elif kind == "ordered" or "<" in kind:
            new[name] = _ranks(name, column, kind, notes)
        else:
            raise SettingsError(
                f"the type of column '{name}' must be one of {', '.join(TYPES)}, got {kind!r:.80}",
                hint="an order can also be given, as in low<medium<high, and a time until an event, as censored:status",
            )
    return with_columns(frame, new).drop(columns=told)


def _by_column(types: Mapping[str, str], names: list[str]) -> dict[str, str]:
    """Return the type of every column that has one: by its name, or by the last pattern that it matches."""
    found = dict[str, str]()
    for name, kind in types.items():
        matching = [] if name in names else [one for one in names if one not in types and fnmatchcase(one, name)]
        if name not in names and not any(fnmatchcase(one, name) for one in names):
            raise SettingsError(f"types: there is no column '{name:.80}'", hint=name_hint(name, names))
        found |= dict.fromkeys([name] if name in names else matching, kind)
    return found


def _numbers(name: str, column: "pd.Series[Any]", notes: list[str]) -> "pd.Series[Any]":
    import pandas as pd

    if column.dtype.kind == "M":
        return _days(column)
    if pd.api.types.is_numeric_dtype(column):
        return column.astype(float)
    cells = column.dropna().unique().tolist()
    values = {cell: _number(cell) for cell in cells}
    if (unit := shared_unit(cells)) is not None:
        values |= {cell: _number(_WITH_UNIT.sub(r"\1", cell)) for cell in cells if isinstance(cell, str)}
        notes.append(f"column '{name}': the unit {unit!r:.40} is left out")
    wrong = [str(cell) for cell, value in values.items() if value is None]
    if wrong and len(wrong) == len(values):
        if (days := pd.to_datetime(column, format="ISO8601", errors="coerce")).notna().sum() == column.notna().sum():
            return _days(days)
        raise DataError(
            f"column '{name}' has no number in any row, such as {wrong[0]!r:.40}", hint="declare it a category"
        )
    if wrong:
        some = shortened([repr(cell)[:40] for cell in wrong], SHOWN_CELLS)
        notes.append(f"column '{name}': cells that are not numbers are missing: {some}")
    return column.map(values).astype(float)


def _number(cell: Any) -> float | None:
    """Return what a cell is as a number; None: it is none."""
    if not isinstance(cell, str):
        return cell if isinstance(cell, int | float) else None
    way = written_numbers([cell])
    return float(cell) if is_number_text(cell) else way.values[cell] if way else None


def shared_unit(cells: Iterable[Any]) -> str | None:
    """Return the unit that stands after numbers in a column, such as kg; None: there is none, or there are several.

    Examples
    --------
    >>> shared_unit(["12.3 kg", "11 kg", "15"]), shared_unit(["12 kg", "300 g"]), shared_unit(["1 or 2", "a"])
    ('kg', None, None)
    """
    texts = [cell for cell in cells if isinstance(cell, str) and not is_number_text(cell)]
    units = {match[2] if (match := _WITH_UNIT.fullmatch(text)) else "" for text in texts}
    return units.pop() or None if len(units) == 1 else None


def _days(column: "pd.Series[Any]") -> "pd.Series[Any]":
    return (column - column.min()).dt.total_seconds() / 86_400  # type: ignore[no-any-return]


def _categories(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return a column of labels; whole numbers are written without decimals."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return column
    labels = {cell: _label(cell) for cell in column.dropna().unique().tolist()}
    return column.map(labels).astype("category")


def _label(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _ranks(name: str, column: "pd.Series[Any]", kind: str, notes: list[str]) -> "pd.Series[Any]":
    """Return the place of each cell in the order of its levels, from 1."""
    import pandas as pd

    declared = isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered
    found = [str(level) for level in column.cat.categories] if declared else None
    cells = _categories(column).astype(object)
    levels = cells.dropna().unique().tolist()
    if kind != "ordered":
        order = [level.strip() for level in kind.split("<")]
        if len(set(order)) < len(order) or (unknown := [level for level in levels if level not in order]):
            what = "names a level twice" if len(set(order)) < len(order) else f"does not name {unknown[0]!r:.40}"
            raise DataError(f"the order of column '{name}' {what}", hint=f"its levels are {', '.join(sorted(levels))}")
    elif found is not None:
        order = found
    elif all(is_number_text(level) for level in levels):
        order = sorted(levels, key=float)
    else:
        example = "<".join(sorted(levels)[:3])
        raise DataError(
            f"the order of the levels of column '{name}' is unknown: {', '.join(sorted(levels))[:200]}",
            hint=f"give it in place of 'ordered', from the lowest to the highest, as in '{name}={example}'",
        )
    used = [level for level in order if level in levels]
    notes.append(f"column '{name}' is ordered: {' < '.join(used)[:200]} count as 1 to {len(used)}")
    return cells.map({level: float(rank) for rank, level in enumerate(used, 1)}).astype(float)
