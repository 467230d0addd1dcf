"""An expensive score beyond toy size: Gaussian-process data, score ``gp``, with and without a surrogate.

    python -m benchmarks expensive --nodes 20,30,50 --device cuda --save benchmarks/rows/expensive.csv

The default search within a number of local scores, once with its surrogate and once without: then DAGs near the best
one are evaluated as they come; recombination and polish are the same. What is compared is the number of distinct local
scores, and the seconds, until the best graph that any of the runs on these data has found.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks import rows as table
from benchmarks.methods.metrics import dag_score
from drbo import DrBO
from drbo.data.simulate import simulate
from drbo.data.table import Table
from drbo.metrics import shd
from drbo.scores.gp import GpScore
from drbo.settings import Settings

KEY = ("graph", "n", "seed", "surrogate", "device")
#: Scores closer than this are equal: fits of one family in different batches differ by less.
SAME = 0.01


def one_run(graph: str, seed: int, surrogate: str, options: argparse.Namespace) -> table.Row:
    """Search one data set and return its row, with the way to the best score."""
    data = simulate(graph, "gp", n=options.rows, seed=seed)
    most = options.local * len(data.dag)
    settings = Settings(route="surrogate", surrogate=surrogate, max_local=most, max_evals=1_000_000)
    start = time.perf_counter()
    model = DrBO("gp", random_state=seed, settings=settings, device=options.device, time_limit=options.limit)
    result = model.fit(data.X).result_
    trace = {name: np.asarray(values) for name, values in result.trace.items()}
    rises = np.flatnonzero(np.diff(np.maximum.accumulate(trace["best"]), prepend=-np.inf) > 0)
    columns = (trace["n_local"], trace["seconds"], trace["best"])
    steps = [":".join(f"{float(column[k]):.10g}" for column in columns) for k in rises]
    truth = dag_score(GpScore(Table.from_array(data.X), device=options.device), data.dag)
    return {
        "graph": graph,
        "n": options.rows,
        "seed": seed,
        "surrogate": surrogate,
        "n_edges": int(data.dag.sum()),
        "shd": shd(result.dag, data.dag),
        "score": repr(float(trace["best"][-1])),
        "true_score": repr(truth),
        "n_evals": result.n_evals,
        "n_local": result.n_local,
        "seconds": round(time.perf_counter() - start, 2),
        "stopped": result.stopped,
        "rises": " ".join(steps),
        **table.stamp(options.device),
    }


def summary(rows: list[table.Row]) -> str:
    """Return local scores and seconds to the best known graph of each data set; scores are those before pruning."""
    names = "data, surrogate, score - best known, local scores to the best known, seconds to it, local scores in all, "
    names += "seconds in all, score - true graph's, SHD after pruning, machine"
    text = "| " + " | ".join(names.split(", ")) + " |\n|" + "---|" * len(names.split(", ")) + "\n"
    for row in sorted(rows, key=lambda row: (int(row["graph"].split("ER")[0]), int(row["seed"]), row["surrogate"])):
        same = [other for other in rows if (other["graph"], other["seed"]) == (row["graph"], row["seed"])]
        best = max(float(other["score"]) for other in same)
        steps = [tuple(map(float, step.split(":"))) for step in row["rises"].split()]
        to_best = next(((local, seconds) for local, seconds, value in steps if value >= best - SAME), None)
        reached = f"{to_best[0]:.0f} | {to_best[1]:.1f}" if to_best else "not reached | "
        text += (
            f"| {row['graph']}, seed {row['seed']} | {row['surrogate']} | {float(row['score']) - best:.2f} | {reached} "
        )
        text += f"| {row['n_local']} | {row['seconds']} | {float(row['score']) - float(row['true_score']):.2f} "
        text += f"| {row['shd']} | {row['machine']} |\n"
    return text


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="20,30,50", help="comma-separated")
    parser.add_argument("--degree", type=int, default=2, help="edges per node")
    parser.add_argument("--rows", type=int, default=500, help="sample size")
    parser.add_argument("--seeds", type=int, default=1, help="number of data sets")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--surrogates", default="gp,none", help="comma-separated")
    parser.add_argument("--local", type=int, default=200, help="local scores per node that may be computed")
    parser.add_argument("--limit", type=float, help="seconds of each search")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--save", type=Path, help="CSV file that gets the rows, run by run, and is summed up")
    parser.add_argument("--docs", action="store_true", help="write the table of docs/efficiency.md, and nothing else")
    options = parser.parse_args(arguments)
    if options.docs:
        page = table.FOLDER.parent.parent / "docs" / "efficiency.md"
        table.fill(page, "expensive", summary(table.load(table.FOLDER / "expensive.csv")))
        return
    found: list[table.Row] = []
    for nodes in options.nodes.split(","):
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            for surrogate in options.surrogates.split(","):
                row = one_run(f"{nodes}ER{options.degree}", seed, surrogate, options)
                found.append(row)
                print({name: value for name, value in row.items() if name != "rises"}, flush=True)
                if options.save:
                    table.save(options.save, [row], KEY)
    print("\n" + summary(table.load(options.save) if options.save else found))
