"""Reads the moments of a column: numbers, or dates of any common format.

A text can be a date in several ways (03/04/2021). All ways that fit every row are returned, the likeliest first, and
the grid that the moments lie on decides (:mod:`drbo.data.series.grid`).
"""

import re
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drbo.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

#: Dates that are not written as in ISO 8601, and what may follow the day.
DATES = (
    *("%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y"),
    *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d-%b-%Y", "%d-%b-%y", "%Y%m%d"),
)
TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
MONTHS = ("%b %Y", "%B %Y", "%b-%Y", "%b-%y", "%m/%Y", "%Y/%m", "%YM%m", "%Y-M%m")
#: Formats are tried on so many rows before they are tried on all.
TRIED = 20
#: Whole numbers in these ranges may be days, as 20210403, or months, as 202104.
DAYS, MONTH_NUMBERS = (19_000_101, 21_001_231), (190_001, 210_012)
#: A quarter such as 2021Q2 or 2021-Q2, and a week such as 2021-W05.
QUARTER, WEEK = re.compile(r"(\d{4})[- ]?[Qq]([1-4])"), re.compile(r"(\d{4})-?W(\d{2})")
#: The distance from universal time at the end of a text with a time of day.
OFFSET = re.compile(r"\d{1,2}:\d{2}.*?(Z|UTC|GMT|[+-]\d{2}:?\d{2})$")
SHOWN = 3


class Instants(NamedTuple):
    """One way to read a column of times."""

    values: Floats  # (n,) numbers, or seconds since 1970; NaN: no time
    are_dates: bool
    how: str = ""  # the format, in words, where there was a choice


def read_instants(name: str, column: "pd.Series[Any]") -> tuple[list[Instants], list[str]]:
    """Return the ways to read a column of times, and what is wrong with it in words.

    Examples
    --------
    >>> import pandas as pd
    >>> found, problems = read_instants("day", pd.Series(["2021-03-04", "2021-03-05"]))
    >>> found[0].are_dates, float(np.diff(found[0].values)[0]), problems
    (True, 86400.0, [])
    >>> read_instants("day", pd.Series(["2021-03-04", "soon"]))[1]
    ["column 'day' has no time in 1 of 2 rows: row 1 ('soon')"]
    """
    import pandas as pd

    if pd.api.types.is_bool_dtype(column):
        return [], [f"column '{name}' contains only true and false, which are not times"]
    if pd.api.types.is_numeric_dtype(column):
        ways = [*_coded_dates(column), Instants(column.to_numpy(dtype=np.float64, na_value=np.nan), False)]
    elif isinstance(column.dtype, pd.PeriodDtype):
        ways = [Instants(_seconds(column.dt.to_timestamp()), True)]
    elif isinstance(column.dtype, pd.DatetimeTZDtype):  # daily rows of a place with summer time are regular there
        ways = [
            Instants(_seconds(column.dt.tz_convert(None)), True),
            Instants(_seconds(column.dt.tz_localize(None)), True),
        ]
    elif column.dtype.kind == "M":
        ways = [Instants(_seconds(column), True)]
    else:
        ways, problems = _of_text(name, column)
        if problems:
            return ways, problems
    bad = np.flatnonzero(~np.isfinite(ways[0].values))
    return ways, [_without_time(name, column, bad.tolist())] if len(bad) else []


def _of_text(name: str, column: "pd.Series[Any]") -> tuple[list[Instants], list[str]]:
    import pandas as pd

    gone = column.isna().to_numpy()
    text = column.astype(str).str.strip().where(~gone, None)
    numbers = pd.to_numeric(text, errors="coerce")
    if not numbers[~gone].isna().any():
        return [*_coded_dates(numbers), Instants(numbers.to_numpy(dtype=np.float64), False)], []
    zones = {match[1] if (match := OFFSET.search(word)) else "" for word in text[~gone]}
    if len(zones) > 1:
        shown = ", ".join(sorted(zone or "none" for zone in zones)[:SHOWN])
        return [], [f"column '{name}' mixes time zones ({shown}), so the order and the distance of rows are not known"]
    found = list(_whole(text[~gone]))
    if found:
        ways = []
        for parsed, how in found:
            values = np.full(len(text), np.nan)
            values[~gone] = parsed
            ways.append(Instants(values, True, how))
        return ways, []
    nearest = min(_parsed(text), key=lambda values: int(np.isnan(values).sum()))
    return [Instants(nearest, True)], [_without_time(name, column, np.flatnonzero(np.isnan(nearest)).tolist())]


