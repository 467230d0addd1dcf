"""Screening: selects the candidate parents of each node by cheap measures of dependence."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from drbo.arrays import Floats
from drbo.constraints import Constraints

#: Weight of the identity added to the correlation matrix before it is inverted, as a share of d / n: keeps most true
#: edges (0.001 to 0.1 tried on 300ER2, 1000ER2, 100ER4, seed 100).
RIDGE = 0.01


def screened(
    values: npt.ArrayLike,  # (n, d)
    most: int,
    constraints: Constraints | None = None,
) -> Constraints:
    """Return constraints that allow at most ``most`` candidate parents per node: the most dependent ones.

    Half of them are the strongest partial correlations given all other variables: parents, children and their other
    parents. The rest are the strongest marginal dependences, between ranks or between distances of ranks from the
    middle, so that an even function is seen too. Required edges stay, edges that are not allowed stay out.

    Parameters
    ----------
    values : the table; categories as numbers.
    most : candidate parents per node.
    constraints : what is known before.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 4))
    >>> x[:, 3] = x[:, 0] ** 2 + 0.1 * x[:, 3]
    >>> screened(x, most=1).allowed[:, 3].tolist()
    [True, False, False, False]
    """
    table = np.asarray(values, dtype=np.float64)
    constraints = constraints or Constraints.none(table.shape[1])
    marginal, partial = _marginal(table), _partial(table)
    kept = constraints.required.copy()
    for node in range(len(kept)):
        possible = constraints.allowed[:, node] & ~kept[:, node]
        room = most - int(kept[:, node].sum())
        for strength, count in ((partial[:, node], room // 2), (marginal[:, node], room)):
            order = np.argsort(-np.where(possible, strength, -1.0), kind="stable")
            free = min(count, most - int(kept[:, node].sum()), int(possible.sum()))
            kept[order[: max(0, free)], node] = True
            possible &= ~kept[:, node]
    return replace(constraints, allowed=kept)


def _marginal(table: Floats) -> Floats:
    """Return the largest absolute correlation (d, d) between ranks, or distances of ranks from the middle."""
    from scipy.stats import rankdata  # takes half a second to load

    ranks = _unit(rankdata(table, axis=0))
    forms = [ranks, _unit(np.abs(ranks))]
    return np.asarray(np.max([np.abs(a.T @ b) for a in forms for b in forms], axis=0))


def _partial(table: Floats) -> Floats:
    """Return absolute partial correlations (d, d) given all other variables, shrunk where rows are few."""
    n, d = table.shape
    unit = _unit(table)
    precision = np.linalg.inv(unit.T @ unit + (RIDGE * d / n + 1e-6) * np.eye(d))
    scale = 1 / np.sqrt(np.diag(precision))
    return np.asarray(np.abs(precision * scale[:, None] * scale[None, :]))


def _unit(values: Floats) -> Floats:
    """Return columns centred and of length 1; a constant column stays 0."""
    centred = values - values.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    return np.asarray(centred / np.where(length > 0, length, 1.0))
