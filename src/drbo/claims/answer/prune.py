"""Pruning: which edges of the best graph the data support by themselves.

Tests use the parents of the unpruned graph, and all removals happen together; ``odds`` and ``cam-sequential`` drop the
weakest edge of a node first and fit again.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc

from drbo.arrays import Bools, Floats
from drbo.data.statistics.moments import Moments
from drbo.data.statistics.regressions import Regressions, checked_values, edge_weights
from drbo.errors import SettingsError
from drbo.graph.dag import check_dag

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
    data = values if isinstance(values, Moments) else checked_values(values, d)
    fixed = np.zeros((d, d), dtype=bool) if required is None else np.asarray(required) != 0
    if fixed.shape != (d, d):
        raise SettingsError(f"required must be a ({d}, {d}) matrix, got shape {fixed.shape}")
    level = DEFAULT_THRESHOLDS[name] if threshold is None else float(threshold)
    if not (0 <= level < np.inf if name == "threshold" else 0 < level <= 1):
        allowed = "at least 0" if name == "threshold" else "in (0, 1]"
        raise SettingsError(f"the threshold of the pruner {name!r} must be {allowed}, got {level}")
    pruned, details = PRUNERS[name](data, graph, required=fixed, alpha=level)
    return (pruned | fixed) & graph, {"pruner": name, "threshold": level, **details}


def _prune_none(values: Any, dag: Bools, *, required: Bools, alpha: float) -> tuple[Bools, Details]:  # noqa: ARG001
    return dag.copy(), {"statistic": None, "values": np.full(dag.shape, np.nan)}


def _prune_threshold(values: Floats | Moments, dag: Bools, *, required: Bools, alpha: float) -> tuple[Bools, Details]:
    weights, _ = edge_weights(values, dag)
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
