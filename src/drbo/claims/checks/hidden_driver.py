"""Could something hidden drive both ends of an arrow? In a series, columns that are older than the cause tell.

Time gives a lagged arrow its direction, and the class may give one to an arrow of the present, but both ends may still
follow from something that is not in the table. Older columns reach the effect only through the cause, so they are
instruments: they must show an effect, and the same one as the regression (Durbin 1954; Hausman 1978). Three signs of a
hidden cause speak against further arrows: two series that act on each other, an arrow into the same column that clearly
fails, and a cause at the end of the window, behind which there may be more of them.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from drbo.arrays import Bools, Floats, Indices
from drbo.claims.claim import Context, Ruling, SeriesClaim, denials
from drbo.data.statistics.moments import moments
from drbo.deadline import current
from drbo.graph.window import places

#: The effect that instruments show has so many standard errors, and differs from that of the regression at this level.
LEAST_Z, LEVEL = 2.0, 0.05
#: An arrow that fails at this level speaks against all arrows into the same column.
CLEARLY = 0.01
#: What is said about arrows that are not confirmed.
NO_OLDER = "No column of the window is older than '{0}' to test for a hidden cause of both: raise max_lag (--max-lag)."
UNSEEN = "Columns older than '{0}' do not show its effect on '{1}', so a hidden cause of both is not excluded."
DIFFERENT = (
    "Columns older than '{0}' imply another effect on '{1}' than the regression, as with a hidden cause of both."
)
MUTUAL = "'{0}' and '{1}' act on each other, which looks the same as a hidden cause of both."
FAMILY = "A hidden cause is likely at another arrow into '{1}', which leaves this one unconfirmed."


class Instrument(NamedTuple):
    """What the columns that are older than a cause say about its effect."""

    z: float  # the effect in standard errors, positive where it has the sign of the regression; NaN: no such column
    differs: float  # p-value of the same effect as in the regression; NaN: no such column


class HiddenDrivers(SeriesClaim):
    """The claim that older columns confirm the effect of an arrow; for rows that have a past."""

    name, title = "hidden drivers", "the test of hidden causes by older columns"

    def run(self, context: Context) -> Ruling:
        table, dag = context.table, context.answer.dag
        if (linear := context.score.gaussian()) is not None:
            correlation, n_rows = linear.correlation, linear.n_rows
        else:
            rows = table.complete_rows
            found = moments(rows.values, rows.weights)
            correlation, n_rows = found.correlation, found.n
        tests = instruments(correlation, n_rows, dag, np.array(table.lags))
        series = places(table.names, table.lags)[1]
        words = _doubts(tests, series)
        names = table.names
        sentences = {(names[i], names[j]): text.format(names[i], names[j]) for (i, j), text in words.items()}
        return Ruling({(names[i], names[j]): one for (i, j), one in tests.items()}, denials(self, sentences))


def instruments(
    correlation: Floats,  # (d, d)
    n_rows: float,
    dag: Bools,  # (d, d)
    lags: Indices,  # (d,)
) -> dict[tuple[int, int], Instrument]:
    """Return what older columns say about every arrow of a graph over a window, by cause and effect.

    Instruments are the columns that are older than the cause and no causes of the effect themselves.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> older, hidden = rng.normal(size=(2, 1000))
    >>> cause = older + hidden + rng.normal(size=1000)
    >>> dag = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool)  # cause -> effect
    >>> for effect in (cause + rng.normal(size=1000), hidden + rng.normal(size=1000)):
    ...     correlation = np.corrcoef([cause, effect, older])
    ...     found = instruments(correlation, 1000, dag, np.array([0, 0, 1]))[0, 1]
    ...     print(found.z > 2, found.differs > 0.05)
    True True
    False False
    """
    found, deadline = {}, current()
    for i, j in np.argwhere(dag).tolist():
        deadline.check()
        others = np.flatnonzero(dag[:, j] & (np.arange(len(dag)) != i))
        older = np.flatnonzero((lags > lags[i]) & ~dag[:, j])
        kept = _given(correlation, np.array([i, j, *older.tolist()]), others)
        found[i, j] = _instrument(kept, n_rows - len(others) - 2)
    return found


def _given(correlation: Floats, columns: Indices, others: Indices) -> Floats:
    """Return the covariance of some columns without what others explain."""
    block = correlation[np.ix_(columns, columns)]
    if not len(others):
        return block
    shared = correlation[np.ix_(others, columns)]
    left: Floats = block - shared.T @ np.linalg.lstsq(correlation[np.ix_(others, others)], shared, rcond=None)[0]
    return left


def _instrument(covariance: Floats, freedom: float) -> Instrument:
    """Return the effect of the first column on the second by two-stage least squares with the rest."""
    if len(covariance) <= 2 or freedom <= 0:
        return Instrument(np.nan, np.nan)
    (xx, xy), yy = covariance[0, :2], covariance[1, 1]
    stage = np.linalg.lstsq(covariance[2:, 2:], covariance[2:, :2], rcond=None)[0]
    seen, shown = float(covariance[0, 2:] @ stage[:, 0]), float(covariance[1, 2:] @ stage[:, 0])
    if min(seen, xx - seen, yy) <= np.finfo(float).eps * max(xx, yy):
        return Instrument(np.nan, np.nan)
    effect, rest = shown / seen, (xy - shown) / (xx - seen)
    noise = yy - 2 * effect * xy + effect**2 * xx
    left = max(yy - effect**2 * seen - rest**2 * (xx - seen), np.finfo(float).tiny)
    z = effect * np.sqrt(freedom * seen / max(noise, np.finfo(float).tiny))
    gap = abs(effect - rest) / np.sqrt(left / freedom * (1 / seen + 1 / (xx - seen)))
    return Instrument(float(z * np.sign(xy)), float(2 * ndtr(-gap)))


def _doubts(tests: dict[tuple[int, int], Instrument], series: Indices) -> dict[tuple[int, int], str]:
    """Return why arrows are not confirmed, with places for the names of cause and effect."""
    acts = {(series[i], series[j]) for i, j in tests}
    failed = {
        j
        for (i, j), one in tests.items()
        if one.differs < CLEARLY or (np.isnan(one.differs) and series[i] != series[j])
    }
    found = {}
    for (i, j), one in tests.items():
        if np.isnan(one.differs):
            found[i, j] = NO_OLDER
        elif one.differs < LEVEL:
            found[i, j] = DIFFERENT
        elif one.z < LEAST_Z:
            found[i, j] = UNSEEN
        elif series[i] != series[j] and (series[j], series[i]) in acts:
            found[i, j] = MUTUAL
        elif j in failed:
            found[i, j] = FAMILY
    return found
