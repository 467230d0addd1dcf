"""Order search beside other methods on linear-Gaussian data: score, distance to the truth and seconds, in one run.

    python -m benchmarks orders --data standardised --graphs 20ER4,50ER4 --rivals "flopsearch FLOP,causal-learn BOSS"
    python -m benchmarks orders --data raw --graphs 30ER8,100ER2 --rivals EqVar
    python -m benchmarks orders --docs                            # the table of docs/orders.md from the rows

Data set s of a graph is ``drbo.data.simulate.simulate(graph, n, seed=s)``, standardised (score bic-nv) or as it is
(bic-ev). Ours is the estimator at its defaults, within ``--seconds`` if given; the first fit of a run compiles and is
not timed. FLOP runs for at least as many seconds as ours took. ``score`` is that of the graph before pruning;
``shd`` and ``shd_c`` are after it, ``searched_shd`` and ``searched_shd_c`` before it, as FLOP and BOSS do not prune.
"""

import argparse
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import rows as table
from benchmarks.methods import Task, Worker, library
from benchmarks.methods.metrics import dag_score, judge
from drbo import DrBO
from drbo.data.simulate import Simulated, simulate, standardize
from drbo.data.table import Table
from drbo.graph import dag_to_cpdag
from drbo.metrics import compare, shd
from drbo.scores.base import Score, build_score

KEY = ("data", "graph", "n", "penalty", "seed", "method")
SCORES = {"standardised": "bic-nv", "raw": "bic-ev"}


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", choices=list(SCORES), default="standardised")
    options.add_argument("--graphs", default="20ER4", help="comma-separated")
    options.add_argument("--rows", type=int, default=1_000, help="sample size")
    options.add_argument("--seeds", type=int, default=10, help="data sets 0 to SEEDS - 1")
    options.add_argument("--first-seed", type=int, default=0)
    options.add_argument("--penalty", type=float, default=1.0)
    options.add_argument("--seconds", type=float, help="time limit of ours; default: until it stops by itself")
    options.add_argument("--rivals", default="", help="comma-separated names of benchmarks/methods/registry.py")
    options.add_argument("--limit", type=float, default=300.0, help="seconds after which a rival is stopped")
    options.add_argument("--save", type=Path, help="CSV file that gets the rows")
    options.add_argument("--docs", action="store_true", help="write docs/orders.md from the rows, and nothing else")
    return options


def ours(data: Simulated, score: Score, options: argparse.Namespace, seed: int) -> table.Row:
    """Fit the estimator and return its part of the row."""
    model = DrBO(
        SCORES[options.data], time_limit=options.seconds, random_state=seed, score_options={"penalty": options.penalty},
        exact=False,
    )  # fmt: skip
    start = time.perf_counter()
    result = model.fit(data.X).result_
    seconds = time.perf_counter() - start
    metrics = compare(result.dag, data.dag)
    searched = shd(dag_to_cpdag(result.searched_dag), dag_to_cpdag(data.dag))
    return {
        "method": "drbo",
        "found_score": repr(dag_score(score, result.searched_dag)),
        "shd": metrics.shd,
        "shd_c": metrics.shd_c,
        "searched_shd": shd(result.searched_dag, data.dag),
        "searched_shd_c": searched,
        "n_found": int(result.dag.sum()),
        "seconds": round(seconds, 2),
        "n_local": result.n_local,
        "note": result.stopped,
    }


def theirs(rival: str, worker: Worker, task: Task, score: Score, data: Simulated, limit: float) -> table.Row:
    """Return a rival's part of the row."""
    answer = worker.ask(rival, task, limit)
    name = library(rival) + (" (recommended)" if rival.endswith("(recommended)") else "")
    row: dict[str, Any] = {"method": name, **judge(answer, score, data.dag)}
    if answer.graph is not None:
        row["shd"] = shd(answer.graph, data.dag)
    return {**row, "seconds": round(answer.seconds, 2)}


