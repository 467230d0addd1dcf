"""Order search beside other methods on linear-Gaussian data: score, distance to the truth and seconds, in one run.

    python -m benchmarks orders --data standardised --graphs 20ER4,50ER4 --rivals "flopsearch FLOP,causal-learn BOSS"
    python -m benchmarks orders --data raw --graphs 30ER8,100ER2 --rivals EqVar
    python -m benchmarks orders --part scale                      # 1,000 nodes

Data set s of a graph is ``drbo.data.simulate.simulate(graph, n, seed=s)``, standardised (score bic-nv) or as it is
(bic-ev). Ours is the estimator at its defaults, within ``--seconds`` if given; the first fit of a run compiles and is
not timed. FLOP runs for at least as many seconds as ours took. ``score`` is that of the graph before pruning;
``shd`` and ``shd_c`` are after it, ``searched_shd`` and ``searched_shd_c`` before it, as FLOP and BOSS do not prune.
"""

import resource
import time
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Literal

import numpy as np

from benchmarks.methods import Task, Worker, library
from benchmarks.methods.metrics import dag_score, judge
from benchmarks.parameters import Graphs, Names, SampleSize, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO
from drbo.data.files.simulate import Simulated, simulate, standardize
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import dag_to_cpdag
from drbo.graph.metrics import compare, shd
from drbo.scores.base import Score
from drbo.scores.registry import build_score

KEY = "data graph n penalty seed method"
QUICK = {"graphs": ("6ER1",), "rows": 100, "seeds": range(1), "rivals": ("EqVar",), "limit": 20.0}
SCORES = {"standardised": "bic-nv", "raw": "bic-ev"}


def ours(data: Simulated, score: Score, penalty: float, seconds: float | None, seed: int) -> Row:
    """Fit the estimator and return its part of the row."""
    options = {"penalty": penalty}
    model = DrBO(score=score.name, time_limit=seconds, random_state=seed, score_options=options, exact=False)
    start = time.perf_counter()
    result = model.fit(data.X).result_
    spent = time.perf_counter() - start
    metrics = compare(result.dag, data.dag)
    return {
        "method": "drbo",
        "found_score": repr(dag_score(score, result.searched_dag)),
        "shd": metrics.shd,
        "shd_c": metrics.shd_c,
        "searched_shd": shd(result.searched_dag, data.dag),
        "searched_shd_c": shd(dag_to_cpdag(result.searched_dag), dag_to_cpdag(data.dag)),
        "n_found": int(result.dag.sum()),
        "seconds": round(spent, 2),
        "n_local": result.n_local,
        "note": result.stopped,
    }


def theirs(rival: str, worker: Worker, task: Task, score: Score, data: Simulated, limit: float) -> Row:
    """Return a rival's part of the row."""
    answer = worker.ask(rival, task, limit)
    name = library(rival) + (" (recommended)" if rival.endswith("(recommended)") else "")
    row: Row = {"method": name, **judge(answer, score, data.dag)}
    if answer.graph is not None:
        row["shd"] = shd(answer.graph, data.dag)
    return {**row, "seconds": round(answer.seconds, 2)}


@study("orders", KEY, **QUICK)
def run(
    data: Annotated[Literal["standardised", "raw"], "with the score bic-nv or bic-ev"] = "standardised",
    graphs: Graphs = ("20ER4",),
    rows: SampleSize = 1_000,
    seeds: Seeds = range(10),
    penalty: Annotated[float, "of every score"] = 1.0,
    seconds: Annotated[float | None, "time limit of ours; without it: until it stops by itself"] = None,
    rivals: Annotated[Names, "methods of benchmarks/methods/registry.py"] = (),
    limit: Annotated[float, "seconds after which a rival is stopped"] = 300.0,
) -> Iterator[Row]:
    """Yield the rows of every method on every data set."""
    DrBO(score=SCORES[data], random_state=0, exact=False).fit(np.random.default_rng(0).normal(size=(50, 4)))
    with Worker() as worker:
        for graph in graphs:
            for seed in seeds:
                drawn = simulate(graph, n=rows, seed=seed)
                values = standardize(drawn.X) if data == "standardised" else drawn.X
                given, columns = Simulated(values, drawn.dag, None, drawn.names), Statistics.from_array(values)
                score = build_score(SCORES[data], columns, {"penalty": penalty})
                found = [ours(given, score, penalty, seconds, seed)]
                task = Task(columns, score.name, {"penalty": penalty, "seconds": found[0]["seconds"]}, seed)
                found += [theirs(rival, worker, task, score, given, limit) for rival in rivals]
                common = {
                    "data": data,
                    "graph": graph,
                    "n": rows,
                    "penalty": penalty,
                    "seed": seed,
                    "n_edges": int(drawn.dag.sum()),
                    "true_score": repr(dag_score(score, drawn.dag)),
                    "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
                }
                yield from ({**common, **row} for row in found)


#: The penalty is what ebic, the default among so many columns, charges for an edge: 1 + 2 ln(1000) / ln(2000).
scale = study("orders", KEY, **QUICK, seconds=2.0)(
    partial(run, graphs=("1000ER2",), rows=2_000, seeds=range(1), seconds=250.0, penalty=2.818)
)
