"""The Sachs data with the paper's configuration, beside what KCI pruning does to random complete graphs.

    python -m benchmarks sachs --seeds 3 --evals 20000

The paper's score on this data interpolates: a complete graph beats the known network, so the search ends at a nearly
complete graph and the result is what the kernel test leaves of it. The random complete graphs show how much of the
figure is the test's alone.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks import rows as table
from drbo.claims.prune import prune
from drbo.data.datasets import load
from drbo.data.table import Table
from drbo.metrics import compare
from drbo.scores.gp import GpScore
from drbo.scores.gp_paper import GpNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.loop import Search, run
from drbo.settings import Settings

KEY = ("method", "evals", "device", "seed")


def measured(dag: np.ndarray, data: np.ndarray, truth: np.ndarray) -> table.Row:
    """Prune by KCI at 0.001 on the raw data and compare."""
    pruned, _ = prune("kci", data, dag)
    metrics = compare(pruned, truth)
    return {
        "edges_before": int(dag.sum()),
        "edges_after": int(pruned.sum()),
        "shd": metrics.shd,
        "fdr": round(metrics.fdr, 4),
        "tpr": round(metrics.tpr, 4),
        "f1": round(metrics.f1, 4),
    }


def fitted_noise(data: np.ndarray, truth: np.ndarray, options: argparse.Namespace) -> table.Row:
    """Search with the score gp, whose noise is fitted: it does not interpolate. No kernel test afterwards."""
    score = GpScore(Table.from_array(data), device=options.device, penalty="ebic")
    settings = Settings().with_(max_evals=options.gp_evals)
    start = time.perf_counter()
    outcome = run(Search(score, settings, seed=0, device=options.device))
    found = outcome.best.dags[0]
    pruned, _ = prune("cam-sequential", data, found)
    metrics = compare(pruned, truth)
    row = {
        "method": "gp, noise fitted",
        "evals": options.gp_evals,
        "seed": 0,
        "score": round(float(outcome.best.scores[0]) / data.size, 6),
        "known_score": round(float(Evaluator(score, settings).evaluate(truth[None]).scores[0]) / data.size, 6),
        "edges_before": int(found.sum()),
        "edges_after": int(pruned.sum()),
        "shd": metrics.shd,
        "fdr": round(metrics.fdr, 4),
        "tpr": round(metrics.tpr, 4),
        "f1": round(metrics.f1, 4),
        "n_evals": outcome.n_evals,
        "n_local": outcome.n_local,
        "seconds": round(time.perf_counter() - start, 1),
        **table.stamp(options.device),
    }
    print(row, flush=True)
    return row


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--evals", type=int, default=20_000)
    parser.add_argument("--random", type=int, default=20, help="random complete graphs")
    parser.add_argument(
        "--gp-evals", type=int, default=300, help="budget of the search with the score gp; 0: leave out"
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args(arguments)
    sachs = load("sachs")
    data, truth = np.asarray(sachs.X), np.asarray(sachs.dag)
    score = GpNV(Table.from_array(data), standardize=True, median_scale=True, alpha=1e-8, device=options.device)
    settings = Settings.preset("paper-sachs").with_(max_evals=options.evals)
    known = Evaluator(score, settings).evaluate(truth[None]).scores[0] / data.size
    print(f"score/(nd) of the known network: {known:.6f}")
    found = []
    for seed in range(options.seeds):
        start = time.perf_counter()
        outcome = run(Search(score, settings, seed=seed, device=options.device))
        seconds = round(time.perf_counter() - start, 1)
        row = {
            "method": "paper-sachs",
            "evals": options.evals,
            "seed": seed,
            "score": round(float(outcome.best.scores[0]) / data.size, 6),
            "known_score": round(float(known), 6),
            **measured(outcome.best.dags[0], data, truth),
            "n_evals": outcome.n_evals,
            "n_local": outcome.n_local,
            "seconds": seconds,
            **table.stamp(options.device),
        }
        found.append(row)
        print(row, flush=True)
    for seed in range(options.random):
        order = np.random.default_rng(seed).permutation(len(truth))
        complete = np.triu(np.ones_like(truth), 1)[np.ix_(order, order)].astype(bool)
        row = {"method": "random complete", "evals": 0, "seed": seed, **measured(complete, data, truth)}
        found.append({**row, **table.stamp("cpu")})
    if options.gp_evals:
        found.append(fitted_noise(data, truth, options))
    for method in ("paper-sachs", "random complete"):
        part = [row for row in found if row["method"] == method]
        if part:
            words = ", ".join(
                f"{name} {table.spread((row[name] for row in part), 2)}" for name in ("shd", "fdr", "tpr", "f1")
            )
            print(f"{method}: {words}; edges after KCI {table.spread(row['edges_after'] for row in part)}")
    if options.save:
        table.save(options.save, found, KEY)
