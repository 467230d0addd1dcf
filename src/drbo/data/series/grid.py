"""The regular grid that moments lie on: equal steps, months, or business days, with gaps."""

from typing import NamedTuple

import numpy as np

from drbo.arrays import Floats, Indices, Ints
from drbo.data.series.instants import Instants

DAY = 86_400.0
#: Steps are whole multiples of the smallest up to this share of it: exactly, and for clocks that are a little off.
EXACT, LOOSE = 1e-6, 0.2
#: From this distance between rows on they may be months.
MONTH = 27 * DAY
#: Rows on working days alone are business days where they span so many days.
TWO_WEEKS = 14
LENGTHS = (("day", DAY), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0))


class Grid(NamedTuple):
    """Moments as whole numbers of steps."""

    ticks: Ints  # (n,)
    step: str  # its length in words
    shift: float = 0.0  # the farthest that a moment lies from its tick, as a share of a step


def grid_of(instants: Instants, units: Indices) -> Grid | None:
    """Return the regular grid that moments lie on, those of each unit by themselves; None: there is none."""
    if not instants.are_dates:
        exact = _equal(instants.values, units, EXACT)
        found = exact or _equal(instants.values, units, LOOSE)
        return None if found is None else Grid(found[0], f"{found[1]:.6g}", found[2])
    if (business := _business_days(instants.values)) is not None:
        return business
    if (exact := _equal(instants.values, units, EXACT)) is not None and exact[1] < MONTH:
        return Grid(exact[0], _length(exact[1]))
    if (months := _months(instants.values, units)) is not None:
        return months
    if exact is not None:
        return Grid(exact[0], _length(exact[1]))
    loose = _equal(instants.values, units, LOOSE)
    return None if loose is None or loose[1] >= MONTH else Grid(loose[0], _length(loose[1]), loose[2])


def steps_in_words(instants: Instants, units: Indices) -> str:
    """Return the steps between rows of one unit: the smallest, the middle one and the largest."""
    steps = _steps(instants.values, units)[0]
    write = _length if instants.are_dates else "{:.6g}".format
    low, middle, high = (write(float(q)) for q in np.quantile(steps, (0.0, 0.5, 1.0), method="lower"))
    return f"from {low} to {high}, half of them up to {middle}"


def _steps(values: Floats, units: Indices) -> tuple[Floats, Indices]:
    """Return the distances between different moments that follow each other, and the rows in this order."""
    order = np.lexsort((values, units))
    ahead = np.diff(values[order])
    steps = ahead[(np.diff(units[order]) == 0) & (ahead > 0)]
    return steps, order


def _equal(values: Floats, units: Indices, tolerance: float) -> tuple[Ints, float, float] | None:
    """Return ticks, the step between them, and how far off the farthest moment is; None: steps are not equal."""
    steps, order = _steps(values, units)
    if not len(steps):
        return None
    step = float(np.quantile(steps, 0.5, method="lower"))  # most steps are single ones
    step = float(steps[np.rint(steps / step) == 1].mean())
    if np.abs(steps / step - np.rint(steps / step)).max() > tolerance or (np.rint(steps / step) < 1).any():
        return None
    ticks, start = np.zeros(len(values), dtype=np.int64), float(values.min())
    first = np.append(True, np.diff(units[order]) != 0)
    ahead = np.rint(np.append(0.0, np.diff(values[order])) / step)
    ahead[first] = 0.0
    run = np.cumsum(ahead)
    begin = np.rint((values[order][first] - start) / step) - run[first]
    ticks[order] = (run + begin[np.cumsum(first) - 1]).astype(np.int64)
    return ticks, step, float(np.abs(steps / step - np.rint(steps / step)).max())


def _business_days(seconds: Floats) -> Grid | None:
    """Return working days as ticks, where all rows lie on them, and there is no row on any weekend."""
    days = np.floor(seconds / DAY).astype(np.int64)
    if len(np.unique(seconds - days * DAY)) > 1 or np.ptp(days) < TWO_WEEKS:
        return None
    seen = np.unique(days)
    if ((seen + 3) % 7 > 4).any() or np.quantile(np.diff(seen), 0.5, method="lower") != 1:  # day 0 was a Thursday
        return None
    weeks, weekday = np.divmod(days + 3, 7)
    return Grid(5 * weeks + weekday, "1 business day")


def _months(seconds: Floats, units: Indices) -> Grid | None:
    """Return months as ticks, where all rows lie on one day of the month, or all at its end."""
    stamps = np.floor(seconds).astype(np.int64).astype("datetime64[s]")
    months, days = stamps.astype("datetime64[M]"), stamps.astype("datetime64[D]")
    day = (days - months.astype("datetime64[D]")).astype(np.int64)
    last = (days + 1).astype("datetime64[M]") > months
    if len(np.unique(seconds % DAY)) > 1 or (len(np.unique(day)) > 1 and not last.all()):
        return None
    found = _equal(months.astype(np.int64).astype(np.float64), units, EXACT)
    if found is None:
        return None
    count = round(found[1])
    years, rest = divmod(count, 12)
    return Grid(found[0], _counted(count, "month") if rest else _counted(years, "year"))


def _length(seconds: float) -> str:
    name, size = next(((name, size) for name, size in LENGTHS if seconds >= size), LENGTHS[-1])
    return _counted(seconds / size, name)


def _counted(count: float, name: str) -> str:
    return f"{count:.6g} {name}{'s' * (count != 1)}"
