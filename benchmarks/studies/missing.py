"""Missing values: what each policy costs in edges, beside the complete table.

    python -m benchmarks missing --part graph --seeds 0-9
    python -m benchmarks missing --part null --seeds 0-19

``graph``: standardised 10ER2 data with 500 rows, score bic-nv with the default choices. ``mcar``: every cell is missing
with the same probability. ``mar``: half of the columns, chosen at random, lose cells in rows in which another column,
which is always seen, is large. SHD is counted between equivalence classes. ``null``: ten independent columns with 300
rows; every edge is false.
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from benchmarks.parameters import Names, SampleSize, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DataPolicy, DrBO
from drbo.data.files.simulate import simulate, standardize
from drbo.graph.metrics import shd_cpdag

KEY = "part mechanism share policy seed"
QUICK = {"seeds": range(1), "rows": 200, "policies": ("complete", "drop")}
POLICIES = ("complete", "drop", "em", "impute")
GRAPH, ROWS, NULL_ROWS = "10ER2", 500, 300
STEEP = 3.0  # of the curve by which a large value of the cause loses cells
Policies = Annotated[Names, "complete: the table without holes"]
Floats = npt.NDArray[np.float64]


def holed(values: Floats, mechanism: str, share: float, rng: np.random.Generator) -> Floats:
    """Return the table with about this share of missing cells."""
    n, d = values.shape
    lost = rng.random((n, d)) < share
    if mechanism == "mar":
        columns = rng.permutation(d)
        causes, victims = columns[: d // 2], columns[d // 2 :]
        chance = np.zeros((n, d))
        for victim in victims:
            cause = values[:, rng.choice(causes)]
            chance[:, victim] = expit(STEEP * (cause - np.quantile(cause, 1 - 2 * share)))
        lost = rng.random((n, d)) < chance
    return np.where(lost, np.nan, values)


def edges_by(policy: str, values: Floats, gaps: Floats, seed: int) -> npt.NDArray[np.bool_]:
    """Return the graph that a policy makes of the table with holes; ``complete``: of the table itself."""
    if policy == "complete":
        return DrBO(score="bic-nv", random_state=seed).fit(values).result_.dag
    return DrBO(score="bic-nv", policy=DataPolicy(missing=policy), random_state=seed).fit(gaps).result_.dag


@study("missing", KEY, **QUICK)
def graph(seeds: Seeds = range(10), rows: SampleSize = ROWS, policies: Policies = POLICIES) -> Iterator[Row]:
    """Fit tables of known graphs with holes."""
    for seed in seeds:
        data = simulate(GRAPH, "linear", n=rows, seed=seed)
        values = standardize(data.X)
        for mechanism, share in (("mcar", 0.05), ("mcar", 0.15), ("mar", 0.15)):
            gaps = holed(values, mechanism, share, np.random.default_rng([1, seed]))
            lost = np.isnan(gaps)
            for policy in policies:
                dag = edges_by(policy, values, gaps, seed)
                yield {
                    **{"part": "graph", "mechanism": mechanism, "share": share, "policy": policy, "seed": seed},
                    **{"shd_c": shd_cpdag(dag, data.dag), "edges": int(dag.sum()), "missing": round(lost.mean(), 4)},
                    "complete_rows": int((~lost.any(axis=1)).sum()),
                }


@study("missing", KEY, **QUICK)
def null(seeds: Seeds = range(20), rows: SampleSize = NULL_ROWS, policies: Policies = POLICIES) -> Iterator[Row]:
    """Count edges among independent columns."""
    for seed in seeds:
        rng = np.random.default_rng([2, seed])
        values = rng.normal(size=(rows, 10))
        for share in (0.05, 0.15):
            gaps = holed(values, "mcar", share, rng)
            for policy in policies:
                key = {"part": "null", "mechanism": "mcar", "share": share, "policy": policy, "seed": seed}
                yield {**key, "edges": int(edges_by(policy, values, gaps, seed).sum())}
