"""The optimum, proved: seconds at 20 columns, and the search without the proof against it.

    python -m benchmarks exact --part certify --seeds 0-2
    DRBO_DATA=... python -m benchmarks exact --part agree --seeds 0-9
    python -m benchmarks exact --part large --scores bic-nv,bic-ev --seeds 0

``certify``: 20 columns, 1,000 rows; linear data on 20ER2 and 20ER4 graphs (scores bic-nv, bic-ev, bge), binary data on
20ER1.5 graphs and categorical data with 2 to 4 levels on the structure of the child network, its probabilities drawn
from a Dirichlet distribution (scores bdeu, bic-discrete). The clock covers the tables of all families, the dynamic
program and, for bic-ev, the sweep of the level from the empty graph; compiled code is warm.

``agree``: at most 12 columns. The default search with ``exact=False``, then the optimum proved on a score object of its
own. Linear data: 10ER2 and 12ER2, raw (bic-ev) and standardised (bic-nv, also 12ER4), default budget; GP tables: the
local scores of GraN-DAG's sets 1 to 5, of which the search sees only those it asks for.

``large``: more than 20 columns, 1,000 rows. The default search, then the proof by the parent sets that can matter, on a
clock: at most ``--limit`` seconds of the processor and 4 GiB. Linear data on ER graphs, raw (bic-ev) and standardised
(bic-nv); real networks (bic-discrete, and bdeu with at most 3 parents; ``--scores bic-discrete,bdeu``, needs pgmpy).
"""

import resource
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from benchmarks import gran_dag
from benchmarks.experiments.data import DataSet
from benchmarks.methods.metrics import proved
from benchmarks.parameters import Names, SampleSize, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO
from drbo.constraints import Constraints
from drbo.data.files.datasets import load
from drbo.data.files.simulate import random_dag, simulate, standardize
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import topological_order
from drbo.knowledge import Knowledge
from drbo.scores.base import Score
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.proof import certify_large
from drbo.search.exact.useful_parents import Effort
from drbo.search.orders.search import OrderSearch
from drbo.settings import Settings

KEY = "part data score route seed"
OPTIONS = {"penalty": 1.0}
#: Linear data of the comparison with the search; raw for equal variances, standardised for the other.
LINEAR = (("10ER2", "bic-ev"), ("12ER2", "bic-ev"), ("10ER2", "bic-nv"), ("12ER2", "bic-nv"), ("12ER4", "bic-nv"))
#: Graphs and networks with more than 20 columns, and one with 20.
LARGE = ("25ER1", "30ER1", "40ER1", "50ER1", "25ER2", "30ER2", "40ER2", "50ER2")
NETWORKS = ("child", "insurance", "water", "alarm", "hailfinder")
NO_LIMIT = Settings(max_evals=2**40)
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def peak_gib() -> float:
    """Return the memory that this process has held at most."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)


def categorical(dag: Bools, n: int, seed: int) -> Floats:
    """Draw columns with 2 to 4 levels; each configuration of the parents has its own Dirichlet(1/2) probabilities."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(2, 5, size=len(dag))
    values = np.zeros((n, len(dag)), dtype=np.int64)
    for node in topological_order(dag):
        parents = np.flatnonzero(dag[:, node])
        code = np.zeros(n, dtype=np.int64)
        for parent in parents:
            code = code * levels[parent] + values[:, parent]
        chances = rng.dirichlet(np.full(levels[node], 0.5), size=int(levels[parents].prod()))
        values[:, node] = (rng.random(n)[:, None] > chances[code].cumsum(axis=1)[:, :-1]).sum(axis=1)
    return values.astype(np.float64)


