"""Adds the past of a time series to its table as columns, so that rows are independent given the past."""

from typing import TYPE_CHECKING

import numpy as np

from drbo.data.reading.text import check_unique
from drbo.data.series.clock import split_time
from drbo.data.series.instants import read_instants
from drbo.data.series.windows import past_rows
from drbo.design import Design
from drbo.errors import DataError, SettingsError

if TYPE_CHECKING:
    import pandas as pd

MIN_ROWS = 3


def lagged(
    frame: "pd.DataFrame", lags: int, *, time: str | None = None, group: str | None = None
) -> tuple["pd.DataFrame", list[list[str]], tuple[str, ...]]:
    """Return the table with the past of every column beside it, tiers from the oldest to the present, and notes.

    Column ``x`` k steps before is called ``x_lagk``. Rows without a complete past are left out. Times are read, and
    refused, as in a fit of rows with a time.

    Parameters
    ----------
    frame : rows in the order of time, or with a column that tells it.
    lags : how many steps back.
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
    design = Design(time=time, unit=group, max_lag=lags)
    rest, clock = split_time(_in_order(frame, time, group), design)
    past = past_rows(clock)
    past = past[(past >= 0).all(axis=1)]
    if len(past) < MIN_ROWS:
        raise DataError(
            f"only {len(past)} rows have {lags} earlier rows, but at least {MIN_ROWS} are needed",
            hint="use fewer lags",
        )
    tiers = [[f"{name}_lag{lag}" if lag else str(name) for name in rest] for lag in range(lags, -1, -1)]
    check_unique([name for tier in tiers for name in tier], "the lagged table: ")
    parts = [rest.iloc[past[:, lags - k]].reset_index(drop=True).set_axis(tier, axis=1) for k, tier in enumerate(tiers)]
    return pd.concat(parts, axis=1), tiers, () if time is None else clock.notes


def _in_order(frame: "pd.DataFrame", time: str | None, group: str | None) -> "pd.DataFrame":
    """Return the rows sorted by time; where times are missing or occur twice, as they are: they are refused by row."""
    if time is None or not {time, *([] if group is None else [group])} <= set(frame):
        return frame
    ways, faults = read_instants(time, frame[time])
    if faults or frame.duplicated([time] if group is None else [group, time]).any():
        return frame
    return frame.iloc[np.argsort(ways[0].values, kind="stable")].reset_index(drop=True)
