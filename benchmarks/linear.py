"""Linear-Gaussian data: SHD after pruning, scores against the true graph's, evaluations, local scores, seconds.

    python -m benchmarks linear --preset paper --graphs 10ER2,20ER4,30ER8 --seeds 10 --evals 10000

Data set s of a graph is ``drbo.data.simulate.simulate(graph, seed=s)``; the search has seed s too.
"""

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import rows as table
from drbo.claims.prune import prune
from drbo.data.simulate import Simulated, simulate
from drbo.data.table import Table
from drbo.metrics import compare
from drbo.scores.linear import BicEV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.loop import Search, run
from drbo.search.orders.search import OrderSearch
from drbo.search.paper.space import FullRankSpace, LowRankSpace
from drbo.search.stopping import Limits, Recorder
from drbo.settings import Settings

KEY = ("graph", "preset", "candidates", "evals", "device", "seed")
#: Pruning and penalty of each preset; the paper's threshold is an oracle's knowledge of the simulated weights.
PRUNERS = {"paper": "threshold", "default": "none"}
PENALTIES: dict[str, Any] = {"paper": 1.0, "default": "ebic"}


def parser(description: str, graphs: str) -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--preset", choices=list(PRUNERS), default="paper")
    options.add_argument("--graphs", default=graphs, help="comma-separated")
    options.add_argument("--seeds", type=int, default=10, help="data sets 0 to SEEDS - 1")
    options.add_argument("--first-seed", type=int, default=0)
    options.add_argument("--evals", type=int, default=10_000, help="0: not rationed, the order search (default preset)")
    options.add_argument("--candidates", type=int, help="candidates per iteration; default: the preset's")
    options.add_argument("--rows", type=int, default=1_000, help="sample size")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--workers", type=int, default=1, help="runs at a time")
    options.add_argument("--best-of", type=int, default=1, help="repeat each run and keep the quickest")
    options.add_argument("--save", type=Path, help="CSV file that gets the rows")
    return options


def dataset(graph: str, seed: int, n: int) -> Simulated:
    return simulate(graph, n=n, seed=seed)


def one_run(
    graph: str, seed: int, options: argparse.Namespace, make: Callable[[str, int, int], Simulated]
) -> table.Row:
    """Search one data set and return its row."""
    if options.workers > 1:
        torch.set_num_threads(1)
    data = make(graph, seed, options.rows)
    score = BicEV(Table.from_array(data.X), penalty=PENALTIES[options.preset])
    settings = Settings.preset(options.preset).with_(max_evals=options.evals or Settings().max_evals)
    if options.candidates:
        settings = settings.with_(n_candidates=options.candidates)
    truth = Evaluator(score, settings).evaluate(data.dag[None]).scores[0]
    seconds = np.inf
    for _ in range(options.best_of):
        recorder, start = Recorder(), time.perf_counter()
        if options.evals:
            state = Search(score, settings, seed=seed, device=options.device)
            outcome = run(state, [recorder, Limits(settings)])
        else:
            outcome = OrderSearch(score, settings, seed=seed).run([recorder, Limits(settings)])
        seconds = min(seconds, time.perf_counter() - start)
    pruned, _ = prune(PRUNERS[options.preset], data.X, outcome.best.dags[0])
    pruned_score = Evaluator(score, settings).evaluate(pruned[None]).scores[0]
    metrics = compare(pruned, data.dag)
    scale = options.rows * len(data.dag)
    space = LowRankSpace(len(data.dag), settings.rank) if settings.space == "low-rank" else FullRankSpace(len(data.dag))
    return {
        "graph": graph,
        "preset": options.preset,
        "candidates": settings.n_candidates,
        "evals": options.evals,
        "seed": seed,
        "n": options.rows,
        "pruner": PRUNERS[options.preset],
        "shd": metrics.shd,
        "shd_c": metrics.shd_c,
        "tpr": round(metrics.tpr, 4),
        "fdr": round(metrics.fdr, 4),
        "n_edges": int(data.dag.sum()),
        "score": round(float(outcome.best.scores[0]) / scale, 6),
        "pruned_score": round(float(pruned_score) / scale, 6),
        "true_score": round(float(truth) / scale, 6),
        "n_evals": outcome.n_evals,
        "n_local": outcome.n_local,
        "seconds": round(seconds, 2),
        "true_graph_in_space": space.encode(data.dag) is not None,
        "workers": options.workers,
        **table.stamp(options.device),
    }


def run_all(options: argparse.Namespace, make: Callable[[str, int, int], Simulated]) -> list[table.Row]:
    """Run every graph and seed, print a line each and a summary per graph."""
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    jobs = [(graph, seed) for graph in options.graphs.split(",") for seed in seeds]
    found: list[table.Row] = []
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        runner = pool.map if options.workers > 1 else map
        for row in runner(one_run, *zip(*jobs, strict=True), [options] * len(jobs), [make] * len(jobs)):
            found.append(row)
            print(
                f"{row['graph']} seed {row['seed']}: SHD {row['shd']}, score/(nd) {row['score']} "
                f"(pruned {row['pruned_score']}, true graph {row['true_score']}), {row['n_evals']} evaluations, "
                f"{row['n_local']} local scores, {row['seconds']} s on {row['machine']}",
                flush=True,
            )
    for graph in options.graphs.split(","):
        print_summary([row for row in found if row["graph"] == graph])
    if options.save:
        table.save(options.save, found, KEY)
    return found


def print_summary(part: list[table.Row]) -> None:
    first = part[0]
    print(f"\n{first['graph']}, preset {first['preset']}, C = {first['candidates']}, {len(part)} data sets")
    print(f"  SHD after pruning ({first['pruner']})   {table.spread(row['shd'] for row in part)}")
    gap = table.spread((row["score"] - row["true_score"] for row in part), 4)
    pruned = table.spread((row["pruned_score"] - row["true_score"] for row in part), 4)
    print(f"  score/(nd) minus the true graph's: before pruning {gap}, after {pruned}")
    print(f"  DAG evaluations {table.spread(row['n_evals'] for row in part)}")
    print(f"  distinct local scores {table.spread(row['n_local'] for row in part)}")
    print(f"  seconds {table.spread(row['seconds'] for row in part)} on {first['machine']}")
    inside = sum(row["true_graph_in_space"] for row in part)
    print(f"  true graphs for which the search space has a vector: {inside} of {len(part)}")


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    run_all(parser(__doc__ or "", "10ER2,20ER4,30ER8").parse_args(arguments), dataset)
