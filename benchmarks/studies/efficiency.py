"""How few local scores a search needs, and what each of its parts is worth.

    python -m benchmarks efficiency --data 20ER4,30ER8 --seeds 10 --workers 2
    DRBO_DATA=... python -m benchmarks efficiency --data gp --parts default,no-climb

The scores are cheap here, but the search is held to what an expensive one could afford: no start that knows the
model, no order search, and a budget of distinct local scores (``--budget``, per node: 200 at 20ER4, 400 at 30ER8, 150
for the GP tables). Counted are distinct local scores, and "DAG-equivalents": these over the number of nodes. ``gp``
means the tables of all local scores of five nonlinear data sets, whose optimum is known (benchmarks/gp.py).
"""

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from benchmarks import rows as table
from benchmarks.gp import TableScore, optimum
from drbo.claims.prune import prune
from drbo.data.simulate import simulate
from drbo.data.table import Table
from drbo.metrics import shd
from drbo.scores.linear import BicEV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.loop import Progress, Search, run
from drbo.settings import Settings

KEY = ("data", "part", "budget", "seed")
BUDGETS = {"20ER4": 200, "30ER8": 400, "gp": 150}
REGION = {"route": "paper", "surrogate": "dropout"}
#: What is switched off or exchanged, in the words of the table.
PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "default": ("everything", {}),
    "no-surrogate": ("no surrogate: random changes of the best DAG", {"surrogate": "none"}),
    "dropout": ("dropout networks instead of Gaussian processes", {"surrogate": "dropout"}),
    "no-relative": ("no cheap relative of the score", {"relative": False}),
    "no-bounds": ("no bounds from known families", {"bounds": False}),
    "no-climb": ("no climb: dropout networks rank a trust region", REGION),
    "no-starts": ("no first design: the empty graph alone", {"first_design": 1}),
    "no-recombination": ("no recombination", {"recombine": False, "skip_known": False}),
    "no-polish": ("no polish", {"polish": False}),
    "paper": ("Algorithm 1 as in the paper", {}),
}


def gp_problem(number: int) -> tuple[TableScore, float, Callable[[np.ndarray], int]]:
    """Return a table score, its optimum, and the errors of a DAG."""
    folder = Path(os.environ["DRBO_DATA"]) / "gran_dag"
    values = np.load(folder / "gp_local_scores_ids1to5.npz")[f"T{number}"]
    sets = np.load(folder / "p10_e40_n1000_gp_ids1to5.npz")
    truth = sets["A"][number - 1].astype(bool)
    score = TableScore(Table.from_array(sets["X"][number - 1]), values)
    best = Evaluator(score, Settings()).evaluate(optimum(values, 1_000)[None]).scores[0]
    return score, float(best), lambda dag: shd(dag, truth)


def linear_problem(graph: str, seed: int) -> tuple[BicEV, float, Callable[[np.ndarray], int]]:
    """Return a linear score, the true graph's, and the errors of a DAG after the paper's pruning."""
    drawn = simulate(graph, "linear", n=1_000, seed=seed)  # type: ignore[arg-type]
    score = BicEV(Table.from_array(drawn.X))
    true = Evaluator(score, Settings()).evaluate(drawn.dag[None].astype(bool)).scores[0]
    return score, float(true), lambda dag: shd(prune("threshold", drawn.X, dag)[0], drawn.dag)


def one_run(data: str, part: str, budget: int, seed: int, threads: int) -> table.Row:
    """Search one data set with one part switched off."""
    torch.set_num_threads(threads)
    is_gp = data.startswith("gp")
    score, goal, errors = gp_problem(int(data[2:])) if is_gp else linear_problem(data, seed)
    d, scale, reached = score.n_nodes, 1_000 * score.n_nodes, []

    def watch(progress: Progress) -> None:
        if progress.best >= goal - 1e-6 and not reached:
            reached.append((progress.n_local, progress.n_evals))

    limits = {"max_evals": 10**6, "max_local": budget * d}
    if part == "paper":  # its own currency: DAG evaluations
        settings = Settings.preset("paper").with_(max_evals=budget)
    else:
        settings = Settings(**limits, **PARTS[part][1])
    wall, cpu = time.perf_counter(), time.process_time()
    outcome = run(Search(score, settings, seed=seed), [watch])
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
        **table.stamp("cpu"),
    }


def summary(rows: list[table.Row]) -> list[str]:
    """Return the lines of a table, one per data and part."""
    lines = [
        "| data | search | budget per node | runs | goal reached | local scores at the goal, median "
        "| DAG-equivalents spent | DAGs | SHD | CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, int, int], list[table.Row]] = {}
    for row in rows:
        data = "gp" if row["data"].startswith("gp") else row["data"]
        groups.setdefault((data, list(PARTS).index(row["part"]), int(row["budget"])), []).append(row)
    for (data, place, budget), runs in sorted(groups.items()):
        d = 10 if data == "gp" else int(data.split("ER")[0])
        hits = [int(row["local_at_goal"]) for row in runs if str(row["reached"]) == "True"]
        middle = f"{median(hits):.0f}" if len(hits) > len(runs) / 2 else "-"
        lines.append(
            f"| {data} | {list(PARTS.values())[place][0]} | {budget} | {len(runs)} | {len(hits)} | {middle} "
            f"| {table.spread(int(row['n_local']) / d for row in runs)} "
            f"| {table.spread(int(row['n_evals']) for row in runs)} "
            f"| {table.spread(int(row['shd']) for row in runs)} "
            f"| {table.spread(float(row['cpu_seconds']) for row in runs)} |"
        )
    return lines


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="20ER4,30ER8", help="graphs, gp (all five tables), or gp1 to gp5")
    parser.add_argument("--parts", default="default", help=f"some of {', '.join(PARTS)}, or all")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--budget", type=int, help="local scores per node; for the part paper: DAG evaluations")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="of a search")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--docs", action="store_true", help="write docs/efficiency.md from the rows, and nothing else")
    options = parser.parse_args(arguments)
    if options.docs:
        rows = table.load(table.FOLDER / "efficiency.csv")
        table.fill(table.FOLDER.parent.parent / "docs" / "efficiency.md", "efficiency", "\n".join(summary(rows)) + "\n")
        return
    parts = list(PARTS)[:-1] if options.parts == "all" else options.parts.split(",")
    names = [f"gp{i}" for i in range(1, 6)] if options.data == "gp" else options.data.split(",")
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    jobs = [
        (name, part, options.budget or BUDGETS.get(name, BUDGETS["gp"]), seed, options.threads)
        for part in parts
        for name in names
        for seed in seeds
    ]
    found = []
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(one_run, *job) for job in jobs]):
            found.append(done.result())
            if options.save:
                table.save(options.save, found[-1:], KEY)
    print("\n".join(summary(found)))
