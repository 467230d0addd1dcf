"""Figures in sentences: a mark in the text names the rows of each, and is computed again.

    <!-- figure: 0.27 = mean reached_seconds of columns where graph=200ER2, method=drbo -->

stands in or after the paragraph with the figure. Computed are ``mean``, ``median``, ``least``, ``most`` and ``sum`` of
a column; ``share`` of its True, in percent; ``ratio`` of the sums of two columns (``ratio a / b``); ``count`` of
rows. Conditions are ``column=value`` with ``|`` between several values, and ``!=``; a comma in a value is written as a
semicolon. Rows of the newest version count, and the result is rounded to the digits that the text shows.

    <!-- setting: 4 GiB, 60 s -->

says that figures are rules of the program or of a measurement, or are published by others.
"""

import re
from collections.abc import Callable
from statistics import mean, median
from typing import NamedTuple

from benchmarks.reports import versions
from benchmarks.rows import Row, read

MARK = re.compile(
    r"<!-- figure: (?P<value>\S+) = (?P<what>mean|median|least|most|sum|share|ratio|count)"
    r"(?: (?P<column>[^=]+?))?? of (?P<file>[\w/]+)(?: where (?P<where>.+?))? -->",
    re.DOTALL,
)
SETTING = re.compile(r"<!-- setting: (.*?) -->", re.DOTALL)
COMPUTED: dict[str, Callable[[list[float]], float]] = {
    "mean": mean,
    "median": median,
    "least": min,
    "most": max,
    "sum": sum,
}


class Quoted(NamedTuple):
    """A figure of a text: what is written, and what the rows say, rounded as it is written."""

    written: str
    computed: str
    rows: list[Row]


def quoted(text: str) -> list[Quoted]:
    """Return the figures of a text whose rows are named."""
    found = []
    for mark in MARK.finditer(" ".join(text.split())):
        rows = [row for row in read(mark["file"]) if _fits(row, mark["where"] or "")]
        if not rows:
            raise ValueError(f"no rows: {mark[0]}")
        rows = next(iter(versions.by_release(rows).values()))
        found.append(Quoted(mark["value"], rounded(_computed(mark, rows), mark["value"]), rows))
    return found


def _fits(row: Row, where: str) -> bool:
    for condition in filter(None, (part.strip() for part in where.split(","))):
        column, unequal, values = re.fullmatch(r"([^=!]+)(!?)=(.*)", condition).groups()  # type: ignore[union-attr]
        if (row[column] in values.replace(";", ",").split("|")) == bool(unequal):
            return False
    return True


def _computed(mark: re.Match[str], rows: list[Row]) -> float:
    if mark["what"] == "count":
        return float(len(rows))
    if mark["what"] == "ratio":
        above, below = (sum(float(row[name]) for row in rows) for name in mark["column"].split(" / "))
        return above / below
    if mark["what"] == "share":
        return 100.0 * mean(row[mark["column"]] == "True" for row in rows)
    return COMPUTED[mark["what"]]([float(row[mark["column"]]) for row in rows if row[mark["column"]] != ""])


def rounded(value: float, like: str) -> str:
    """Return a figure with the digits and commas of another.

    Examples
    --------
    >>> rounded(1234.56, "1,200"), rounded(0.7733, ".77")
    ('1,235', '.77')
    """
    digits = len(like.partition(".")[2])
    text = f"{value:,.{digits}f}" if "," in like else f"{value:.{digits}f}"
    return text.removeprefix("0") if like.startswith(".") else text


def is_current(figure: Quoted) -> bool:
    """Tell whether the rows of a figure are of this version, or of no version of drbo."""
    return versions.one(figure.rows, figure.written) in (versions.CURRENT, "")
