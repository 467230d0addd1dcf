"""Reliability of edge posteriors: of the edges given probability p, a share p should be there.

    python -m benchmarks reliability --seeds 0-999

The true graph of data set s is drawn from all 29,281 DAGs on 5 nodes, each as likely as the other: the prior of the
exact sums. ``bdeu``: the probabilities of each family come from the Dirichlet prior of the score, so that its posterior
is the right answer and only chance separates the two; data with a constant column are drawn again. ``bge`` and
``bic-nv``: weights and log noise variances are standard normal, which is near the prior of bge but not it. n = 100.
"""

from collections.abc import Iterator
from itertools import permutations
from typing import Annotated

import numpy as np
import numpy.typing as npt

from benchmarks.parameters import Names, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo.claims.findings import edge_posterior
from drbo.constraints import Constraints
from drbo.data.table import Table
from drbo.graph import topological_order
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import all_tables
from drbo.settings import Settings

D, N_ROWS, LEVELS, ESS = 5, 100, 2, 4.0
BINS = np.linspace(0.0, 1.0, 11)
SCORES: dict[str, dict[str, float]] = {"bdeu": {"ess": ESS, "penalty": 1.0}, "bge": {"penalty": 1.0}, "bic-nv": {}}

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def all_dags(n_nodes: int) -> Bools:
    """Return every DAG (N, d, d) on a few nodes: all subsets of the edges of all orders, each once."""
    pairs = np.triu_indices(n_nodes, 1)
    chosen = np.arange(2 ** len(pairs[0]))[:, None] >> np.arange(len(pairs[0])) & 1
    upper = np.zeros((len(chosen), n_nodes, n_nodes), dtype=bool)
    upper[:, pairs[0], pairs[1]] = chosen
    orders = (np.array(order) for order in permutations(range(n_nodes)))
    every = np.concatenate([upper[:, order][:, :, order] for order in orders])
    packed = np.unique(np.packbits(every.reshape(len(every), -1), axis=1), axis=0)
    flat = np.unpackbits(packed, axis=1, count=n_nodes**2)
    return flat.astype(bool).reshape(-1, n_nodes, n_nodes)


def draw_linear(dag: Bools, rng: np.random.Generator) -> Floats:
    """Draw rows with standard normal weights and log noise variances."""
    values = np.zeros((N_ROWS, D))
    for node in topological_order(dag):
        noise = np.exp(rng.normal() / 2) * rng.normal(size=N_ROWS)
        values[:, node] = values @ (rng.normal(size=D) * dag[:, node]) + noise
    return values


def draw_categorical(dag: Bools, rng: np.random.Generator) -> Floats:
    """Draw rows from probabilities that come from the prior of BDeu."""
    while True:
        values = np.zeros((N_ROWS, D), dtype=np.int64)
        for node in topological_order(dag):
            parents = np.flatnonzero(dag[:, node])
            code = values[:, parents] @ LEVELS ** np.arange(len(parents))
            q = LEVELS ** len(parents)
            chances = rng.dirichlet(np.full(LEVELS, ESS / (q * LEVELS)), size=q)
            values[:, node] = (rng.random(N_ROWS)[:, None] > chances[code].cumsum(axis=1)[:, :-1]).sum(axis=1)
        if (values != values[0]).any(axis=0).all():
            return values.astype(np.float64)


def posterior(name: str, values: Floats) -> Floats:
    """Return the exact edge posterior of a table."""
    score = build_score(name, Table.from_array(values), SCORES[name])
    tables = all_tables(Evaluator(score, Settings()), Constraints.none(D))
    assert score.evidence_scale is not None
    return edge_posterior(tables.shares(score) / score.evidence_scale)[0]


@study("reliability", "score bin", seeds=range(3))
def run(scores: Annotated[Names, "bdeu, bge, bic-nv"] = tuple(SCORES), seeds: Seeds = range(1000)) -> Iterator[Row]:
    """Yield one row per score and bin of probability."""
    dags, pairs = all_dags(D), ~np.eye(D, dtype=bool)
    for name in scores:
        given, true = [], []
        for seed in seeds:
            rng = np.random.default_rng([seed, 7])
            dag = dags[rng.integers(len(dags))]
            values = draw_categorical(dag, rng) if name == "bdeu" else draw_linear(dag, rng)
            given.append(posterior(name, values)[pairs])
            true.append(dag[pairs])
        p, there = np.concatenate(given), np.concatenate(true)
        place = np.clip(np.digitize(p, BINS) - 1, 0, len(BINS) - 2)
        for k in np.unique(place).tolist():
            inside = place == k
            yield {
                "score": name,
                "bin": k,
                "sets": len(seeds),
                "count": int(inside.sum()),
                "given": round(float(p[inside].mean()), 4),
                "found": round(float(there[inside].mean()), 4),
            }