def sets_to_certify(seed: int, n: int) -> dict[str, tuple[Floats, tuple[str, ...]]]:
    """Return the data sets of 20 columns and the scores tried on each."""
    binary = random_dag(20, 1.5, np.random.default_rng(seed))
    return {
        "20ER2": (simulate("20ER2", "linear", n=n, seed=seed).X, ("bic-nv", "bic-ev", "bge")),
        "20ER4": (simulate("20ER4", "linear", n=n, seed=seed).X, ("bic-nv", "bic-ev", "bge")),
        "20ER1.5 binary": (simulate(binary, "logistic", n=n, seed=seed).X, ("bdeu", "bic-discrete")),
        "child": (categorical(load("child").dag, n, seed), ("bdeu", "bic-discrete")),
    }


@study("exact", KEY, seeds=range(1), data=("20ER1.5 binary",), rows=50)
def certify(
    seeds: Seeds = range(3),
    data: Annotated[Names, "data sets; all of them if none is named"] = (),
    rows: SampleSize = 1_000,
) -> Iterator[Row]:
    """Time the proofs at 20 columns."""
    for name, model in (("bic-nv", "linear"), ("bic-ev", "linear"), ("bge", "linear"), ("bdeu", "logistic")):
        proved(build_score(name, Statistics.from_array(simulate("4ER1", model, n=50, seed=0).X)))  # type: ignore[arg-type]
    for seed in seeds:
        for name, (values, scores) in sets_to_certify(seed, rows).items():
            for kind in scores if not data or name in data else ():
                score, start = build_score(kind, Statistics.from_array(values), OPTIONS), time.perf_counter()
                proof, count = proved(score)
                seconds = time.perf_counter() - start
                best = float(proof.best.scores[0])
                yield {
                    **{"part": "certify", "data": name, "score": kind, "route": "", "seed": seed},
                    "n": len(values),
                    "optimum": repr(best),
                    "n_edges": int(proof.best.dags.sum()),
                    "gap": proof.upper_bound - best,
                    "tolerance": proof.tolerance,
                    "n_local": count,
                    "seconds": round(seconds, 2),
                    "peak_gib": peak_gib(),
                }


def one_agreement(key: Row, fresh: Callable[[], Score] | None, values: Floats) -> Row:
    """Search with the proof off, then prove the optimum on another score object; ``fresh`` makes one of our own."""
    start = time.perf_counter()
    settings = Settings(route=key["route"])
    given: dict[str, Any] = {"score": fresh()} if fresh else {"score": key["score"], "score_options": OPTIONS}
    model = DrBO(**given, random_state=key["seed"], prune="none", exact=False, device="cpu", settings=settings)
    result = model.fit(values).result_
    seconds = time.perf_counter() - start
    proof, _ = proved(fresh() if fresh else build_score(key["score"], Statistics.from_array(values), OPTIONS))
    top = float(proof.best.scores[0])
    return {
        **key,
        "optimum": repr(top),
        "score_found": repr(result.score),
        "equal": abs(result.score - top) <= proof.tolerance + 1e-9 * abs(top),
        "n_evals": result.n_evals,
        "n_local": result.n_local,
        "seconds": round(seconds, 2),
    }


@study("exact", KEY, seeds=range(1), scores=("bic-ev",))
def agree(
    seeds: Seeds = range(3),
    route: Annotated[Literal["auto", "orders", "surrogate"], "of the search"] = "auto",
    scores: Annotated[Names, "bic-ev, bic-nv, gp-table"] = ("bic-ev", "bic-nv", "gp-table"),
) -> Iterator[Row]:
    """Compare the search with the optimum, run by run."""
    for seed in seeds:
        for graph, kind in LINEAR:
            if kind in scores:
                name, values = linear_table(graph, kind, seed)
                yield one_agreement(_agreement(name, kind, route, seed), None, values)
    for number in gran_dag.SETS if "gp-table" in scores else ():
        for seed in seeds:
            key = _agreement(f"gp {number}", "gp-table", route, seed)
            yield one_agreement(key, lambda n=number: gran_dag.table_score(n), gran_dag.data_set(number)[0])


