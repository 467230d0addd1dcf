"""Linear effects with noise that is not Gaussian: bic-ng beside bic-nv and LiNGAM.

    python -m benchmarks nongaussian --seeds 200-219

Ten columns and 12 edges with weights of 0.4 to 1.2, standardised. All noise has one shape; or in ``half`` it is Laplace
for about half of the columns and Gaussian for the others, and in ``any`` each column draws its own. The Gaussian tables
are the control: there no direction beyond the class may be claimed. The package lingam 1.13.0 fits DirectLiNGAM and
ICA-LiNGAM with its defaults; both prune by the adaptive lasso.
"""

import time
from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np
import numpy.typing as npt

from benchmarks.parameters import Names, Numbers, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO
from drbo.graph.dag import dag_to_cpdag, skeleton
from drbo.graph.metrics import shd

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

N_NODES, N_EDGES = 10, 12
SHAPES = ("exponential", "uniform", "laplace", "gumbel", "t5")
KINDS = (*SHAPES, "half", "any", "gaussian")
OURS = ("bic-ng", "bic-nv")
RIVALS = ("DirectLiNGAM", "ICALiNGAM")


def noise(kind: str, n: int, rng: np.random.Generator) -> Floats:
    """Draw the noise of one column."""
    draws: dict[str, Callable[[], Floats]] = {
        "gaussian": lambda: rng.normal(size=n),
        "exponential": lambda: rng.exponential(size=n),
        "uniform": lambda: rng.uniform(-1.7, 1.7, size=n),
        "laplace": lambda: rng.laplace(size=n),
        "gumbel": lambda: rng.gumbel(size=n),
        "t5": lambda: rng.standard_t(5, size=n),
    }
    shapes = {"half": ("gaussian", "laplace"), "any": ("gaussian", *SHAPES)}
    return draws[str(rng.choice(shapes.get(kind, (kind,))))]()


def simulated(kind: str, n: int, seed: int) -> tuple[Floats, Bools]:
    """Return a table of linear effects, and its graph."""
    rng = np.random.default_rng([seed, n, KINDS.index(kind)])
    order, dag = rng.permutation(N_NODES), np.zeros((N_NODES, N_NODES), dtype=bool)
    pairs = [(order[a], order[b]) for a in range(N_NODES) for b in range(a + 1, N_NODES)]
    for place in rng.choice(len(pairs), N_EDGES, replace=False):
        dag[pairs[place]] = True
    weights = dag * rng.uniform(0.4, 1.2, size=dag.shape) * rng.choice([-1, 1], size=dag.shape)
    values = np.zeros((n, N_NODES))
    for node in order:
        values[:, node] = values @ weights[:, node] + rng.uniform(0.5, 1.5) * noise(kind, n, rng)
    return (values - values.mean(axis=0)) / values.std(axis=0), dag


@study("nongaussian", "kind n seed method", seeds=range(1), rows=(200,), kinds=("laplace",), methods=OURS)
def run(
    seeds: Seeds = range(200, 220),
    rows: Annotated[Numbers, "rows of the tables"] = (200, 1_000),
    kinds: Annotated[Names, "shapes of the noise"] = KINDS,
    methods: Annotated[Names, "scores of drbo, and classes of lingam"] = (*OURS, *RIVALS),
) -> Iterator[Row]:
    """Learn graphs, and count errors and directions beyond the class."""
    for seed in seeds:
        for n in rows:
            for kind in kinds:
                values, truth = simulated(kind, n, seed)
                for method in methods:
                    start = time.process_time()
                    found = _ours(values, truth, method) if method in OURS else _lingam(values, truth, method, seed)
                    seconds = round(time.process_time() - start, 2)
                    yield {"kind": kind, "n": n, "seed": seed, "method": method, **found, "cpu_seconds": seconds}


def _ours(values: Floats, truth: Bools, score: str) -> Row:
    result = DrBO(score=score, random_state=0).fit(values).result_
    claimed = np.array([one.direction != "open" for one in result.directions], dtype=bool)
    row = compared(result.dag, truth, claimed)
    for ground in ("noise-check", "class"):
        here = np.array([one.ground == ground for one in result.directions], dtype=bool)
        right = truth[result.dag]
        row |= {f"{ground} right": int((here & right).sum()), f"{ground} wrong": int((here & ~right).sum())}
    return row


def _lingam(values: Floats, truth: Bools, name: str, seed: int) -> Row:
    import lingam

    model = getattr(lingam, name)(random_state=seed)
    model.fit(values)
    dag = model.adjacency_matrix_.T != 0
    return compared(dag, truth, np.ones(int(dag.sum()), dtype=bool))


def compared(
    dag: Bools,
    truth: Bools,
    claimed: Bools,  # (edges,) the direction is claimed; in the order of the rows and columns of the graph
) -> Row:
    """Return the errors of a graph, one for an edge without a direction, and of claims that its class leaves open."""
    arrows = dag.copy()
    arrows[dag] = claimed
    shown = arrows | (dag | dag.T) & ~(arrows | arrows.T)
    beyond = (arrows & dag_to_cpdag(dag).T)[dag]
    right = truth[dag]
    linked = skeleton(truth)[dag]
    return {
        "edges": int(dag.sum()),
        "shd": shd(shown, truth),
        "false links": int((~linked).sum()),
        "missed links": int(truth.sum() - linked.sum()),
        "beyond right": int((beyond & right).sum()),
        "beyond wrong": int((beyond & ~right).sum()),
    }
