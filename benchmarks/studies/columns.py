"""Tables with many columns: time until the order search reaches FLOP's score, and how time and memory grow.

    python -m benchmarks columns --graphs 100ER2,200hubs --seeds 0-4 --flop-python ../flop/bin/python
    python -m benchmarks columns --part growth --graphs 1000ER2,3000ER2
    python -m benchmarks columns --part neighbourhood

Data are linear Gaussian and internally standardised: every column has variance 1 before it acts on others, so neither
variances nor explained shares give the order away. ``hubs`` are graphs by preferential attachment, two edges a node.
Every method runs in a process of its own with one thread, and ``cpu_seconds`` are its CPU time. Ours is the estimator
with ``bic-nv`` and its default penalty; FLOP has 20 restarts, at that penalty and at the one that it recommends, 2.
``reached_seconds`` is the CPU time from the start of our fit until its score was FLOP's final one at equal penalty.
FLOP has no answer where there are more columns than rows (``failed``). All scores are at our penalty; ``true_score`` is
that of the true graph: a graph that scores higher and is farther from the truth was not missed by the search.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from benchmarks.gran_dag import Unavailable
from benchmarks.methods.metrics import dag_score
from benchmarks.parameters import Graphs, SampleSize, Seeds
from benchmarks.rows import Row, read
from benchmarks.studies.study import study
from drbo import Design, DrBO
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import cpdag_to_dag, dag_to_cpdag
from drbo.graph.metrics import shd
from drbo.scores.linear import BicNV
from drbo.search.outcome import Progress

GRAPH = re.compile(r"(\d+)(ER1|ER2|hubs)")
RECOMMENDED = 2.0
#: Loads a table, runs FLOP, saves its graph and prints its CPU seconds.
FLOP = """
import sys, time
import numpy as np
from flopsearch import flop
values = np.load(sys.argv[1])
start = time.process_time()
found = flop(values, float(sys.argv[2]), restarts=int(sys.argv[3]))
print(time.process_time() - start)
np.save(sys.argv[4], found != 0)
"""


def edges_of(kind: str, d: int, rng: np.random.Generator) -> np.ndarray:
    """Return the edges (m, 2) of a random DAG along the order 0, 1, ..."""
    if kind == "hubs":
        ends, pairs = [0, 1], [(0, 1)]
        for node in range(2, d):
            for other in {ends[k] for k in rng.integers(len(ends), size=2)}:
                pairs.append((other, node))
                ends += [other, node]
        return np.sort(rng.permutation(d)[np.array(pairs)], axis=1)
    number = np.sort(rng.choice(d * (d - 1) // 2, size=min(int(kind[2:]) * d, d * (d - 1) // 2), replace=False))
    high = ((1 + np.sqrt(1 + 8 * number.astype(np.float64))) / 2).astype(np.int64)  # pairs i < j, j by j
    return np.column_stack([number - high * (high - 1) // 2, high])


def simulated(graph: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return an internally standardised table (n, d) and its true DAG, columns in a random order."""
    match = GRAPH.fullmatch(graph)
    if match is None:
        raise ValueError(f"a graph must look like 100ER1, 100ER2 or 100hubs, got {graph!r}")
    d, rng = int(match[1]), np.random.default_rng(seed)
    edges = edges_of(match[2], d, rng)
    weights = rng.uniform(0.25, 1.0, len(edges)) * rng.choice([-1, 1], len(edges))
    values, by_node = rng.standard_normal((n, d)), np.argsort(edges[:, 1], kind="stable")
    starts = np.searchsorted(edges[by_node, 1], np.arange(d + 1))
    for node in range(d):
        rows = by_node[starts[node] : starts[node + 1]]
        column = values[:, node] + values[:, edges[rows, 0]] @ weights[rows]
        values[:, node] = (column - column.mean()) / column.std()
    order, dag = rng.permutation(d), np.zeros((d, d), dtype=bool)
    dag[order[edges[:, 0]], order[edges[:, 1]]] = True
    return values[:, np.argsort(order)], dag


def f1(found: np.ndarray, true: np.ndarray) -> float:
    """Return F1 over the arrows of two CPDAGs, an open edge being two of them."""
    return float(2 * (found & true).sum() / max(1, found.sum() + true.sum()))


