"""What changes with time in a column beside its own past: lines, steps and seasons that nobody declared.

Columns that rise together, or that all jump in the same month, are correlated without acting on each other. Such a
change shows in each column by itself: a function of time explains more of it, given its own past, than functions of
time do by chance. The functions found in any column are taken out of all of them.
"""

from typing import Literal, NamedTuple

import numpy as np

from drbo.arrays import Floats, Indices, Ints

#: Functions of time in one series, at most, and numbers of all that are tried.
MOST, CELLS = 12, 5_000_000
#: Steps and periods that are tried, at most, and the rows before and after a step, at least.
PLACES, EDGE = 200, 8
#: A period is at most this share of the series.
LONGEST = 1 / 3
#: Log likelihood that a function gains at least, beyond the BIC penalty of its parameters and the log of all that are
#: tried: by chance one in so many series has one.
CHANCE = float(np.log(20))


class TimeChange(NamedTuple):
    """A function of time, or a few of them that go together."""

    kind: Literal["line", "step", "season"]
    at: int = 0  # the first time of a step, or the steps of a season
    row: int = 0  # of the table, where a step begins

    @property
    def words(self) -> str:
        """What it is called."""
        return {
            "line": "a line",
            "step": f"a change of level from row {self.row} on",
            "season": f"a season of {self.at} steps",
        }[self.kind]

    def columns(self, ticks: Ints, max_lag: int) -> Floats:
        """Return the functions (n, k) at some times; a step is one for columns of the past too, a few rows later."""
        time = ticks.astype(np.float64)
        if self.kind == "line":
            line: Floats = (time - time.mean())[:, None]
            return line
        if self.kind == "step":
            return np.column_stack([np.where(time >= self.at + lag, 1.0, 0.0) for lag in range(max_lag + 1)])
        angle = 2 * np.pi * time / self.at
        return np.column_stack([np.cos(angle), np.sin(angle)][: 1 if self.at == 2 else 2])


def changes_of(
    series: list[Floats],  # a matrix (n, L + 1) for each column: its values now and one to L steps before
    ticks: Ints,  # (n,)
    known: Floats,  # (n, k) functions of time that are taken out anyway, a constant first
) -> list[TimeChange]:
    """Return the functions of time that explain more of a column, given its own past, than chance does."""
    tried = _tried(ticks)
    if not tried:
        return []
    functions = [one.columns(ticks, 0) for one in tried]
    dictionary = _Dictionary(np.hstack(functions), np.cumsum([0, *(part.shape[1] for part in functions)]))
    found, given = list[TimeChange](), known
    extra = np.log(max(len(tried), 1) * len(series)) + CHANCE
    left = list(range(len(series)))
    while len(found) < MOST and left:
        best, where, quiet = 0.0, -1, []
        for column in left:
            gains = dictionary.gains(series[column], given) - extra
            place = int(np.argmax(gains))
            if gains[place] > best:
                best, where = float(gains[place]), place
            if gains[place] <= 0.0:
                quiet.append(column)
        if where < 0:
            break
        found.append(tried[where])
        given = np.hstack([given, tried[where].columns(ticks, series[0].shape[1] - 1)])
        left = [column for column in left if column not in quiet]
    return found


def _tried(ticks: Ints) -> list[TimeChange]:
    """Return the functions of time that are tried."""
    n, span = len(ticks), int(np.ptp(ticks)) + 1
    if n < 4 * EDGE:
        return []
    most = max(2, min(PLACES, CELLS // (3 * n)))
    inner = np.sort(ticks)[EDGE : n - EDGE + 1]
    steps = inner[np.unique(np.linspace(0, len(inner) - 1, most).round().astype(int))]
    longest = max(2, int(span * LONGEST))
    periods = np.unique(np.geomspace(2, longest, most).round().astype(int))
    return [
        TimeChange("line"),
        *(TimeChange("step", int(at)) for at in steps),
        *(TimeChange("season", int(at)) for at in periods),
    ]


class _Dictionary(NamedTuple):
    """All functions that are tried, side by side, and where those of each change begin."""

    functions: Floats  # (n, m)
    starts: Indices

    def gains(self, column: Floats, given: Floats) -> Floats:
        """Return the log likelihood that each change gains beyond its BIC penalty, given past and known functions."""
        whole = ~np.isnan(column).any(axis=1)
        n = int(whole.sum())
        basis = np.linalg.qr(np.hstack([given[whole], column[whole, 1:]]))[0]
        now, functions = column[whole, 0], self.functions[whole]
        rest = now - basis @ (basis.T @ now)
        others = functions - basis @ (basis.T @ functions)
        size = (functions**2).sum(axis=0)
        own = np.maximum((others**2).sum(axis=0), 1e-8 * size)
        first, width = self.starts[:-1], np.diff(self.starts)
        second = np.minimum(first + 1, functions.shape[1] - 1)
        shown = others.T @ rest
        between = np.where(width == 2, np.einsum("ij,ij->j", others[:, first], others[:, second]), 0.0)
        explained = shown[first] ** 2 / own[first]
        left = own[second] - between**2 / own[first]
        more = (shown[second] - between / own[first] * shown[first]) ** 2 / np.maximum(left, 1e-8 * own[second])
        explained += np.where((width == 2) & (left > 1e-8 * own[second]), more, 0.0)
        total = float(rest @ rest)
        share = np.clip(explained / max(total, np.finfo(float).tiny), 0.0, 1 - 1e-12)
        return np.asarray(-0.5 * n * np.log1p(-share) - 0.5 * width * np.log(max(n, 2)))
