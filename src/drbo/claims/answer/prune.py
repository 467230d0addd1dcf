"""Pruning: which edges of the best graph the data support by themselves, and the linear weights of edges.

Tests use the parents of the unpruned graph, and all removals happen together; ``odds`` and ``cam-sequential`` drop the
weakest edge of a node first and fit again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc

from drbo.arrays import Bools, Floats, Indices
from drbo.data.statistics.moments import Moments
from drbo.data.statistics.square import square
from drbo.errors import DataError, SettingsError
from drbo.graph.dag import check_dag

#: The share of its variance that the other parents must leave to a parent, else it is collinear with them.
COLLINEAR = 1e-9
#: Residual shares under this are rounding errors of a perfect fit.
RESIDUAL_FLOOR = 1e-12

Details = dict[str, Any]
PrunerName = Literal["none", "threshold", "f-test", "odds", "cam", "cam-sequential", "kci"]
#: ``pruner(values, dag, *, required, alpha) -> (pruned dag, details)``. alpha is the pruner's threshold. details hold
#: ``statistic``, its name, and ``values``, its value (d, d) for each edge, NaN elsewhere.
Pruner = Callable[..., tuple[Bools, Details]]


def prune(
    name: str,
    values: npt.ArrayLike | Moments,  # (n, d)
    dag: npt.ArrayLike,  # (d, d)
    *,
    required: npt.ArrayLike | None = None,  # (d, d)
    threshold: float | None = None,
) -> tuple[Bools, Details]:
    """Return the DAG without the edges that the pruner rejects, and the statistics behind it.

    Parameters
    ----------
    name : ``none``; ``threshold``: keep linear weights above 0.3 in size (Duong, Gupta & Nguyen 2025; depends on the
        units); ``f-test``: keep edges with a significant partial F test, corrected for all d(d-1) pairs, at 0.01
        (unit-free); ``odds``: keep edges that are likelier than not, by comparison with the clear edges of the graph
        (for equal noise variances, which make weights comparable); ``cam``: significance in a nonlinear additive
        model, at 0.001, all edges at once as in the paper; ``cam-sequential``: the same, the weakest first, with a new
        fit after each; ``kci``: conditional dependence.
    values : the data, categorical columns as codes; or, for the linear ones, its moments.
    required : True for edges that stay whatever the test says.
    threshold : another threshold, significance level or probability than the pruner's default.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 200))
    >>> data = np.column_stack([x, x + noise, rng.normal(size=200)])
    >>> pruned, details = prune("f-test", data, [[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    >>> pruned.astype(int).tolist(), details["statistic"]
    ([[0, 1, 0], [0, 0, 0], [0, 0, 0]], 'p-value')
    """
    if name not in PRUNERS:
        raise SettingsError(f"prune must be one of {', '.join(PRUNERS)}, got {name!r}")
    graph = check_dag(dag)
    d = len(graph)
    if isinstance(values, Moments) and name not in BY_MOMENTS:
        raise SettingsError(
            f"prune '{name}' requires complete rows of equal weight", hint=f"use one of {', '.join(BY_MOMENTS)}"
        )
    data = values if isinstance(values, Moments) else _checked(values, d)
    fixed = np.zeros((d, d), dtype=bool) if required is None else np.asarray(required) != 0
    if fixed.shape != (d, d):
        raise SettingsError(f"required must be a ({d}, {d}) matrix, got shape {fixed.shape}")
    level = DEFAULT_THRESHOLDS[name] if threshold is None else float(threshold)
    if not (0 <= level < np.inf if name == "threshold" else 0 < level <= 1):
        allowed = "at least 0" if name == "threshold" else "in (0, 1]"
        raise SettingsError(f"the threshold of the pruner {name!r} must be {allowed}, got {level}")
    pruned, details = PRUNERS[name](data, graph, required=fixed, alpha=level)
    return (pruned | fixed) & graph, {"pruner": name, "threshold": level, **details}


def linear_weights(
    values: npt.ArrayLike | Moments, dag: npt.ArrayLike, *, covariance: bool = False
) -> tuple[Floats, Floats]:
    """Return the least-squares weights (d, d) of every node on its parents, raw and for columns of variance 1.

    ``values`` is the table (n, d), its moments, or its covariance matrix (d, d) if ``covariance`` is True. The
    regressions have an intercept. A parent that is a linear combination of stronger parents has the weight 0.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> raw, standardised = linear_weights(np.column_stack([x, 5 - 2 * x]), [[0, 1], [0, 0]])
    >>> float(raw[0, 1].round(9)), float(standardised[0, 1].round(9))
    (-2.0, -1.0)
    """
    graph = check_dag(dag)
    if isinstance(values, Moments):
        values, covariance = values.covariance, True
    matrix = _checked(values, len(graph))
    if covariance and len(matrix) != len(graph):
        raise DataError(f"a covariance matrix must be square, got shape {matrix.shape}")
    correlation, deviation = _from_covariance(matrix) if covariance else _correlation(matrix)
    standardised = square(len(graph))
    for node in np.flatnonzero(graph.any(axis=0)):
        parents, weights, _, _ = _regress(correlation, int(node), np.flatnonzero(graph[:, node]))
        standardised[parents, node] = weights
    raw = np.multiply(standardised, deviation, out=square(len(graph)))
    raw /= deviation[:, None]
    return raw, standardised


def _checked(values: npt.ArrayLike, d: int) -> Floats:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 2 or data.shape[1] != d or len(data) == 0 or not np.isfinite(data).all():
        raise DataError(f"a graph of {d} nodes needs a finite table of {d} columns, got shape {data.shape}")
    return data


def _correlation(values: Floats) -> tuple[Floats, Floats]:
    """Return the correlation matrix and the standard deviations (1 for a constant); safe for values of any size."""
    centred = values - values.mean(axis=0)
    size = np.abs(centred).max(axis=0)
    size[size == 0] = 1.0
    centred /= size
    correlation, deviation = _from_covariance(centred.T @ centred / len(values))
    return correlation, deviation * size


def _from_covariance(covariance: Floats) -> tuple[Floats, Floats]:
    deviation = np.sqrt(np.diag(covariance))
    deviation[deviation == 0] = 1.0
    correlation = np.divide(covariance, deviation, out=square(len(deviation)))  # of ten thousand columns, maybe
    correlation /= deviation[:, None]
    np.fill_diagonal(correlation, 1.0)
    return correlation, deviation


@dataclass(frozen=True)
class Regressions:
    """Linear regressions of nodes on their parents, both standardised, from one correlation matrix."""

    correlation: Floats  # (d, d)
    deviation: Floats  # (d,) standard deviations of the columns
    rows: Floats  # (d, d) how many rows show both columns

    @classmethod
    def of(cls, values: npt.ArrayLike | Moments, d: int) -> "Regressions":
        """Return the regressions for a table or its moments."""
        if isinstance(values, Moments):
            return cls(*_from_covariance(values.covariance), values.pairs)
        data = _checked(values, d)
        return cls(*_correlation(data), np.full((d, d), float(len(data))))

    def fit(self, node: int, parents: Indices) -> tuple[Floats, Floats, Floats]:
        """Return weights, standard errors and degrees of freedom of a node's parents, in rising order.

        A parent that is collinear with stronger ones, or has no degree of freedom, has an infinite error.
        """
        used, found, spread, residual = _regress(self.correlation, node, parents)
        freedom = self.rows[parents, node] - 1 - len(used)
        weights, errors = np.zeros(len(parents)), np.full(len(parents), np.inf)
        place = np.searchsorted(parents, used)
        weights[place] = found
        variance = spread * residual / np.maximum(freedom[place], 1)
        errors[place] = np.where(freedom[place] > 0, np.sqrt(variance), np.inf)
        return weights, errors, freedom


def _regress(correlation: Floats, node: int, parents: Indices) -> tuple[Indices, Floats, Floats, float]:
    """Regress a node on its parents, both standardised, by one Cholesky factorisation.

    Returns the parents that are not collinear, their weights, the diagonal of the inverse of their correlation matrix
    and the share of the node's variance that they leave.
    """
    try:
        factor = np.linalg.cholesky(correlation[np.ix_(parents, parents)])
        collinear = bool((np.diag(factor) ** 2 < COLLINEAR).any())
    except np.linalg.LinAlgError:
        collinear = True
    if collinear:
        parents = _independent(correlation, node, parents)
        factor = np.linalg.cholesky(correlation[np.ix_(parents, parents)])
    inverse = np.linalg.inv(factor)
    projection = inverse @ correlation[parents, node]
    residual = max(float(1.0 - projection @ projection), RESIDUAL_FLOOR)
    return parents, inverse.T @ projection, (inverse**2).sum(axis=0), residual


def _independent(correlation: Floats, node: int, parents: Indices) -> Indices:
    """Return the parents without those that are combinations of parents closer to the node."""
    kept: list[int] = []
    for parent in sorted(parents.tolist(), key=lambda parent: -abs(correlation[parent, node])):
        among = correlation[kept, parent]
        left = 1.0 - among @ np.linalg.solve(correlation[np.ix_(kept, kept)], among) if kept else 1.0
        if left >= COLLINEAR:
            kept.append(parent)
    return np.array(sorted(kept), dtype=np.intp)


def _prune_none(values: Any, dag: Bools, *, required: Bools, alpha: float) -> tuple[Bools, Details]:  # noqa: ARG001
    return dag.copy(), {"statistic": None, "values": np.full(dag.shape, np.nan)}


def _prune_threshold(values: Floats | Moments, dag: Bools, *, required: Bools, alpha: float) -> tuple[Bools, Details]:
    weights, _ = linear_weights(values, dag)
    kept = dag & (required | (np.abs(weights) > alpha))
    return kept, {"statistic": "weight", "values": np.where(dag, weights, np.nan)}


def _prune_f_test(values: Floats | Moments, dag: Bools, *, required: Bools, alpha: float) -> tuple[Bools, Details]:
    p_values = f_test(values, dag)
    d = len(dag)
    kept = dag & (required | (p_values < alpha / max(1, d * (d - 1))))
    return kept, {"statistic": "p-value", "values": p_values}


def f_test(values: npt.ArrayLike | Moments, dag: npt.ArrayLike) -> Floats:
    """Return (d, d) the p-value of the partial F test of every edge given the other parents; NaN where no edge is.

    With as many parents as rows every fit is perfect and no edge is supported: the p-value is 1. It is also 1 for a
    parent that is a linear combination of parents closer to the node. With missing cells an edge is tested as if there
    were only the rows in which both its ends are seen.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    >>> y = x + np.array([0.1, -0.1, 0.0, -0.1, 0.1])
    >>> float(f_test(np.column_stack([x, y]), [[0, 1], [0, 0]])[0, 1].round(6))
    0.000107
    """
    graph = check_dag(dag)
    regressions = Regressions.of(values, len(graph))
    p_values = np.where(graph, 1.0, np.nan)
    for node in np.flatnonzero(graph.any(axis=0)):
        parents = np.flatnonzero(graph[:, node])
        weights, errors, freedom = regressions.fit(int(node), parents)
        p_values[parents, node] = fdtrc(1, np.maximum(freedom, 1), (weights / errors) ** 2)
    return p_values


def _imported(module: str, function: str, **options: bool) -> Pruner:
    """Return a test that is imported when it is used: the core must start without what it needs.

    The function has the signature of a pruner and returns the pruned DAG and the (d, d) p-values.
    """

    def pruner(values: Floats, dag: Bools, *, required: Bools, alpha: float) -> tuple[Bools, Details]:
        test = getattr(import_module(module), function)
        kept, p_values = test(values, dag, required=required, alpha=alpha, **options)
        return kept, {"statistic": "p-value", "values": p_values}

    return pruner


def _prune_odds(values: Floats | Moments, dag: Bools, *, required: Bools, alpha: float) -> tuple[Bools, Details]:
    from drbo.claims.answer.odds import prune_odds  # which needs this module

    return prune_odds(values, dag, required=required, alpha=alpha)


PRUNERS: dict[str, Pruner] = {
    "none": _prune_none,
    "threshold": _prune_threshold,
    "f-test": _prune_f_test,
    "odds": _prune_odds,
    "cam": _imported("drbo.claims.answer.cam", "prune_cam"),
    "cam-sequential": _imported("drbo.claims.answer.cam", "prune_cam", sequential=True),
    "kci": _imported("drbo.claims.answer.kci", "prune_kci"),
}
BY_MOMENTS = ("none", "threshold", "f-test", "odds")  # pruners that need no more than a covariance
DEFAULT_THRESHOLDS = {
    "none": 1.0,
    "threshold": 0.3,
    "f-test": 0.01,
    "odds": 0.5,
    "cam": 0.001,
    "cam-sequential": 0.001,
    "kci": 0.001,
}