def fitted(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """Fit a saved table in a process of its own; return its graph, the course of its score, CPU time and memory."""
    values, trace = np.load(path), list[tuple[float, float]]()
    start, wall = time.process_time(), time.perf_counter()

    def note(progress: Progress) -> None:
        if not progress.proving:
            trace.append((time.process_time() - start, progress.best))

    model = DrBO(score="bic-nv", random_state=0, **options)
    result = model.fit(values, callbacks=[note]).result_
    return {
        "dag": result.searched_dag,
        "options": {
            name: result.scoring.options[name] for name in ("penalty", "gamma") if name in result.scoring.options
        },
        "trace": trace,
        "cpu_seconds": time.process_time() - start,
        "seconds": time.perf_counter() - wall,
        "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "stopped": result.stopped,
        "proved": result.proof is not None and result.proof.gap(result.score) == 0,
        "screening": next((words for words in result.reasons if words.startswith("candidate parents")), ""),
    }


def alone(path: Path, **options: Any) -> dict[str, Any]:
    """Return what :func:`fitted` does, in a process with one thread."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(fitted, str(path), options).result()


def multiple(score: BicNV) -> float:
    """Return the price of an edge as a multiple of ln n."""
    return float(score.parameter_price[0] + score.edge_price) / float(np.log(score.n_rows[0]))


def flop_scores(measured: list[Row]) -> dict[tuple[str, int, int], float]:
    """Return FLOP's final scores at equal penalty by graph, rows and seed, from rows that were measured before."""
    found = [row for row in measured if row["method"] == "FLOP, equal penalty" and not row.get("failed")]
    return {(row["graph"], int(row["n"]), int(row["seed"])): float(row["score"]) for row in found}


def flop(python: str, path: Path, penalty: float, restarts: int) -> tuple[np.ndarray, float] | str:
    """Return FLOP's CPDAG of a saved table, and its CPU seconds; or why it has no answer."""
    found = path.with_name("flop.npy")
    command = [python, "-c", FLOP, str(path), str(penalty), str(restarts), str(found)]
    done = subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return np.load(found), float(done.stdout)
    words = (done.stderr.strip().splitlines() or [""])[-1]
    if "FLOP error" not in words:
        raise Unavailable(f"FLOP: {words}")
    return words


@study("columns", "graph n seed method", slow=True)
def run(
    graphs: Graphs = ("50ER2", "100ER2", "200ER2"),
    rows: SampleSize = 1_000,
    seeds: Seeds = range(5),
    flop_python: Annotated[str, "an interpreter that has flopsearch"] = sys.executable,
    restarts: Annotated[int, "of FLOP; fewer where they take too long"] = 20,
    ours_again: Annotated[bool, "leave FLOP out where its rows are there"] = False,
) -> Iterator[Row]:
    """Yield a row of ours and two of FLOP for every table."""
    known = flop_scores(read("columns")) if ours_again else {}
    for graph in graphs:
        for seed in seeds:
            values, dag = simulated(graph, rows, seed)
            true = dag_to_cpdag(dag)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "table.npy"
                np.save(path, values)
                ours = alone(path)
                score = BicNV(Statistics.from_array(values), **ours["options"])
                penalties = {"FLOP, equal penalty": multiple(score), "FLOP, recommended": RECOMMENDED}
                goal, theirs = known.get((graph, rows, seed)), dict[str, tuple[np.ndarray, float] | str]()
                if goal is None:
                    theirs = {name: flop(flop_python, path, penalty, restarts) for name, penalty in penalties.items()}
                    equal = theirs["FLOP, equal penalty"]
                    goal = np.inf if isinstance(equal, str) else dag_score(score, cpdag_to_dag(equal[0]))
            reached = [cpu for cpu, best in ours["trace"] if best >= goal - 1e-9 * abs(goal)]
            common = {
                "graph": graph,
                "columns": len(dag),
                "n": rows,
                "seed": seed,
                "true_edges": int(dag.sum()),
            }
            yield {
                **common,
                "method": "drbo",
                "penalty": round(multiple(score), 4),
                "cpu_seconds": round(ours["cpu_seconds"], 3),
                "search_seconds": round(ours["trace"][-1][0], 3),
                "reached_seconds": round(reached[0], 3) if reached else "",
                "true_score": repr(dag_score(score, dag)),
                **told(dag_to_cpdag(ours["dag"]), true, score),
            }
            for name, answer in theirs.items():
                row = {**common, "method": name, "penalty": round(penalties[name], 4), "restarts": restarts}
                if isinstance(answer, str):
                    yield {**row, "failed": answer}
                else:
                    yield {**row, "cpu_seconds": round(answer[1], 3), **told(answer[0], true, score)}


def told(cpdag: np.ndarray, true: np.ndarray, score: BicNV) -> Row:
    """Return the score of a CPDAG and its distances to the true one."""
    return {
        "score": repr(dag_score(score, cpdag_to_dag(cpdag))),
        "shd_c": shd(cpdag, true),
        "f1": round(f1(cpdag, true), 4),
    }


@study("columns_growth", "graph n seed", graphs=("20ER2",), rows=100, seeds=range(1))
def growth(
    graphs: Graphs = ("50ER2", "100ER2", "200ER2", "500ER2", "1000ER2", "2000ER2", "5000ER2", "10000ER2"),
    rows: SampleSize = 1_000,
    seeds: Seeds = range(1),
    seconds: Annotated[float | None, "time limit of a fit; without it: until it stops by itself"] = None,
) -> Iterator[Row]:
    """Yield CPU time and memory of whole fits."""
    for graph in graphs:
        for seed in seeds:
            values, dag = simulated(graph, rows, seed)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "table.npy"
                np.save(path, values)
                found = alone(path, time_limit=seconds)
            yield {
                "graph": graph,
                "columns": len(dag),
                "n": rows,
                "seed": seed,
                "true_edges": int(dag.sum()),
                "edges": int(found["dag"].sum()),
                "penalty": found["options"]["penalty"],
                "cpu_seconds": round(found["cpu_seconds"], 3),
                "search_seconds": round(found["trace"][-1][0], 3),
                "seconds": round(found["seconds"], 1),
                "gib": round(found["gib"], 3),
                "f1": round(f1(dag_to_cpdag(found["dag"]), dag_to_cpdag(dag)), 4),
                "screening": found["screening"],
                "stopped": found["stopped"],
            }


def blanket(dag: np.ndarray, goal: int) -> set[int]:
    """Return the parents and children of a node, and the other parents of its children."""
    children = np.flatnonzero(dag[goal])
    near = np.flatnonzero(dag[:, goal] | dag[goal] | dag[:, children].any(axis=1))
    return set(near.tolist()) - {goal}


@study("columns_neighbourhood", "graph n seed", graphs=("20ER2",), rows=100, seeds=range(1), outcomes=2)
def neighbourhood(
    graphs: Graphs = ("1000ER2", "10000ER2"),
    rows: SampleSize = 1_000,
    seeds: Seeds = range(1),
    outcomes: Annotated[int, "columns of each table whose neighbourhoods are searched"] = 10,
    most_whole: Annotated[int, "columns up to which the whole graph is searched, too"] = 1_000,
) -> Iterator[Row]:
    """Yield CPU time and F1 of the Markov blankets of some columns: by their neighbourhoods, and by the whole graph."""
    for graph in graphs:
        for seed in seeds:
            values, dag = simulated(graph, rows, seed)
            goals = np.random.default_rng(seed).choice(len(dag), size=outcomes, replace=False).tolist()
            true, seconds, sizes, found = [blanket(dag, goal) for goal in goals], [], [], []
            for goal in goals:
                start = time.process_time()
                design = Design(outcome=f"x{goal}", neighbourhood=True)
                result = DrBO(design=design, random_state=0).fit(values).result_
                seconds.append(time.process_time() - start)
                places = [int(name[1:]) for name in result.names]
                sizes.append(len(places))
                found.append({places[k] for k in blanket(result.dag, places.index(goal))})
            row: Row = {
                "graph": graph,
                "columns": len(dag),
                "n": rows,
                "seed": seed,
                "outcomes": outcomes,
                "searched": float(np.median(sizes)),
                "cpu_seconds": round(float(np.mean(seconds)), 3),
                "most_seconds": round(max(seconds), 3),
                "f1": round(shared(found, true), 4),
            }
            if len(dag) <= most_whole:
                start = time.process_time()
                whole = DrBO(random_state=0).fit(values).result_.dag
                row["whole_seconds"] = round(time.process_time() - start, 3)
                row["whole_f1"] = round(shared([blanket(whole, goal) for goal in goals], true), 4)
            yield row


def shared(found: list[set[int]], true: list[set[int]]) -> float:
    """Return F1 over the members of several sets."""
    hits = sum(len(one & other) for one, other in zip(found, true, strict=True))
    return 2 * hits / max(1, sum(map(len, found)) + sum(map(len, true)))


@study("columns_proof", "graph n seed", graphs=("8ER2",), rows=100, seeds=range(1))
def proof(
    graphs: Graphs = ("15ER2", "20ER1", "20ER2", "20hubs", "25ER1"),
    rows: SampleSize = 1_000,
    seeds: Seeds = range(3),
) -> Iterator[Row]:
    """Yield what the proof that nobody asked for adds to a fit: CPU time of fits with it and without it."""
    for graph in graphs:
        for seed in seeds:
            values, dag = simulated(graph, rows, seed)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "table.npy"
                np.save(path, values)
                usual, without = alone(path), alone(path, exact=False)
            yield {
                "graph": graph,
                "columns": len(dag),
                "n": rows,
                "seed": seed,
                "search_seconds": round(usual["trace"][-1][0], 3),
                "cpu_seconds": round(usual["cpu_seconds"], 3),
                "without_seconds": round(without["cpu_seconds"], 3),
                "proved": usual["proved"],
            }