def _agreement(data: str, score: str, route: str, seed: int) -> Row:
    return {"part": "agree", "data": data, "score": score, "route": route, "seed": seed}


def linear_table(graph: str, kind: str, seed: int) -> tuple[str, Floats]:
    """Return linear data and their name: raw for equal variances, else standardised."""
    values = simulate(graph, "linear", n=1000, seed=seed).X
    return (graph, values) if kind == "bic-ev" else (f"{graph} standardised", standardize(values))


def prove_large(score: Score, best: Bools, limits: Constraints, limit: float) -> Row:
    """Return what is proved about the best DAG of a search, and what it took."""
    evaluator, start = Evaluator(score, NO_LIMIT), time.process_time()
    effort = Effort(start + limit, max_kept=2**24, max_states=2**26, clock=time.process_time)
    proof = certify_large(evaluator, limits, evaluator.evaluate(best[None]), effort)
    seconds = time.process_time() - start
    row: Row = {"score_found": repr(float(evaluator.evaluate(best[None]).scores[0]))}
    if proof is not None:
        top = float(proof.best.scores[0])
        gap = proof.upper_bound - top
        row |= {"optimum": repr(top), "gap": gap if gap > proof.tolerance else 0.0, "tolerance": proof.tolerance}
        row |= {"n_edges": int(proof.best.dags.sum())}
    row |= {"n_local": effort.n_looked_at, "n_kept": effort.n_kept, "n_states": effort.n_states}
    return row | {"cpu_seconds": round(seconds, 2), "peak_gib": peak_gib()}


def large_sets(scores: Names, graphs: Names, seed: int) -> Iterator[tuple[str, str, Statistics, Knowledge]]:
    """Yield the data sets with more than 20 columns: name, score, table and what is known."""
    for kind in (kind for kind in scores if kind in ("bic-nv", "bic-ev")):
        for graph in graphs:
            name, values = linear_table(graph, kind, seed)
            yield name, kind, Statistics.from_array(values), Knowledge()
    for kind in (kind for kind in scores if kind in ("bic-discrete", "bdeu")):
        for network in NETWORKS:
            data = table_of(network, seed)
            few = kind == "bdeu"
            name = f"{network} ({data.n_columns})" + ", at most 3 parents" * few
            yield name, kind, data, Knowledge(max_parents=3) if few else Knowledge()


def table_of(network: str, seed: int) -> Statistics:
    """Return data drawn from a discrete network."""
    declared = DataSet(network, network, "network")
    if declared.missing:
        raise gran_dag.Unavailable(declared.missing)
    return declared.table(declared.draw(seed))


@study("exact", KEY, seeds=range(1), scores=("bic-nv",), graphs=("25ER1",), limit=5.0)
def large(
    seeds: Seeds = range(3),
    scores: Annotated[Names, "bic-ev, bic-nv, bic-discrete, bdeu"] = ("bic-ev", "bic-nv"),
    graphs: Annotated[Names, "random graphs of the linear scores"] = LARGE,
    limit: Annotated[float, "CPU seconds of a proof"] = 60.0,
) -> Iterator[Row]:
    """Prove, or bound, the optimum of more than 20 columns."""
    warm = build_score("bic-nv", Statistics.from_array(simulate("22ER1", "linear", n=50, seed=0).X))
    prove_large(warm, np.zeros((22, 22), dtype=bool), Constraints.of(Knowledge(max_parents=1), warm.names), 60.0)
    for seed in seeds:
        for name, kind, data, knowledge in large_sets(scores, graphs, seed):
            score = build_score(kind, data, OPTIONS)
            limits = Constraints.of(knowledge, score.names)
            search = OrderSearch(score, Settings(), constraints=limits, seed=seed).run()
            key = {"part": "large", "data": name, "score": kind, "route": "", "seed": seed}
            row = prove_large(score, search.best.dags[0], limits, limit)
            yield {**key, "n": data.n_rows, "limit": limit, **row}
