"""Judging graphs: how often true, learned and wrong graphs pass the tests of ``drbo judge`` on held-out rows.

    python -m benchmarks judge --seeds 0-49

Standardised 8ER2 data, 300 rows to learn from (score bic-nv, default choices) and 300 to judge by. ``true``: the graph
behind the data; ``learned``: the fit; ``half``: half of the true edges replaced by random ones; ``random``: a random
DAG with as many edges. A level of 0.05 throughout.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from benchmarks.parameters import SampleSize, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO
from drbo.data.files.simulate import simulate, standardize
from drbo.graph.dag import topological_order
from drbo.result.judge import judge

GRAPHS = ("true", "learned", "half", "random")
NAME, ROWS = "8ER2", 300
Bools = npt.NDArray[np.bool_]


def random_like(dag: Bools, kept: float, rng: np.random.Generator) -> Bools:
    """Return a DAG with as many edges, of which this share are edges of the given one."""
    d, edges = len(dag), np.argwhere(dag)
    order = rng.permutation(d) if kept == 0 else np.argsort(topological_order(dag))
    stay = edges[rng.permutation(len(edges))[: round(kept * len(edges))]]
    found = np.zeros_like(dag)
    found[tuple(stay.T)] = True
    free = np.argwhere((order[:, None] < order) & ~dag & ~found)
    room = free[rng.permutation(len(free))[: len(edges) - len(stay)]]
    found[tuple(room.T)] = True
    return found


@study("judge", "graph seed", seeds=range(1), rows=60)
def run(seeds: Seeds = range(50), rows: SampleSize = ROWS) -> Iterator[Row]:
    """Judge four graphs on each data set."""
    for seed in seeds:
        data = simulate(NAME, "linear", n=2 * rows, seed=seed)
        values, rng = standardize(data.X), np.random.default_rng([3, seed])
        learned = DrBO(score="bic-nv", random_state=seed).fit(values[:rows]).result_.dag
        graphs = {"true": data.dag, "learned": learned, "half": random_like(data.dag, 0.5, rng)}
        graphs["random"] = random_like(data.dag, 0.0, rng)
        for name in GRAPHS:
            one = judge(graphs[name], values[rows:], score="bic-nv", path=False, seed=seed)
            yield {
                "graph": name,
                "seed": seed,
                "edges": one.n_edges,
                "beats_random": one.beats_random,
                "informative": one.informative,
                "falsified": one.falsified,
                "claims": one.n_claims,
                "discoveries": one.n_discoveries,
            }
