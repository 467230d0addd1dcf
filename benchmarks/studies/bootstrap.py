"""Bootstrap: what it costs, what a warm start changes, and what a frequency is worth.

    python -m benchmarks bootstrap --graphs 20ER2,20ER4 --seeds 0-4           # warm against cold, and the cost
    python -m benchmarks bootstrap --part reliability --seeds 0-199           # frequencies against the truth

Data set s of a graph is ``drbo.data.simulate.simulate(graph, n, seed=s)``, each column divided by its standard
deviation; the score is ``bic-nv``, the default for such tables.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Annotated

import numpy as np
import numpy.typing as npt

from benchmarks.parameters import Graphs, SampleSize, Seeds, Workers
from benchmarks.rows import Row
from benchmarks.studies.study import in_parallel, study
from drbo import DrBO
from drbo.claims.confidence import Confidence
from drbo.data.simulate import Simulated, simulate
from drbo.graph import dag_to_cpdag

BINS = np.linspace(0, 1, 11)
SMALL = ("6ER1", "8ER1", "8ER2", "10ER1")  # graphs of the reliability tables, in turn
SMALL_ROWS = (100, 200, 500)
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
    """Yield the seconds of a fit and of a warm and a cold bootstrap, and the difference of their frequencies."""
    for graph in graphs:
        for seed in seeds:
            X = standardised(graph, rows, seed).X
            DrBO(score="bic-nv", random_state=seed).fit(X[:50])  # compiles, once per process
            start = time.perf_counter()
            model = DrBO(random_state=seed).fit(X)
            seconds, found = {"fit": time.perf_counter() - start}, {}
            for name, warm in (("warm", True), ("cold", False)):
                with ProcessPoolExecutor(workers) as pool:
                    start = time.perf_counter()
                    found[name] = model.bootstrap(X, n=resamples, kind=kind, warm=warm, executor=pool)
                    seconds[name] = time.perf_counter() - start
            apart = difference(found["warm"], found["cold"])
            yield {
                "graph": graph,
                "n_rows": rows,
                "seed": seed,
                "resamples": resamples,
                "kind": kind,
                "workers": workers,
                **{f"{name}_seconds": round(value, 3) for name, value in seconds.items()},
                "warm_over_fit": round(seconds["warm"] / seconds["fit"], 2),
                "mean_difference": round(float(apart.mean()), 4),
                "p95_difference": round(float(np.quantile(apart, 0.95)), 4),
            }


def frequencies(seed: int, resamples: int, kind: str) -> list[tuple[str, float, bool]]:
    """Return (edge kind, frequency, is it true) for every link and arrow that one small table's bootstrap found."""
    graph, n = SMALL[seed % len(SMALL)], SMALL_ROWS[seed // len(SMALL) % len(SMALL_ROWS)]
    made = standardised(graph, n, seed)
    found = DrBO(random_state=seed).fit(made.X).bootstrap(made.X, n=resamples, kind=kind)
    truth = dag_to_cpdag(made.dag)
    linked = np.argwhere(np.triu(found.adjacent, 1) > 0).tolist()
    pairs = [("link", float(found.adjacent[i, j]), bool(made.dag[i, j] or made.dag[j, i])) for i, j in linked]
    arrows = np.argwhere(found.directed > 0).tolist()
    return pairs + [("arrow", float(found.directed[i, j]), bool(truth[i, j] and not truth[j, i])) for i, j in arrows]


@study("bootstrap_reliability", "kind edge bin", seeds=range(2), resamples=4, workers=1)
def reliability(
    seeds: Seeds = range(200), resamples: Resamples = 100, kind: Kind = "bootstrap", workers: Workers = 2
) -> Iterator[Row]:
    """Yield, for each bin of frequencies, how many links and arrows there are and what share of them is true."""
    parts = in_parallel(frequencies, [(seed, resamples, kind) for seed in seeds], workers)
    every = [item for part in parts for item in part]
    for edge in ("link", "arrow"):
        shares = np.array([share for kind_of_edge, share, _ in every if kind_of_edge == edge])
        right = np.array([true for kind_of_edge, _, true in every if kind_of_edge == edge])
        place = np.clip(np.digitize(shares, BINS[1:-1], right=True), 0, len(BINS) - 2)
        for k in range(len(BINS) - 1):
            inside = place == k
            yield {
                "kind": kind,
                "edge": edge,
                "bin": f"{BINS[k]:.1f}-{BINS[k + 1]:.1f}",
                "count": int(inside.sum()),
                "tables": len(seeds),
                "resamples": resamples,
                "mean_frequency": round(float(shares[inside].mean()), 4) if inside.any() else "",
                "share_true": round(float(right[inside].mean()), 4) if inside.any() else "",
            }
