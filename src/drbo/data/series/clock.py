"""The time of every row: its place on the grid of its unit, or all that is wrong with it, in words."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drbo.arrays import Indices, Ints
from drbo.data.series.grid import EXACT, Grid, grid_of, steps_in_words
from drbo.data.series.instants import Instants, read_instants
from drbo.design import Design
from drbo.errors import DataError, SettingsError, name_hint

if TYPE_CHECKING:
    import pandas as pd

#: The lags that are looked at unless a number is given: one per so many rows of a typical unit, and at most so many.
ROWS_PER_LAG, MOST_LAGS = 5, 5
#: Dynamic effects of panels with fewer rows per unit are biased noticeably (Nickell 1981).
SHORT_PANEL = 20
SHOWN = 3


class Clock(NamedTuple):
    """When every row was seen."""

    ticks: Ints  # (n,) in steps
    units: Indices  # (n,) numbered from 0
    labels: tuple[str, ...]  # of the units
    max_lag: int
    notes: tuple[str, ...] = ()

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return len(self.labels)


def split_time(frame: "pd.DataFrame", design: Design) -> tuple["pd.DataFrame", Clock]:
    """Return the table without the columns of time and unit, and the time of every row.

    Raises a DataError that lists all problems.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"day": ["2021-03-01", "2021-03-02", "2021-03-04"], "dose": [1.0, 0.0, 2.0]})
    >>> rest, clock = split_time(frame, Design(time="day", max_lag=1))
    >>> list(rest), (clock.ticks - clock.ticks[0]).tolist(), clock.notes
    (['dose'], [0, 1, 3], ('series: a row every 1 day, with 1 gap (1 step is missing)...',))
    """
    for name, what in ((design.time, "times"), (design.unit, "units")):
        if name is not None and name not in frame:
            raise SettingsError(f"there is no column '{name}' with {what}", hint=name_hint(name, frame))
    rest = frame.drop(columns=[name for name in (design.time, design.unit) if name is not None])
    units, labels, problems = _units(frame, design)
    grid, hints = None, list[str]()
    if design.time is None:
        place = np.arange(len(frame)) - _starts(units)
        grid = Grid(place.astype(np.int64), "row")
    else:
        ways, faults = read_instants(design.time, frame[design.time])
        problems += faults
        if ways:
            whole = np.isfinite(ways[0].values)
            late, hints = _order(design, ways[0], units, labels, whole)
            problems += late
        if faults:
            hints = ["give every row a time, all in one format and zone, or drop these rows", *hints]
        if not problems:
            grid, faults, hints = _chosen(design, ways, units)
            problems += faults
    max_lag = _max_lag(design, units)
    faults, more = _too_short(design, units, labels, max_lag)
    problems, hints = problems + faults, hints + more
    if problems or grid is None:
        raise DataError("; ".join(problems), hint="; ".join(hints) or "correct the times, or drop these rows")
    return rest, Clock(grid.ticks, units, labels, max_lag, tuple(_notes(grid, design, units, max_lag)))


def _units(frame: "pd.DataFrame", design: Design) -> tuple[Indices, tuple[str, ...], list[str]]:
    """Return the unit of every row, the labels, and what is wrong with them."""
    if design.unit is None:
        return np.zeros(len(frame), dtype=np.intp), ("",), []
    column = frame[design.unit]
    problems = []
    if (gone := column.isna().to_numpy()).any():
        row = int(np.argmax(gone))
        problems.append(f"column '{design.unit}' has no label in {int(gone.sum())} rows, first in row {row}")
    labels, codes = np.unique(column.astype(str).to_numpy(dtype=str), return_inverse=True)
    return codes.astype(np.intp), tuple(labels.tolist()), problems


def _starts(units: Indices) -> Indices:
    """Return (n,) how many rows came before each row that are not of its unit."""
    before = np.zeros(len(units), dtype=np.intp)
    for unit in np.unique(units):
        rows = np.flatnonzero(units == unit)
        before[rows] = rows - np.arange(len(rows))
    return before


def _order(
    design: Design, instants: Instants, units: Indices, labels: tuple[str, ...], whole: Any
) -> tuple[list[str], list[str]]:
    """Return what is wrong with the order of rows: times that occur twice, and rows before earlier ones."""
    values, problems, hints = instants.values, list[str](), list[str]()
    rows = np.flatnonzero(whole)
    order = rows[np.lexsort((rows, values[rows], units[rows]))]
    same = (np.diff(values[order]) == 0) & (np.diff(units[order]) == 0)
    if same.any():
        first, second = np.sort(order[[np.argmax(same), np.argmax(same) + 1]]).tolist()
        where = f" of {design.unit} '{labels[units[first]]}'" if design.unit else ""
        count = int(same.sum())
        problems.append(
            f"{count} row{'s have' if count > 1 else ' has'} a time that another row of the same "
            f"{'unit' if design.unit else 'table'} has, first rows {first} and {second}{where}"
        )
        other = "keep one of them" if design.unit else "name the column that tells series apart (unit, --unit)"
        hints.append(f"{other}, or average them")
    late = list[int]()
    for unit in np.unique(units):
        own = rows[units[rows] == unit]
        late += own[1:][np.diff(values[own]) < 0].tolist()
    if late:
        problems.append(f"times are out of order: row {min(late)} is earlier than the row before it")
        hints.append(f"sort the rows by '{design.time}', or name the column that tells series apart (unit, --unit)")
    return problems, hints


def _chosen(design: Design, ways: list[Instants], units: Indices) -> tuple[Grid | None, list[str], list[str]]:
    """Return the grid of the way to read times that gives a regular one, or what is wrong."""
    found = [(way, grid) for way in ways if (grid := grid_of(way, units)) is not None]
    exact = min((grid.shift for _, grid in found), default=0.0)
    found = [(way, grid) for way, grid in found if grid.shift == exact]  # days of a place with summer time, for example
    different = {(grid.step, *grid.ticks[:1000].tolist()) for _, grid in found}
    if len(different) > 1 and all(way.how for way, _ in found):
        hows = " or ".join(way.how for way, _ in found)
        words = f"the dates in '{design.time}' can be read in several ways ({hows})"
        return None, [words], ["write them as year-month-day, such as 2021-03-04"]
    if found:
        return found[0][1], [], []
    if len(np.unique(ways[0].values)) < 2:
        return None, [f"column '{design.time}' has the same time in every row"], []
    words = f"the times in '{design.time}' are irregular: steps {steps_in_words(ways[0], units)}"
    hint = (
        "a lag needs equal steps: resample the rows to a regular grid, such as "
        f"frame.resample('1D', on='{design.time}').mean(), or leave time out and drop the column, to find "
        "relations within a row alone"
    )
    return None, [words], [hint]


def _max_lag(design: Design, units: Indices) -> int:
    """Return the largest lag that is looked at."""
    if design.max_lag is not None:
        return design.max_lag
    typical = float(np.median(np.bincount(units)[np.unique(units)])) if len(units) else 0.0
    return max(1, min(MOST_LAGS, int(typical) // ROWS_PER_LAG))


def _too_short(design: Design, units: Indices, labels: tuple[str, ...], max_lag: int) -> tuple[list[str], list[str]]:
    """Return which units have too few rows for the lags, and whether the season is too long, each with a way out."""
    sizes = np.bincount(units, minlength=len(labels))
    problems, hints, short = list[str](), list[str](), np.flatnonzero(sizes < max_lag + 1)
    if len(short) and design.unit is not None:
        shown = ", ".join(f"'{labels[k]}' ({sizes[k]})" for k in short[:SHOWN])
        more = f" and {len(short) - SHOWN} more" if len(short) > SHOWN else ""
        problems.append(
            f"{max_lag} lags need at least {max_lag + 1} rows of every {design.unit}, but {shown}{more} have fewer"
        )
    elif len(short):
        problems.append(f"{max_lag} lags need more rows than {sizes[0]}")
    if len(short):
        hints.append(f"use fewer lags (max_lag){f', or drop these {design.unit}s' if design.unit else ''}")
    if design.season is not None and 2 * design.season > sizes.max(initial=0):
        problems.append(
            f"a season of {design.season} steps is longer than half of the series ({sizes.max(initial=0)} rows)"
        )
        hints.append("omit season: a pattern must be seen twice")
    return problems, hints


def _notes(grid: Grid, design: Design, units: Indices, max_lag: int) -> list[str]:
    order = np.lexsort((grid.ticks, units))
    ahead = np.diff(grid.ticks[order])[np.diff(units[order]) == 0]
    missing = int((ahead - 1).sum())
    words = "series: rows follow each other without gaps" if design.time is None else f"series: a row every {grid.step}"
    if gaps := int((ahead > 1).sum()):
        steps = f"{missing} step{' is' if missing == 1 else 's are'} missing"
        words += f", with {gaps} gap{'s' * (gaps != 1)} ({steps})"
    chosen = "" if design.max_lag is not None else " (chosen by the number of rows; max_lag sets it)"
    notes = [f"{words}; {max_lag} lag{'s' * (max_lag != 1)}{chosen}"]
    if grid.shift > EXACT:
        notes.append(f"times were moved to this grid by up to {grid.shift:.2g} of a step")
    sizes = np.bincount(units)
    sizes = sizes[sizes > 0]
    if len(sizes) > 1 and sizes.mean() < SHORT_PANEL:
        notes.append(
            f"units have {sizes.mean():.3g} rows on average: effects of a column's own past are estimated too low, by "
            f"about (1 + effect) / {sizes.mean():.3g} (Nickell bias)"
        )
    return notes
