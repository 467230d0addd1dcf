"""Discrete data drawn from real networks (bnlearn repository, conditional probabilities as shipped with pgmpy).

    python -m benchmarks discrete --seeds 0-2
    python -m benchmarks discrete --seeds 0-2 --methods drbo

Data set s of a network is drawn by forward sampling with seed s, its columns in an order drawn with seed s. Every
method maximises the same score: BDeu with an equivalent sample size of 1, and multinomial BIC with penalty 1. pgmpy
has both; causal-learn's BDeu has a fixed prior over graphs and it has no discrete BIC, so its searches are given our
score. All graphs are then scored by our score, which is checked against pgmpy's on the true graph of every data set.
Needs ``pip install -r benchmarks/requirements.txt``.
"""

import gzip
import warnings
from collections.abc import Iterator
from importlib.resources import files
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from benchmarks.gran_dag import Unavailable
from benchmarks.methods import Task, Worker, library, timed
from benchmarks.methods.libraries import as_text, pgmpy_score
from benchmarks.methods.metrics import dag_score, judge
from benchmarks.parameters import Names, Numbers, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import Study
from drbo import DrBO
from drbo.data.check import check_table
from drbo.data.table import Table
from drbo.scores.base import build_score

OURS = "drbo"
RIVALS = ("pgmpy hill climbing", "causal-learn GES (our score)", "causal-learn BOSS (our score)")
OPTIONS: dict[str, dict[str, Any]] = {"bdeu": {"penalty": 1.0, "ess": 1.0}, "bic-discrete": {"penalty": 1.0}}
#: Our BIC is on the scale of twice the log-likelihood, pgmpy's on that of the log-likelihood.
OUR_SCALE = {"bdeu": 1.0, "bic-discrete": 2.0}


def read_network(name: str) -> Any:
    """Return a network of the bnlearn repository with its probabilities; nothing is downloaded."""
    try:
        from pgmpy.readwrite import BIFReader
    except ImportError as error:
        raise Unavailable(f"{error}; the networks need: pip install -r benchmarks/requirements.txt") from error
    packed = files("pgmpy.utils").joinpath("example_models", f"{name}.bif.gz").read_bytes()
    return BIFReader(string=gzip.decompress(packed).decode()).get_model()


def draw(network: Any, n: int, seed: int) -> tuple[Table, npt.NDArray[np.bool_]]:
    """Return n rows and the true graph; drawn again where a column never changes, for no method takes such a one."""
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.permutation(sorted(network.nodes()))]
    frame = None
    while frame is None or frame.nunique().min() < 2:
        frame = network.simulate(n_samples=n, seed=int(rng.integers(2**31)), show_progress=False)[names].astype(str)
    dag = np.array([[network.has_edge(cause, effect) for effect in names] for cause in names])
    return check_table(frame, on_collinear="keep")[0], dag


def pgmpy_value(task: Task, dag: npt.NDArray[np.bool_]) -> float:
    """Return pgmpy's score of a DAG, on our scale."""
    score, names = pgmpy_score(task), task.table.names
    parents = [tuple(names[i] for i in np.flatnonzero(column)) for column in dag.T]
    total = sum(score.local_score(name, members) for name, members in zip(names, parents, strict=True))
    return OUR_SCALE[task.score] * float(total)


def one_cell(
    task: Task, dag: npt.NDArray[np.bool_], methods: tuple[str, ...], limit: float, worker: Worker
) -> Iterator[Row]:
    """Yield the figures of every method on one data set with one score."""
    score = build_score(task.score, task.table, task.options)
    model = DrBO(
        task.score, random_state=task.seed, prune="none", score_options=task.options, on_collinear="keep", device="cpu"
    )
    true_score = dag_score(score, dag)
    difference = f"{abs(pgmpy_value(task, dag) / true_score - 1):.1e}"
    for method in methods:
        ours = method == OURS
        answer = timed(lambda: model.fit(as_text(task.table)).adjacency_) if ours else worker.ask(method, task, limit)
        yield {
            "n_edges": int(dag.sum()),
            "true_score": repr(true_score),
            "pgmpy_difference": difference,
            "method": method,
            **judge(answer, score, dag),
            "seconds": round(answer.seconds, 2),
            "cpu_seconds": round(answer.cpu_seconds, 2),
            "n_evals": model.result_.n_evals if ours else "",
            "n_local": model.result_.n_local if ours else "",
            "library": library(method),
        }


def run(
    networks: Annotated[Names, "networks of the bnlearn repository"] = ("asia", "child", "insurance", "alarm"),
    rows: Annotated[Numbers, "sample sizes"] = (1_000, 10_000),
    scores: Annotated[Names, "bdeu, bic-discrete"] = tuple(OPTIONS),
    seeds: Seeds = range(3),
    methods: Annotated[Names, "drbo, and methods of benchmarks/methods/registry.py"] = (OURS, *RIVALS),
    limit: Annotated[float, "seconds that a rival may take"] = 120.0,
) -> Iterator[Row]:
    """Yield the rows of every method on every data set."""
    warnings.simplefilter("ignore", FutureWarning)  # of pgmpy, about itself
    with Worker() as worker:
        for name in networks:
            network = read_network(name)
            for n in rows:
                for seed in seeds:
                    data, dag = draw(network, n, seed)
                    for score in scores:
                        key = {"network": name, "n": n, "seed": seed, "score": score}
                        task = Task(data, score, OPTIONS[score], seed)
                        yield from ({**key, **row} for row in one_cell(task, dag, methods, limit, worker))


PARTS = {
    "discrete": Study(
        run,
        "discrete",
        ("network", "n", "seed", "score", "method"),
        {"networks": ("asia",), "rows": (200,), "seeds": range(1), "limit": 20.0},
    )
}
