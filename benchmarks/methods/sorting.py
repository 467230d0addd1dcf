"""Sort the nodes by one number each, then regress each node on those before it.

Reisach, Seiler & Weichwald (2021), "Beware of the Simulated DAG! Causal Discovery Benchmarks May Be Easy to Game":
sortnregress, by variance. Reisach, Tami, Seiler, Chambaz & Weichwald (2023), "A Scale-Invariant Sorting Criterion to
Find a Causal Order in Additive Noise Models": R2-sortnregress, by the share of a column's variance that all others
explain. The control of both papers sorts at random. They cost milliseconds, and they win wherever data give their order
away, which ``drbo.data.checks.audit.sortability`` measures.

``prune="lasso"`` is the papers' step: a Lasso with BIC on columns scaled by their least-squares weights. The paper on
DrBO prunes the complete DAG like all its baselines instead: ``prune="threshold"``, or ``"cam"``, or ``"kci"``.
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from benchmarks.methods.base import Graph, Record
from benchmarks.methods.ordering import pruned
from drbo.data.checks.audit import explained

Criterion = Literal["variance", "r2", "random"]
#: The choice of the Lasso's penalty: the authors' package CausalDisco 0.2, baselines.
IC = "bic"


def learn(
    values: npt.NDArray[np.float64],  # (n, d)
    *,
    seed: int,
    record: Record | None = None,
    criterion: Criterion = "variance",
    prune: str = "lasso",
) -> Graph:
    """Return the DAG; ``criterion`` says what is sorted by, ``prune`` is ``lasso`` or one of drbo's pruners."""
    order = sort_nodes(values, criterion, seed)
    graph = lasso_dag(values, order) if prune == "lasso" else pruned(values, order, prune)
    if record:
        record(1, graph)
    return graph


def sort_nodes(values: npt.NDArray[np.float64], criterion: Criterion, seed: int) -> list[int]:
    """Return the nodes by rising criterion; ties, and the random criterion, follow the seed."""
    if criterion not in get_args(Criterion):
        raise ValueError(f"criterion must be one of {', '.join(get_args(Criterion))}, got {criterion!r}")
    shuffled = np.random.default_rng(seed).permutation(values.shape[1])
    if criterion == "random":
        return [int(node) for node in shuffled]
    key = values.var(axis=0) if criterion == "variance" else explained(values)
    return [int(node) for node in shuffled[np.argsort(key[shuffled], kind="stable")]]


def lasso_dag(values: npt.NDArray[np.float64], order: Sequence[int]) -> Graph:
    """Regress each node on all before it by the adaptive Lasso; an edge is a weight that is not zero."""
    from sklearn.linear_model import LassoLarsIC

    centred = values - values.mean(axis=0)
    graph = np.zeros((len(order), len(order)), dtype=bool)
    for place, node in enumerate(order[1:], start=1):
        before = np.asarray(order[:place])
        size = np.abs(np.linalg.lstsq(centred[:, before], centred[:, node])[0])
        lasso = LassoLarsIC(criterion=IC).fit(centred[:, before] * size, centred[:, node])
        graph[before, node] = lasso.coef_ * size != 0
    return graph
