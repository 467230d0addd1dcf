"""Does an effect stay the same while a series goes on? Fits of its first and its second half are compared.

The graph of a series stands for all times. An arrow whose effect differs between the halves may come from a change that
columns share (Chow 1960), and so may one between two columns that wander like random walks, where the own past of the
effect is not among its parents (Granger & Newbold 1974).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from drbo.arrays import Bools
from drbo.claims.claim import Context, Ruling, SeriesClaim, denials
from drbo.data.statistics.regressions import slopes
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.graph.window import places

#: Effects that differ at this level, divided by the number of arrows, are denied.
LEVEL = 0.05
#: A series whose Dickey-Fuller statistic lies above may be a random walk (5%, with a mean).
UNIT_ROOT = -2.86
#: What is said about arrows that are denied.
CHANGED = "The effect of '{0}' on '{1}' differs between the halves of the series: {2:.2g} and {3:.2g} (p = {4:.1g})."
UNSEEN = "A half of the series has too few rows, or no change, to show the effect of '{0}' on '{1}'."
WANDERING = "'{0}' and '{1}' may both be random walks, and the own past of '{1}' is not among its parents."


class Halves(NamedTuple):
    """An effect in the first and in the second half of all series, and the p-value of no difference.

    NaN: a half has too few rows, or columns repeat each other in it.
    """

    first: float
    second: float
    p_value: float


class Steadiness(SeriesClaim):
    """The claim that effects are the same in both halves of a series."""

    name, title = "steadiness", "the comparison of both halves of the series"

    def run(self, context: Context) -> Ruling:
        table, dag = context.table.complete_rows, context.answer.dag
        found, names = halves(table, dag), table.names
        series, wanders = places(names, table.lags)[1], wandering(table)
        sentences = dict[tuple[str, str], str]()
        for (i, j), one in found.items():
            own = series[np.flatnonzero(dag[:, j])] == series[j]
            if np.isnan(one.p_value):
                sentences[names[i], names[j]] = UNSEEN.format(names[i], names[j])
            elif one.p_value < LEVEL / len(found):
                sentences[names[i], names[j]] = CHANGED.format(names[i], names[j], *one)
            elif not own.any() and wanders[series[i]] and wanders[series[j]]:
                sentences[names[i], names[j]] = WANDERING.format(names[i], names[j])
        return Ruling({(names[i], names[j]): one for (i, j), one in found.items()}, denials(self, sentences))


def halves(table: Statistics, dag: Bools) -> dict[tuple[int, int], Halves]:
    """Return the effect of every arrow in the first and second half of each series, by cause and effect.

    Errors are those that hold for noise of any spread (HC3; MacKinnon & White 1985).
    """
    late, found = _late(table), dict[tuple[int, int], Halves]()
    for j in np.flatnonzero(dag.any(axis=0)).tolist():
        current().check()
        parents = np.flatnonzero(dag[:, j])
        first, second = (slopes(table.values[part, j], table.values[np.ix_(part, parents)]) for part in (~late, late))
        if first is None or second is None:
            found |= {(i, j): Halves(np.nan, np.nan, np.nan) for i in parents.tolist()}
            continue
        gap = np.abs(first.values - second.values)
        p_values = 2 * ndtr(-gap / np.maximum(np.hypot(first.robust, second.robust), np.finfo(float).tiny))
        for i, *parts in zip(parents.tolist(), first.values, second.values, p_values, strict=True):
            found[i, j] = Halves(*map(float, parts))
    return found


def _late(table: Statistics) -> Bools:
    """Return (n,) True for rows in the later half of the stretches of their unit."""
    assert table.blocks is not None  # or rows have no past
    units = np.zeros(table.n_rows, dtype=np.intp) if table.groups is None else table.groups
    late = np.zeros(table.n_rows, dtype=bool)
    for unit in np.unique(units):
        rows = units == unit
        late[rows] = table.blocks[rows] > np.median(table.blocks[rows])
    return late


def wandering(table: Statistics) -> list[bool]:
    """Tell of every series whether it may be a random walk: an augmented Dickey-Fuller test keeps a unit root.

    Examples
    --------
    >>> from dataclasses import replace
    >>> noise = np.random.default_rng(0).normal(size=400)
    >>> x = np.column_stack([noise, noise.cumsum()])
    >>> table = Statistics.from_array(np.hstack([x[1:], x[:-1]]), ["a", "b", "a[-1]", "b[-1]"])
    >>> wandering(replace(table, lags=(0, 0, 1, 1)))
    [False, True]
    """
    place, lags, found = places(table.names, table.lags)[1], np.array(table.lags), list[bool]()
    for series in range(table.lags.count(0)):
        columns = np.flatnonzero(place == series)
        levels = table.values[:, columns[np.argsort(lags[columns], kind="stable")]]
        if levels.shape[1] < 2:
            found.append(False)
            continue
        changes = levels[:, :-1] - levels[:, 1:]
        fit = slopes(changes[:, 0], np.column_stack([levels[:, 1], changes[:, 1:]]))
        found.append(fit is None or bool(fit.values[0] > UNIT_ROOT * fit.plain[0]))
    return found
