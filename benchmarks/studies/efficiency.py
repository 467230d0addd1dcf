"""How few local scores a search needs, and what each of its parts is worth.

    python -m benchmarks efficiency --data 20ER4,30ER8 --seeds 0-9 --workers 2
    DRBO_DATA=... python -m benchmarks efficiency --data gp --parts default,no-climb

The scores are cheap here, but the search is held to what an expensive one could afford: no start that knows the
model, no order search, and a budget of distinct local scores (``--budget``, per node: 200 at 20ER4, 400 at 30ER8, 150
for the GP tables). Counted are distinct local scores, and "DAG-equivalents": these over the number of nodes. ``gp``
means the tables of all local scores of five nonlinear data sets, whose optimum is known (benchmarks/gran_dag.py).
"""

import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np
import torch

from benchmarks import gran_dag
from benchmarks.methods.metrics import dag_score
from benchmarks.parameters import Names, Seeds, Workers
from benchmarks.rows import Row
from benchmarks.studies.study import in_parallel, study
from drbo.claims.answer.prune import prune
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.graph.metrics import shd
from drbo.scores.base import Score
from drbo.scores.linear import BicEV
from drbo.search.bayes.forest import ForestScreen
from drbo.search.bayes.relevance import RelevanceScreen
from drbo.search.outcome import Progress
from drbo.search.strategy import new_search
from drbo.settings import Settings

BUDGETS = {"20ER4": 200, "30ER8": 400, "gp": 150}
#: The paper's networks and trust region, by the fast rules of docs/developers/core-speed.md, else the default.
REGION = {
    "route": "paper",
    "space": "full-rank",
    "n_candidates": 10_000,
    "masks": "shared",
    "batch_norm": "training",
    "standardize_targets": True,
}
#: What is switched off or exchanged, in the words of the table.
SWITCHED: dict[str, tuple[str, dict[str, Any]]] = {
    "default": ("everything", {}),
    "no-surrogate": ("no surrogate: random changes of the best DAG", {"surrogate": False}),
    "no-relative": ("no cheap relative of the score", {"relative": False}),
    "no-bounds": ("no bounds from known families", {"bounds": False}),
    "no-climb": ("no climb: dropout networks rank a trust region", REGION),
    "no-starts": ("no first design: the empty graph alone", {"first_design": 1}),
    "no-recombination": ("no recombination", {"recombine": False, "skip_known": False}),
    "no-sets": ("no whole parent sets", {"parent_sets": False}),
    "no-polish": ("no polish", {"polish": False}),
    "paper": ("Algorithm 1 as in the paper", {}),
}
Problem = tuple[np.ndarray, Score, float, Callable[[np.ndarray], int]]


def problem(data: str, seed: int) -> Problem:
    """Return a table, its score, the score to reach, and a function that counts errors, after pruning linear DAGs."""
    if data.startswith("gp"):
        number = int(data[2:])
        score, (values, truth) = gran_dag.table_score(number), gran_dag.data_set(number)
        return values, score, dag_score(score, gran_dag.optimum(number)), lambda dag: shd(dag, truth)
    drawn = simulate(data, "linear", n=1_000, seed=seed)
    linear = BicEV(Statistics.from_array(drawn.X))
    errors = lambda dag: shd(prune("threshold", drawn.X, dag)[0], drawn.dag)  # noqa: E731
    return drawn.X, linear, dag_score(linear, drawn.dag), errors


def one_run(data: str, part: str, budget: int, seed: int) -> Row:
    """Search one data set with one part switched off."""
    torch.set_num_threads(1)
    values, score, goal, errors = problem(data, seed)
    d, scale, reached = score.n_nodes, 1_000 * score.n_nodes, []

    def watch(progress: Progress) -> None:
        if progress.best >= goal - 1e-6 and not reached:
            reached.append((progress.n_local, progress.n_evals))

    if part == "paper":  # its own currency: DAG evaluations
        settings = Settings.preset("paper").with_(max_evals=budget)
    else:
        settings = Settings(max_evals=10**6, max_local=budget * d).with_(**SWITCHED[part][1])
    wall, cpu = time.perf_counter(), time.process_time()
    outcome = new_search(
        score, settings, seed=seed, screens=[RelevanceScreen(values, seed), ForestScreen(values, seed)]
    ).run([watch])
    return {
        "data": data,
        "part": part,
        "budget": budget,
        "seed": seed,
        "score": round(float(outcome.best.scores[0]) / scale, 6),
        "goal": round(goal / scale, 6),
        "reached": bool(reached),
        "local_at_goal": reached[0][0] if reached else "",
        "evals_at_goal": reached[0][1] if reached else "",
        "n_local": outcome.n_local,
        "n_evals": outcome.n_evals,
        "shd": errors(outcome.best.dags[0]),
        "found_by": outcome.found_by,
        "stopped": outcome.stopped.split(":")[0],
        "seconds": round(time.perf_counter() - wall, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
    }


@study("efficiency", "data part budget seed", data=("5ER1",), parts=("default", "paper"), seeds=range(1), budget=12)
def efficiency(
    data: Annotated[Names, "graphs, gp (all five tables), or gp1 to gp5"] = ("20ER4", "30ER8"),
    parts: Annotated[Names, f"some of {', '.join(SWITCHED)}, or all"] = ("default",),
    seeds: Seeds = range(10),
    budget: Annotated[int | None, "local scores per node; for the part paper: DAG evaluations"] = None,
    workers: Workers = 1,
) -> Iterator[Row]:
    """Yield a row for each search."""
    parts = tuple(SWITCHED)[:-1] if parts == ("all",) else parts
    names = tuple(f"gp{number}" for number in gran_dag.SETS) if data == ("gp",) else data
    jobs = [
        (name, part, budget or BUDGETS.get(name, BUDGETS["gp"]), seed)
        for part in parts
        for name in names
        for seed in seeds
    ]
    yield from in_parallel(one_run, jobs, workers)
