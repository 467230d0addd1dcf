"""Rows that depend on each other: false edges and errors with and without groups, and of serially dependent rows.

    python -m benchmarks dependent_rows --seeds 0-9

``panels``: 20 groups of 10, 30 or 50 rows and 10 columns, Gaussian and linear. A share of 0.3 of the noise variance of
each column is constant within a group: ``own``: independent for every column; ``shared``: one effect of the group on
all columns. ``plain`` is a fit that is told that rows are independent, as all fits of version 0.1, ``groups`` one that
knows the groups, and ``design effect`` one in which a row of a group of m counts as 1 / (1 + 0.3 (m - 1)). The graphs
have no edges or 15. ``series``: 300 rows of 10 columns, each autoregressive with the same coefficient, or in the kind
``mixed`` with coefficients from 0 to 0.95; a graph with edges acts within a row.
"""

import warnings
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from benchmarks.parameters import Names, Numbers, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import Design, DrBO
from drbo.graph.metrics import shd_cpdag

N_COLUMNS, N_GROUPS = 10, 20
WITHIN = 0.3  # intraclass correlation of the noise
WEIGHTS = (0.4, 1.2)  # sizes of the effects
SERIES_ROWS = 300
MIXED = 0.95  # the largest coefficient of mixed series
SERIES = ("0", "0.5", "0.8", "mixed")


def graph(rng: np.random.Generator, n_edges: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights (d, d) of a random DAG, and an order of its nodes."""
    order, d = rng.permutation(N_COLUMNS), N_COLUMNS
    first, second = np.triu_indices(d, 1)
    chosen = rng.choice(len(first), n_edges, replace=False)
    weights = np.zeros((d, d))
    size = rng.uniform(*WEIGHTS, size=n_edges) * rng.choice([-1, 1], size=n_edges)
    weights[order[first[chosen]], order[second[chosen]]] = size
    return weights, order


def effects(noise: np.ndarray, weights: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the columns (n, d) that linear effects make of the noise."""
    x = np.zeros_like(noise)
    for j in order:
        x[:, j] = x @ weights[:, j] + noise[:, j]
    return x


def panel(kind: str, size: int, n_edges: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a table, the group of each row, and the true graph."""
    rng = np.random.default_rng([seed, size, n_edges, kind == "shared"])
    weights, order = graph(rng, n_edges)
    group = np.repeat(np.arange(N_GROUPS), size)
    if kind == "shared":
        common = rng.normal(size=(N_GROUPS, 1)) * rng.choice([-1, 1], size=N_COLUMNS)
    else:
        common = rng.normal(size=(N_GROUPS, N_COLUMNS))
    noise = np.sqrt(WITHIN) * common[group] + np.sqrt(1 - WITHIN) * rng.normal(size=(len(group), N_COLUMNS))
    return effects(noise, weights, order), group, weights != 0


def autoregressive(kind: str, n_edges: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return series of variance 1 before they act on each other, and the true graph."""
    rng = np.random.default_rng([seed, SERIES.index(kind), n_edges])
    weights, order = graph(rng, n_edges)
    rho = rng.uniform(0, MIXED, size=N_COLUMNS) if kind == "mixed" else np.full(N_COLUMNS, float(kind))
    noise = rng.normal(size=(SERIES_ROWS, N_COLUMNS))
    for t in range(1, SERIES_ROWS):
        noise[t] = rho * noise[t - 1] + np.sqrt(1 - rho**2) * noise[t]
    return effects(noise, weights, order), weights != 0


def row(x: np.ndarray, truth: np.ndarray, groups: Any, seed: int, weight: float | None = None) -> Row:
    """Fit a table, of which each row may have the same weight, and count the errors."""
    weights = None if weight is None else np.full(len(x), weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = (
            DrBO(score="bic-nv", design=Design(groups=groups), random_state=seed).fit(x, sample_weight=weights).result_
        )
    found = result.dag | result.dag.T
    supported = [one for one in result.directions if one.direction == "supported"]
    places = {name: k for k, name in enumerate(result.names)}
    return {
        "edges": int(result.dag.sum()),
        "false_links": int((np.triu(found & ~(truth | truth.T))).sum()),
        "shd_cpdag": int(shd_cpdag(result.dag, truth)),
        "worth": round(result.table.n_effective or result.table.n_rows, 1),
        "supported": len(supported),
        "supported_right": sum(bool(truth[places[one.cause], places[one.effect]]) for one in supported),
    }


@study("dependent_panels", "kind size n_edges seed method", kinds=("own",), sizes=(10,), edges=(0,), seeds=range(1))
def panels(
    kinds: Annotated[Names, "effects of the groups"] = ("own", "shared"),
    sizes: Annotated[Numbers, "rows per group"] = (10, 30, 50),
    edges: Annotated[Numbers, "edges of the true graph"] = (0, 15),
    seeds: Seeds = range(10),
) -> Iterator[Row]:
    """Yield the errors of panels with and without groups."""
    for kind in kinds:
        for size in sizes:
            for n_edges in edges:
                for seed in seeds:
                    x, group, truth = panel(kind, size, n_edges, seed)
                    case = {"kind": kind, "size": size, "n_edges": n_edges, "seed": seed}
                    effect = 1 + (size - 1) * WITHIN
                    yield case | {"method": "plain"} | row(x, truth, False, seed)
                    yield case | {"method": "design effect"} | row(x, truth, False, seed, weight=1 / effect)
                    yield case | {"method": "groups"} | row(x, truth, group, seed)


@study("dependent_series", "kind n_edges seed method", kinds=("0.8",), edges=(0,), seeds=range(1))
def series(
    kinds: Annotated[Names, "autoregressive coefficients"] = SERIES,
    edges: Annotated[Numbers, "edges of the true graph"] = (0, 15),
    seeds: Seeds = range(10),
) -> Iterator[Row]:
    """Yield the errors of series whose rows count as what they are worth, or in full."""
    for kind in kinds:
        for n_edges in edges:
            for seed in seeds:
                x, truth = autoregressive(kind, n_edges, seed)
                for method, groups in (("plain", False), ("default", None)):
                    yield {"kind": kind, "n_edges": n_edges, "seed": seed, "method": method} | row(
                        x, truth, groups, seed
                    )
