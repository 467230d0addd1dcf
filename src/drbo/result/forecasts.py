"""Forecasts of later rows by the graph of a series, beside those of all columns together and of the last row.

A graph that leaves out what matters forecasts worse than a vector autoregression on every column of the past; one that
is right forecasts no worse, and with few rows better, because it estimates less.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from drbo.arrays import Bools, Floats, Indices
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.errors import DataError
from drbo.graph.dag import topological_order
from drbo.graph.window import places
from drbo.result.judgement import LEVEL

#: The first forecast is estimated from one in so many rows; how often effects are estimated anew.
FIRST, FOLDS = 2, 10
#: Rows that are forecast, at least.
LEAST_ROWS = 20
BASIS = "one step ahead, effects estimated anew from all rows before"


@dataclass(frozen=True, kw_only=True)
class Forecasts:
    """Mean squared errors of forecasts of each column, as shares of its variance."""

    names: tuple[str, ...]
    n_rows: int  # that were forecast
    graph: tuple[float, ...]  # errors by the parents in the graph
    everything: tuple[float, ...]  # by a vector autoregression on all columns of the past
    last: tuple[float, ...]  # by the last row: a random walk
    p_worse: float  # of the test that the graph forecasts no worse than all columns do (Diebold & Mariano 1995)

    @property
    def falsified(self) -> bool:
        """Whether the graph forecasts worse than all columns together do."""
        return self.p_worse <= LEVEL

    @property
    def beats_last(self) -> bool:
        """Whether its errors are smaller, on average over the columns, than those of a random walk."""
        return float(np.mean(self.graph)) < float(np.mean(self.last))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return asdict(self) | {"falsified": self.falsified, "beats_last": self.beats_last}

    def summary(self) -> str:
        """Return the judgement in plain words."""
        width = max(len("average"), *map(len, self.names))
        shown = zip((*self.names, "average"), *(
            (*part, float(np.mean(part))) for part in (self.graph, self.everything, self.last)
        ), strict=True)  # fmt: skip
        verdict = "the graph leaves out something that matters" if self.falsified else "not falsified"
        walk = "better" if self.beats_last else "no better"
        return "\n".join([
            f"Forecasts of {self.n_rows} later rows, {BASIS}",
            "Mean squared errors as shares of the variance",
            f"  {'':<{width}}  graph   all columns   last row",
            *(f"  {name:<{width}}  {a:<6.3f}  {b:<11.3f}   {c:.3f}" for name, a, b, c in shown),
            f"  graph against all columns: p {self.p_worse:.3f} (worse): {verdict}",
            f"  graph against the last row: {walk}",
        ])  # fmt: skip


def forecasts(dag: Bools, table: Statistics) -> Forecasts:
    """Forecast later rows of a window, one step ahead, with the parents in a graph."""
    if "categorical" in table.kinds:
        text = table.names[table.kinds.index("categorical")]
        raise DataError(f"column '{text}' is categorical, but forecasts are those of numbers", hint="drop it")
    present, place = places(table.names, table.lags)
    units = np.zeros(table.n_rows, dtype=np.intp) if table.groups is None else np.asarray(table.groups)
    values = table.values if table.weights is None else table.values * np.sqrt(table.weights)[:, None]
    part = _parts(units)
    errors = [np.empty((0, len(present)))] * 3
    for fold in range(FOLDS):
        current().check()
        before, now = part < fold, part == fold
        if not now.any():
            continue
        rows, means = _recentred(values, units, before)
        for k, found in enumerate(_forecast(rows, before, now, dag, np.array(table.lags), place)):
            missed = rows[now][:, np.flatnonzero(np.array(table.lags) == 0)] - found
            errors[k] = np.vstack([errors[k], missed[means[now]]])
    if len(errors[0]) < LEAST_ROWS:
        raise DataError(
            f"only {len(errors[0])} rows can be forecast, but at least {LEAST_ROWS} are needed",
            hint="give more later rows",
        )
    variance = np.maximum(values[:, np.array(table.lags) == 0].var(axis=0), np.finfo(float).tiny)
    shares = [(error**2).mean(axis=0) / variance for error in errors]
    losses = ((errors[0] ** 2 - errors[1] ** 2) / variance).mean(axis=1)
    figures = {
        name: tuple(map(float, share)) for name, share in zip(("graph", "everything", "last"), shares, strict=True)
    }
    return Forecasts(names=present, n_rows=len(losses), **figures, p_worse=_p_positive(losses))


def _parts(units: Indices) -> Indices:
    """Return (n,) the part of each row, in the order of its unit: -1 for those of the first estimate, then 0, 1, ..."""
    part = np.empty(len(units), dtype=np.intp)
    for unit in np.unique(units):
        rows = np.flatnonzero(units == unit)
        begin = -(-len(rows) // FIRST)
        place = np.arange(len(rows)) - begin
        part[rows] = np.where(place < 0, -1, place * FOLDS // max(len(rows) - begin, 1))
    return part


def _recentred(values: Floats, units: Indices, before: Bools) -> tuple[Floats, Bools]:
    """Return rows without the means of their units in the rows before, and which of them have such rows."""
    rows, known = values.copy(), np.zeros(len(values), dtype=bool)
    for unit in np.unique(units):
        own = units == unit
        if (own & before).any():
            rows[own] -= values[own & before].mean(axis=0)
            known |= own
    return rows, known


def _forecast(
    rows: Floats, before: Bools, now: Bools, dag: Bools, lags: Indices, place: Indices
) -> tuple[Floats, Floats, Floats]:
    """Return forecasts of the columns of the present by the graph, by all columns of the past, and by the last row."""
    present, past = np.flatnonzero(lags == 0), np.flatnonzero(lags > 0)
    known, wanted = rows[before], rows[now].copy()
    everything = wanted[:, past] @ np.linalg.lstsq(known[:, past], known[:, present], rcond=None)[0]
    last = np.zeros((len(wanted), len(present)))
    for k in range(len(present)):
        before_it = np.flatnonzero((place == k) & (lags == 1))
        if len(before_it):
            last[:, k] = wanted[:, before_it[0]]
    for node in topological_order(dag).tolist():
        if lags[node] == 0:  # parents of the present are forecast, too
            parents = np.flatnonzero(dag[:, node])
            weights = np.linalg.lstsq(known[:, parents], known[:, node], rcond=None)[0]
            wanted[:, node] = wanted[:, parents] @ weights
    return wanted[:, present], everything, last


def _p_positive(losses: Floats) -> float:
    """Return the p-value of a mean of at most 0, for numbers that depend on their neighbours (Newey & West 1987)."""
    centred, n = losses - losses.mean(), len(losses)
    most = int(np.floor(4 * (n / 100) ** (2 / 9)))
    spread = float(centred @ centred)
    for lag in range(1, most + 1):
        spread += 2 * (1 - lag / (most + 1)) * float(centred[lag:] @ centred[:-lag])
    return float(ndtr(-losses.mean() * n / np.sqrt(max(spread, np.finfo(float).tiny))))