def _whole(text: "pd.Series[Any]") -> Iterator[tuple[Floats, str]]:
    """Yield what the formats say that fit every row."""
    first = text.iloc[:TRIED]
    for pattern in (None, *("".join(parts) for parts in product(DATES, TIMES)), *MONTHS):
        if np.isnan(_by_format(first, pattern)).any():
            continue
        values = _by_format(text, pattern)
        if not np.isnan(values).any():
            yield values, "" if pattern is None else pattern
        if pattern is None and not np.isnan(values).any():
            return  # there is one way to read ISO 8601
    for parse in (_quarters, _weeks):
        if not np.isnan(values := parse(text)).any():
            yield values, ""


def _parsed(text: "pd.Series[Any]") -> Iterator[Floats]:
    """Yield what each common format makes of the rows."""
    yield _by_format(text, None)
    for pattern in (*("".join(parts) for parts in product(DATES, TIMES[:3])), *MONTHS):
        yield _by_format(text, pattern)


def _by_format(text: "pd.Series[Any]", pattern: str | None) -> Floats:
    import pandas as pd

    try:
        parsed = pd.to_datetime(text, format=pattern or "ISO8601", errors="coerce", utc=True)
    except (ValueError, OverflowError):
        return np.full(len(text), np.nan)
    return _seconds(parsed.dt.tz_convert(None))


def _quarters(text: "pd.Series[Any]") -> Floats:
    return _matched(text, QUARTER, lambda year, quarter: f"{year}-{3 * int(quarter) - 2:02d}-01")


def _weeks(text: "pd.Series[Any]") -> Floats:
    return _matched(text, WEEK, lambda year, week: f"{year}-W{week}-1", "%G-W%V-%u")


def _matched(text: "pd.Series[Any]", pattern: re.Pattern[str], write: Any, how: str = "%Y-%m-%d") -> Floats:
    import pandas as pd

    found = [pattern.fullmatch(word) for word in text]
    days = [write(*match.groups()) if match else None for match in found]
    return _seconds(pd.to_datetime(pd.Series(days), format=how, errors="coerce"))


def _coded_dates(column: "pd.Series[Any]") -> Iterator[Instants]:
    """Yield the dates that whole numbers such as 20210403 or 202104 may stand for."""
    import pandas as pd

    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if not len(numbers) or np.isnan(numbers).any() or (numbers != np.rint(numbers)).any():
        return
    for (low, high), pattern in ((DAYS, "%Y%m%d"), (MONTH_NUMBERS, "%Y%m")):
        if low <= numbers.min() and numbers.max() <= high:
            values = _by_format(pd.Series(numbers.astype(np.int64).astype(str)), pattern)
            if not np.isnan(values).any():
                yield Instants(values, True, pattern)


def _seconds(column: "pd.Series[Any]") -> Floats:
    """Return seconds since 1970; NaN: no time."""
    stamps = column.to_numpy(dtype="datetime64[us]")
    seconds: Floats = np.where(np.isnat(stamps), np.nan, stamps.astype(np.int64) / 1e6)
    return seconds


def _without_time(name: str, column: "pd.Series[Any]", rows: list[int]) -> str:
    shown = ", ".join(f"row {row} ({column.iloc[row]!r:.40})" for row in rows[:SHOWN])
    more = ", ..." if len(rows) > SHOWN else ""
    return f"column '{name}' has no time in {len(rows)} of {len(column)} rows: {shown}{more}"
