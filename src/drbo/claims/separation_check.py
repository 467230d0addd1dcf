"""The separation check: is an arrow of the class needed at all?

A DAG has edges that only make up for a hidden cause, or for a curve that a linear score cannot draw. Other columns then
often separate the two ends: given one or two neighbours, they are independent. No edge of a true graph can be separated
like that, so the class supports no such arrow. On tuning tables (study ``directions``, 1,000 rows, seeds 220 to 229)
the share of right class arrows rises from 0.76 to 0.87 with ``bic-nv`` and from 0.78 to 0.85 with ``splines``; of the
right ones, 9% are no longer supported.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from drbo.claims.noise_check import MAX_EDGES
from drbo.claims.residual_tests import Regression, TableTests
from drbo.data.units import ranked
from drbo.deadline import current
from drbo.threads import one_blas_thread

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

#: Columns that may separate two ends together.
MOST_SEPARATORS = 2
#: Sets are tested in the order of the partial correlation that they leave, at most so many of them, and only if it is
#: less than so many standard errors: what many rows show to be correlated is not separated.
STANDARD_ERRORS, MOST_SETS = 5.0, 5
#: Each end keeps at least this share of its variance: given a near copy of a column, such as a second sensor, it seems
#: independent of its own causes. (Seen on the light tunnel; simulated tables give the same answers without this.)
LEAST_LEFT = 0.2
#: Two ends are separated above this p-value.
LEVEL = 0.1


def separation_doubts(
    tests: TableTests,
    dag: Bools,
    arrows: Bools,  # (d, d) the edges to look at
    regression: Regression = "splines",
) -> dict[tuple[str, str], str]:
    """Return the arrows (cause, effect) whose ends are independent given at most two of their neighbours, in words.

    Both ends are regressed on the separating columns, and the residuals are tested by rank HSIC. Only numeric columns
    take part; ends have at least 8 distinct values. Graphs with more than 1,000 edges are not tested.

    Raises an OutOfTimeError if the run has to end before all arrows are checked.

    Examples
    --------
    >>> from drbo.data.table import Table
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 500))
    >>> table = Table.from_array(np.column_stack([a, b, a + b + rng.normal(size=500)]), ["a", "b", "c"])
    >>> dag = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> separation_doubts(TableTests(table), dag, dag)
    {('a', 'b'): "The class has this direction, but 'a' and 'b' are independent, so there may be no such edge."}
    """
    found: dict[tuple[str, str], str] = {}
    wanted = np.argwhere(dag & arrows & tests.testable[:, None] & tests.testable).tolist()
    if not wanted or dag.sum() > MAX_EDGES:
        return found
    residuals, names, deadline = tests.by(regression), tests.names, current()
    numeric = np.ones(len(dag), dtype=bool)
    numeric[list(tests.categorical)] = False
    with one_blas_thread(), np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.atleast_2d(np.corrcoef(ranked(tests.values, tests.categorical).T))
        linked = dag | dag.T
        for i, j in wanted:
            deadline.check()
            near = [k for k in np.flatnonzero((linked[i] | linked[j]) & numeric).tolist() if k not in (i, j)]
            for given in _likely_sets(correlation, i, j, near, STANDARD_ERRORS / len(tests.values) ** 0.5):
                if residuals.noises(i, given, [(j, given)]).p_value > LEVEL:
                    found[names[i], names[j]] = _words(names[i], names[j], [names[k] for k in given])
                    break
    return found


def _likely_sets(correlation: Floats, i: int, j: int, near: Sequence[int], most: float) -> list[tuple[int, ...]]:
    """Return the sets of neighbours that leave the least partial correlation, if it is below the given one."""
    sets, left = list[tuple[int, ...]](), list[Floats]()
    for size in range(MOST_SEPARATORS + 1):
        if group := list(combinations(near, size)):
            sets += group
            left.append(partial_correlations(correlation, i, j, group))
    strength = np.nan_to_num(np.abs(np.concatenate(left)), nan=1.0)
    first = np.argsort(strength, kind="stable")[:MOST_SETS].tolist()
    return [sets[k] for k in first if strength[k] < most]


def partial_correlations(correlation: Floats, i: int, j: int, sets: Sequence[tuple[int, ...]]) -> Floats:
    """Return the partial correlation of two columns given each of some sets of equal size.

    NaN: a set leaves less than a fifth of the variance of one of both.

    Examples
    --------
    >>> chain = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    >>> partial_correlations(chain, 0, 2, [(1,)]).round(9).tolist()
    [0.0]
    """
    own, given = np.array([i, j]), np.array(sets, dtype=np.intp)
    block = np.broadcast_to(correlation[np.ix_(own, own)], (len(sets), 2, 2))
    if given.shape[1]:
        inner = correlation[given[:, :, None], given[:, None, :]]
        cross = correlation[given[:, :, None], own]
        block = block - cross.transpose(0, 2, 1) @ np.linalg.pinv(inner, hermitian=True) @ cross
    left = np.minimum(block[:, 0, 0], block[:, 1, 1])
    found: Floats = np.where(left >= LEAST_LEFT, block[:, 0, 1] / np.sqrt(block[:, 0, 0] * block[:, 1, 1]), np.nan)
    return found


def _words(cause: str, effect: str, given: Sequence[str]) -> str:
    condition = "" if not given else " given " + " and ".join(f"'{name}'" for name in given)
    pair = f"'{cause}' and '{effect}'"
    return f"The class has this direction, but {pair} are independent{condition}, so there may be no such edge."