def one_data_set(graph: str, seed: int, options: argparse.Namespace, worker: Worker) -> list[table.Row]:
    """Run every method on one data set."""
    drawn = simulate(graph, n=options.rows, seed=seed)
    values = standardize(drawn.X) if options.data == "standardised" else drawn.X
    data = Simulated(values, drawn.dag, None, drawn.names)
    columns = Table.from_array(values)
    score = build_score(SCORES[options.data], columns, {"penalty": options.penalty})
    found = [ours(data, score, options, seed)]
    task = Task(columns, score.name, {"penalty": options.penalty, "seconds": found[0]["seconds"]}, seed)
    for rival in filter(None, options.rivals.split(",")):
        found.append(theirs(rival, worker, task, score, data, options.limit))
    common = {
        "data": options.data,
        "graph": graph,
        "n": options.rows,
        "penalty": options.penalty,
        "seed": seed,
        "n_edges": int(data.dag.sum()),
        "true_score": repr(dag_score(score, data.dag)),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        **table.stamp("cpu"),
    }
    return [{**common, **row} for row in found]


def summary(rows: list[table.Row]) -> list[str]:
    """Return the lines of a table: for each kind of data the methods, ours first."""
    lines = [
        "| data | rows | penalty | method | sets | highest score on | below the highest | SHD | SHD-C | seconds "
        "| no answer |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    kinds = sorted({(row["data"], int(row["graph"].split("ER")[0]), *_kind(row)[1:]) for row in rows})
    for data, _, graph, n, penalty in kinds:
        part = [row for row in rows if _kind(row) == (data, graph, n, penalty)]
        best = {row["seed"]: 0.0 for row in part}
        for seed in best:
            best[seed] = max(float(row["found_score"]) for row in part if row["seed"] == seed and row["found_score"])
        for method in sorted({row["method"] for row in part}, key=lambda name: (name != "drbo", name)):
            own = [row for row in part if row["method"] == method]
            lines.append(f"| {graph} {data} | {n:,} | {penalty:g} | {method} | {_line(own, best)} |")
    return lines


def _kind(row: table.Row) -> tuple[str, str, int, float]:
    return row["data"], row["graph"], int(row["n"]), float(row["penalty"])


def _line(own: list[table.Row], best: dict[str, float]) -> str:
    """Return what is told of one method."""
    answers = [row for row in own if row["found_score"]]
    gaps = [best[row["seed"]] - float(row["found_score"]) for row in answers]
    figures = [
        table.spread(numbers) if (numbers := [float(row[name]) for row in answers if row[name]]) else "-"
        for name in ("shd", "shd_c", "seconds")
    ]
    lost = sorted({row["note"] for row in own if not row["found_score"]})
    told = f"{len(own) - len(answers)}: {', '.join(lost)}" if lost else ""
    if not answers:
        return f"{len(own)} | - | - | - | - | - | {told}"
    top = sum(gap <= 1e-6 * (1 + abs(best[row["seed"]])) for gap, row in zip(gaps, answers, strict=True))
    return f"{len(own)} | {top} | {table.spread(gaps)} | {' | '.join(figures)} | {told}"


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    options = parser().parse_args(arguments)
    if options.docs:
        lines = summary(table.load(table.FOLDER / "orders.csv"))
        table.fill(table.FOLDER.parent.parent / "docs" / "orders.md", "orders", "\n".join(lines) + "\n")
        return
    DrBO(SCORES[options.data], random_state=0, exact=False).fit(np.random.default_rng(0).normal(size=(50, 4)))
    found: list[table.Row] = []
    with Worker() as worker:
        for graph in options.graphs.split(","):
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                part = one_data_set(graph, seed, options, worker)
                best = max(float(row["found_score"]) for row in part if row["found_score"])
                for row in part:
                    gap = f"{best - float(row['found_score']):.2f}" if row["found_score"] else "-"
                    print(
                        f"{graph} seed {seed} {row['method']:<22} gap to the best {gap}, SHD {row.get('shd', '')}, "
                        f"SHD-C {row['shd_c']} (before pruning {row.get('searched_shd_c', '')}), "
                        f"{row['seconds']} s {row['note']}",
                        flush=True,
                    )
                found += part
                if options.save:
                    table.save(options.save, part, KEY)
    for graph in options.graphs.split(","):
        for method in dict.fromkeys(row["method"] for row in found):
            part = [row for row in found if (row["graph"], row["method"]) == (graph, method) and row["found_score"]]
            if part:
                text = ", ".join(
                    f"{k} {table.spread(float(row[k]) for row in part)}" for k in ("shd", "shd_c", "seconds")
                )
                print(f"{graph} {method}: {len(part)} data sets, {text}")
