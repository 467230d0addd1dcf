"""An expensive score beyond toy size: Gaussian-process data, score ``gp``, with parts of the search left out.

    python -m benchmarks expensive --nodes 20,30,50 --device cuda

The default search within a number of local scores (``gp``), and with each of its parts switched off: without random
features that try families first (``full``), without whole parent sets (``no-sets``), without a surrogate
(``no-surrogate``): then DAGs near the best one are evaluated as they come. Then with neither whole parent sets nor
random features, so that it changes one edge at a time (``single``), and without a surrogate, too (``none``).
Recombination and polish are the same. What is compared is the number of distinct true local scores, and the seconds,
until the best graph that any of the runs on these data has found; ``cost`` also counts the families that were tried
first, each at its declared cost.
"""

import time
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from benchmarks.methods.metrics import dag_score
from benchmarks.parameters import Device, Names, Numbers, SampleSize, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import best_device, study
from drbo import DrBO
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.graph.metrics import shd
from drbo.scores.gp.gp import GpScore
from drbo.settings import Settings

DEVICE = best_device()
#: What each search leaves out.
LEFT_OUT = {
    "gp": (),
    "full": ("fidelities",),
    "no-sets": ("parent_sets",),
    "no-surrogate": ("surrogate",),
    "single": ("parent_sets", "fidelities"),
    "none": ("parent_sets", "fidelities", "surrogate"),
}


@study("expensive", "graph n seed surrogate device", nodes=(5,), degree=1, rows=60, local=10)
def run(
    nodes: Annotated[Numbers, "numbers of nodes"] = (20, 30, 50),
    degree: Annotated[int, "edges per node"] = 2,
    rows: SampleSize = 500,
    seeds: Seeds = range(1),
    surrogates: Annotated[Names, f"some of {', '.join(LEFT_OUT)}"] = tuple(LEFT_OUT),
    local: Annotated[int, "local scores per node that may be computed"] = 200,
    limit: Annotated[float | None, "seconds of each search"] = None,
    device: Device = DEVICE,
) -> Iterator[Row]:
    """Yield the row of each search, with the way to its best score."""
    for graph in (f"{d}ER{degree}" for d in nodes):
        for seed in seeds:
            data = simulate(graph, "gp", n=rows, seed=seed)
            truth = dag_score(GpScore(Statistics.from_array(data.X), device=device), data.dag)
            for surrogate in surrogates:
                settings = Settings(route="surrogate", max_local=local * len(data.dag), max_evals=1_000_000).with_(
                    **dict.fromkeys(LEFT_OUT[surrogate], False)
                )
                start = time.perf_counter()
                model = DrBO(score="gp", random_state=seed, settings=settings, device=device, time_limit=limit)
                result = model.fit(data.X).result_
                trace = {name: np.asarray(values) for name, values in result.trace.items()}
                rises = np.flatnonzero(np.diff(np.maximum.accumulate(trace["best"]), prepend=-np.inf) > 0)
                columns = (trace["n_local"], trace["seconds"], trace["best"])
                steps = [":".join(f"{float(column[k]):.10g}" for column in columns) for k in rises]
                yield {
                    "graph": graph,
                    "n": rows,
                    "seed": seed,
                    "surrogate": surrogate,
                    "n_edges": int(data.dag.sum()),
                    "shd": shd(result.dag, data.dag),
                    "score": repr(float(trace["best"][-1])),
                    "true_score": repr(truth),
                    "n_evals": result.n_evals,
                    "n_local": result.n_local,
                    "n_tried": sum(one.n_local for one in result.search.fidelities),
                    "cost": round(result.n_local + sum(one.cost * one.n_local for one in result.search.fidelities)),
                    "seconds": round(time.perf_counter() - start, 2),
                    "stopped": result.stopped,
                    "rises": " ".join(steps),
                }
