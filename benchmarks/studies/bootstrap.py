"""Bootstrap: what it costs, and what a warm start changes.

    python -m benchmarks bootstrap --graphs 20ER2,20ER4 --seeds 0-4

Data set s of a graph is ``drbo.data.simulate.simulate(graph, n, seed=s)``, each column divided by its standard
deviation; the score is ``bic-nv``, the default for such tables.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Annotated

import numpy as np
import numpy.typing as npt

from benchmarks.parameters import Graphs, SampleSize, Seeds, Workers
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO
from drbo.claims.refits.confidence import Confidence
from drbo.data.files.simulate import Simulated, simulate

Resamples = Annotated[int, "resamples of each table"]
Kind = Annotated[str, "bootstrap or subsample"]


def standardised(graph: str, n: int, seed: int) -> Simulated:
    """Return a simulated table whose columns have variance 1."""
    made = simulate(graph, n=n, seed=seed)
    return replace(made, X=made.X / made.X.std(axis=0))


def difference(one: Confidence, two: Confidence) -> npt.NDArray[np.float64]:
    """Return how far apart the frequencies of edges are that either found: as arrows, and as links."""
    either = (one.adjacent > 0) | (two.adjacent > 0)
    arrows = np.abs(one.directed - two.directed)[either]
    links = np.abs(one.adjacent - two.adjacent)[np.triu(either, 1)]
    return np.concatenate([arrows, links])


def cpu_seconds() -> float:
    """Return the CPU seconds of this process, and of those that it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


@study(
    "bootstrap", "graph n_rows seed resamples kind", graphs=("6ER1",), seeds=range(1), rows=60, resamples=3, workers=1
)
def cost(
    graphs: Graphs = ("20ER2", "20ER4"),
    seeds: Seeds = range(5),
    rows: SampleSize = 1_000,
    resamples: Resamples = 100,
    kind: Kind = "bootstrap",
    workers: Workers = 2,
) -> Iterator[Row]:
    """Yield the CPU seconds of a fit and of a warm and a cold bootstrap, and the difference of their frequencies."""
    for graph in graphs:
        for seed in seeds:
            X = standardised(graph, rows, seed).X
            DrBO(score="bic-nv", random_state=seed).fit(X[:50])  # compiles, once per process
            start = cpu_seconds()
            model = DrBO(random_state=seed).fit(X)
            seconds, found = {"fit": cpu_seconds() - start}, {}
            for name, warm in (("warm", True), ("cold", False)):
                start = cpu_seconds()
                with ProcessPoolExecutor(workers) as pool:
                    found[name] = model.bootstrap(X, n=resamples, kind=kind, warm=warm, executor=pool)
                seconds[name] = cpu_seconds() - start
            apart = difference(found["warm"], found["cold"])
            yield {
                "graph": graph,
                "n_rows": rows,
                "seed": seed,
                "resamples": resamples,
                "kind": kind,
                "workers": workers,
                **{f"{name}_cpu_seconds": round(value, 3) for name, value in seconds.items()},
                "warm_over_fit": round(seconds["warm"] / seconds["fit"], 2),
                "mean_difference": round(float(apart.mean()), 4),
                "p95_difference": round(float(np.quantile(apart, 0.95)), 4),
            }
