"""Adds the past of a time series to its table as columns, so that rows are independent given the past."""

from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.data.reading.number_text import with_columns
from drbo.errors import DataError, SettingsError, name_hint

if TYPE_CHECKING:
    import pandas as pd

MIN_ROWS = 3


def lagged(
    frame: "pd.DataFrame", lags: int, *, time: str | None = None, group: str | None = None
) -> tuple["pd.DataFrame", list[list[str]], tuple[str, ...]]:
    """Return the table with the past of every column beside it, tiers from the oldest to the present, and notes.

    Column ``x`` k rows before is called ``x_lagk``. Rows without a complete past are left out.

    Parameters
    ----------
    frame : rows in the order of time, or with a column that tells it.
    lags : how many rows back.
    time : column to sort by, numbers or dates; left out of the table.
    group : column of series that do not continue each other, such as persons; left out of the table.

    Examples
    --------
    >>> import pandas as pd
    >>> table, tiers, _ = lagged(pd.DataFrame({"x": [1.0, 2.0, 4.0, 3.0], "y": [0.0, 1.0, 0.5, 2.0]}), lags=1)
    >>> table.to_dict("list")["x_lag1"], tiers
    ([1.0, 2.0, 4.0], [['x_lag1', 'y_lag1'], ['x', 'y']])
    """
    import pandas as pd

    if isinstance(lags, bool) or not isinstance(lags, int) or lags < 1:
        raise SettingsError(f"lags must be a whole number of at least 1, got {lags!r}", hint="1 or 2 lags are usual")
    for word, name in (("time", time), ("group", group)):
        if name is not None and name not in frame:
            raise DataError(f"there is no {word} column '{name}'", hint=name_hint(name, frame))
    rows, notes = _in_order(frame, time, group)
    series = [rows] if group is None else [part for _, part in rows.groupby(group, sort=False)]
    names = [str(name) for name in frame if name not in (time, group)]
    tiers = [[_name(name, lag) for name in names] for lag in range(lags, -1, -1)]
    _check_names([name for tier in tiers for name in tier])
    parts = []
    for part in series:
        past = {_name(name, lag): part[name].shift(lag) for lag in range(lags, -1, -1) for name in names}
        parts.append(pd.DataFrame(past).iloc[lags:])
    table = pd.concat(parts, ignore_index=True)
    if len(table) < MIN_ROWS:
        raise DataError(
            f"only {len(table)} rows have {lags} earlier rows, but at least {MIN_ROWS} are needed",
            hint="use fewer lags",
        )
    # A shift makes room for what is not there: whole numbers and booleans become others, and are turned back.
    kinds = {_name(name, lag): frame[name].dtype for name in names for lag in range(lags + 1)}
    return table.astype(kinds), tiers, notes


def _name(name: str, lag: int) -> str:
    return f"{name}_lag{lag}" if lag else name


def _check_names(names: list[str]) -> None:
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise DataError(f"the lagged table would have two columns named '{twice}'", hint="rename the column")


def _in_order(frame: "pd.DataFrame", time: str | None, group: str | None) -> tuple["pd.DataFrame", tuple[str, ...]]:
    """Return the rows sorted by time, and a note where steps are uneven."""
    if time is None:
        return frame, ()
    moments = _as_time(frame[time])
    ordered = with_columns(frame, {time: moments}).sort_values(time, kind="stable")
    if bool(moments.isna().any()):
        row = int(np.argmax(moments.isna().to_numpy()))
        raise DataError(
            f"column '{time}' is not a time in row {row}: {frame[time].iloc[row]!r}", hint="correct or drop the row"
        )
    steps = ordered.groupby(group)[time].diff() if group is not None else ordered[time].diff()
    steps = steps.dropna()
    if len(steps) and steps.min() != steps.max():
        words = (
            f"the steps of '{time}' vary from {steps.min()} to {steps.max()}, so a lag of one row is not always "
            "the same time span"
        )
        return ordered, (words,)
    return ordered, ()


def _as_time(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return numbers as they are and text as dates; what is neither becomes missing."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column) or column.dtype.kind in "mM":
        return column
    numbers = pd.to_numeric(column, errors="coerce")
    if not numbers.isna().any():
        return numbers
    return pd.to_datetime(column, errors="coerce", format="ISO8601")
