"""The window of past rows that stands beside every row, without what is known to change with time or between units.

Columns of earlier rows are columns of their own, called ``dose[-1]`` one step before. A line, a season and the mean of
each unit are projected out of all columns, which is the same as a regression on them too (Frisch, Waugh & Lovell); so
are changes that one series clearly shows (:mod:`~drbo.data.series.changes`). A row then counts as the share of it that
is left.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from drbo.arrays import Bools, Floats, Indices, Ints
from drbo.data.checks.check import apply_policy, find_constant, without_collinear
from drbo.data.checks.missing import said
from drbo.data.series.changes import TimeChange, changes_of
from drbo.data.series.clock import Clock
from drbo.data.statistics.statistics import Statistics
from drbo.design import DataPolicy, Design
from drbo.errors import DataError

#: Waves of a season: it is a sum of so many sines and cosines at most. Six are all there are for twelve months.
WAVES = 6
#: Windows that must be left.
MIN_WINDOWS = 3
#: A column of which less than this share is left never changed beside line, season and units.
NOTHING_LEFT = 1e-10
#: Stretches of one series that a resample draws together have at least the rows of a window, and about its square root.
LEAST_BLOCKS = 10


def lagged_name(name: str, lag: int) -> str:
    """Return the name of a column so many steps before.

    Examples
    --------
    >>> lagged_name("dose", 2), lagged_name("dose", 0)
    ('dose[-2]', 'dose')
    """
    return f"{name}[-{lag}]" if lag else name


def windows(table: Statistics, clock: Clock, design: Design, policy: DataPolicy) -> tuple[Statistics, list[str]]:
    """Return a table with a row for every window of rows, and what there is to say about it.

    Parameters
    ----------
    table : checked, a row for every time; cells may be missing.
    clock : when its rows were seen.

    Examples
    --------
    >>> table = Statistics.from_array([[1.0, 2.0], [2.0, 4.5], [4.0, 3.0], [3.0, 1.0], [5.0, 0.0]], ["dose", "mood"])
    >>> clock = Clock(np.arange(5), np.zeros(5, dtype=np.intp), ("",), 1)
    >>> found, notes = windows(table, clock, Design(max_lag=1), DataPolicy())
    >>> found.names, found.lags, found.values[0].tolist()
    (('dose', 'mood', 'dose[-1]', 'mood[-1]'), (0, 0, 1, 1), [2.0, 4.5, 1.0, 2.0])
    """
    notes, lags = list[str](), range(clock.max_lag + 1)
    past = past_rows(clock)  # (n, L + 1)
    used: Bools = np.asarray((past >= 0).all(axis=1))
    values = np.column_stack([table.values[past[:, lag]] for lag in lags])
    if policy.missing == "drop" and (holes := np.isnan(values) & used[:, None]).any():
        rows = holes.any(axis=1)
        notes.append(said("drop", int(used.sum()), int(rows.sum()), int(holes.sum())).replace("rows;", "windows;"))
        used &= ~rows
    elif (holes := np.isnan(values[used])).any():
        notes.append(said(policy.missing, int(used.sum()), int(holes.any(axis=1).sum()), int(holes.sum())))
    if (count := int(used.sum())) < MIN_WINDOWS:
        raise DataError(
            f"only {count} rows have all {clock.max_lag} rows before them, but at least {MIN_WINDOWS} are needed",
            hint="use fewer lags (max_lag), or fill gaps and missing values",
        )
    found = Statistics(
        values=values[used],
        names=tuple(lagged_name(name, lag) for lag in lags for name in table.names),
        kinds=table.kinds * len(lags),
        levels=table.levels * len(lags),
        lags=tuple(lag for lag in lags for _ in table.names),
        blocks=_blocks(clock)[used],
    )
    _check_names(table)
    found = apply_policy(found, find_constant(found), "on_constant", policy.on_constant, notes)
    changes = _changes(found, clock, used, design)
    found, more = without_time_effects(found, clock.ticks[used], clock.units[used], design, changes)
    notes += [f"{found.n_rows} of {table.n_rows} rows have a whole window", *more]
    return without_collinear(found, policy.on_collinear, notes), notes


def _changes(table: Statistics, clock: Clock, used: Bools, design: Design) -> list[TimeChange]:
    """Return what clearly changes with time in one series of numbers beside what its design says."""
    if clock.n_units > 1 or design.trend == "none" or "categorical" in table.kinds:
        return []
    d = table.lags.count(0)
    columns = [table.values[:, k::d] for k in range(d)] if table.n_columns == d * (clock.max_lag + 1) else []
    found = changes_of(columns, clock.ticks[used], _basis(clock.ticks[used], design))
    return [one._replace(row=int(np.argmax(clock.ticks >= one.at))) for one in found]


def without_time_effects(
    table: Statistics, ticks: Ints, units: Indices, design: Design, changes: Sequence[TimeChange] = ()
) -> tuple[Statistics, list[str]]:
    """Return the table without the means of units, a line, a season and changes that were found, and a note on it."""
    _, codes = np.unique(units, return_inverse=True)
    many = int(codes.max()) > 0
    if not many and design.trend != "line" and design.season is None and not changes:
        return table, []
    texts = [name for name, levels in zip(table.names, table.levels, strict=True) if levels is not None]
    if texts:
        raise DataError(
            f"column '{texts[0]}' is categorical, but means of units, lines and seasons are those of numbers",
            hint="drop the column, or encode it as numbers, such as 0 and 1",
        )
    values, share, kept = np.empty_like(table.values), np.ones(table.n_rows), np.ones(table.n_rows, dtype=bool)
    for code in range(int(codes.max()) + 1):
        rows = np.flatnonzero(codes == code)
        basis = _basis(ticks[rows], design, changes, max(table.lags))
        if len(rows) <= basis.shape[1]:
            kept[rows] = False
            continue
        left = 1.0 - (basis.shape[1] if many else basis.shape[1] - 1) / len(rows)  # one mean is always lost
        share[rows] = left
        values[rows] = _residuals(table.values[rows], basis) / np.sqrt(left)
    if kept.sum() < MIN_WINDOWS:
        raise DataError(
            "no unit has more windows than its mean, line and season have parameters",
            hint="use fewer lags (max_lag), or omit trend or season",
        )
    notes = [_words(int(codes.max()) + 1, design, changes, int(kept.sum()), float(share[kept].sum()))]
    if (gone := int((~kept).sum())) > 0:
        notes.append(f"{gone} windows of units with too few of them were dropped")
    rows, columns = np.flatnonzero(kept), np.arange(table.n_columns)
    groups = codes.astype(np.intp) if many else None
    found = replace(table, values=values, weights=share, groups=groups).take(rows, columns)
    _refuse_steady(table, found)
    return found, notes


def past_rows(clock: Clock) -> Indices:
    """Return (n, L + 1) the row of each lag before every row; -1: there is none."""
    ticks = clock.ticks - clock.ticks.min()
    span = int(ticks.max()) + clock.max_lag + 2
    keys = clock.units * span + ticks
    order = np.argsort(keys)
    past = np.full((len(keys), clock.max_lag + 1), -1, dtype=np.intp)
    for lag in range(clock.max_lag + 1):
        wanted = keys - lag
        place = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
        there = (keys[order[place]] == wanted) & (ticks >= lag)
        past[there, lag] = order[place[there]]
    return past


def _blocks(clock: Clock) -> Indices:
    """Return (n,) the stretch of each row: rows of a unit that follow each other."""
    blocks, last = np.zeros(len(clock.ticks), dtype=np.intp), 0
    for unit in range(clock.n_units):
        rows = np.flatnonzero(clock.units == unit)
        rows = rows[np.argsort(clock.ticks[rows])]
        size = max(clock.max_lag + 1, round(len(rows) ** 0.5))
        size = max(1, min(size, len(rows) // LEAST_BLOCKS))
        blocks[rows] = last + np.arange(len(rows)) // size
        last = int(blocks.max(initial=0)) + 1
    return blocks


def _basis(ticks: Ints, design: Design, changes: Sequence[TimeChange] = (), max_lag: int = 0) -> Floats:
    """Return the functions of time (m, k) that are projected out of the rows of a unit, a constant first."""
    time = ticks.astype(np.float64)
    parts = [np.ones(len(time))]
    if design.trend == "line":
        parts.append(time - time.mean())
    for wave in range(1, min(WAVES, (design.season or 0) // 2) + 1):
        angle = 2 * np.pi * wave * time / (design.season or 1)
        parts.append(np.cos(angle))
        if 2 * wave != design.season:  # the last sine of an even season is 0
            parts.append(np.sin(angle))
    basis = np.column_stack([*parts, *(change.columns(ticks, max_lag) for change in changes)])
    places = np.linalg.qr(basis, mode="r")
    telling = np.abs(np.diag(places)) > 1e-9 * np.sqrt(len(time)) if len(time) >= basis.shape[1] else slice(None)
    return basis[:, telling]


def _residuals(values: Floats, basis: Floats) -> Floats:
    """Return what a basis does not explain of each column, by the rows in which it is there."""
    left = np.empty_like(values)
    missing = np.isnan(values)
    whole = ~missing.any(axis=0)
    if whole.any():
        weights = np.linalg.lstsq(basis, values[:, whole], rcond=None)[0]
        left[:, whole] = values[:, whole] - basis @ weights
    for column in np.flatnonzero(~whole):
        rows = ~missing[:, column]
        weights = np.linalg.lstsq(basis[rows], values[rows, column], rcond=None)[0]
        left[:, column] = values[:, column] - basis @ weights
    return left


def _refuse_steady(before: Statistics, after: Statistics) -> None:
    """Refuse columns of which nothing is left."""
    low = np.nanvar(after.values, axis=0) <= NOTHING_LEFT * np.maximum(np.nanvar(before.values, axis=0), 1e-300)
    steady: Bools = low & np.array([lag == 0 for lag in after.lags])
    if steady.any():
        raise DataError(
            f"column '{after.names[int(np.argmax(steady))]}' is constant once means of units, line and season are "
            "removed",
            hint="drop the column: it has no changes of its own to explain",
        )


def _check_names(table: Statistics) -> None:
    names = set(table.names)
    for name in table.names:
        if name.endswith("]") and "[-" in name and name[: name.rindex("[-")] in names:
            raise DataError(f"column '{name}' has the name of the past of another column", hint="rename the column")


def _words(n_units: int, design: Design, changes: Sequence[TimeChange], n_rows: int, worth: float) -> str:
    parts = [f"the means of {n_units} units"] * (n_units > 1)
    parts += ["a line"] * (design.trend == "line")
    parts += [f"a season of {design.season} steps"] * (design.season is not None)
    found = [change.words for change in changes]
    if found:
        parts.append(
            f"{', '.join(found)} (found beside the own past of columns; trend='none', --trend none, keeps such changes)"
        )
    each = " of each unit" if n_units > 1 and len(parts) > 1 else ""
    verb = "was" if len(parts) == 1 and n_units == 1 and len(found) < 2 else "were"
    return f"{' and '.join(parts)}{each} {verb} removed from every column; {n_rows} windows are worth {worth:.6g}"
