"""Discrete data drawn from real networks (bnlearn repository, conditional probabilities as shipped with pgmpy).

    python -m benchmarks discrete --seeds 3 --save benchmarks/rows/discrete.csv
    python -m benchmarks discrete --seeds 3 --methods drbo --save benchmarks/rows/discrete.csv

Data set s of a network is drawn by forward sampling with seed s, its columns in an order drawn with seed s. Every
method maximises the same score: BDeu with an equivalent sample size of 1, and multinomial BIC with penalty 1. pgmpy
has both; causal-learn's BDeu has a fixed prior over graphs and it has no discrete BIC, so its searches are given our
score. All graphs are then scored by our score, which is checked against pgmpy's on the true graph of every data set.
Needs ``pip install -r benchmarks/requirements.txt``.
"""

import argparse
import gzip
import sys
import warnings
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import rows as table
from benchmarks.methods import Task, Worker, library, timed
from benchmarks.methods.libraries import as_text, pgmpy_score
from benchmarks.methods.metrics import dag_score, judge
from drbo import DrBO
from drbo.data.check import check_table
from drbo.data.table import Table
from drbo.scores.base import build_score

KEY = ("network", "n", "seed", "score", "method")
OURS = "drbo"
RIVALS = ("pgmpy hill climbing", "causal-learn GES (our score)", "causal-learn BOSS (our score)")
OPTIONS: dict[str, dict[str, Any]] = {"bdeu": {"penalty": 1.0, "ess": 1.0}, "bic-discrete": {"penalty": 1.0}}
#: Our BIC is on the scale of twice the log-likelihood, pgmpy's on that of the log-likelihood.
OUR_SCALE = {"bdeu": 1.0, "bic-discrete": 2.0}
#: Scores closer than this share of themselves are equal.
ROUNDING = 1e-9


def read_network(name: str) -> Any:
    """Return a network of the bnlearn repository with its probabilities; nothing is downloaded."""
    from pgmpy.readwrite import BIFReader

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
    key: dict[str, Any],
    data: tuple[Table, npt.NDArray[np.bool_]],
    methods: list[str],
    limit: float,
    worker: Worker,
) -> list[table.Row]:
    """Return the rows of one data set and score."""
    (checked, dag), options = data, OPTIONS[key["score"]]
    task = Task(checked, key["score"], options, key["seed"])
    score = build_score(task.score, checked, options)
    model = DrBO(
        task.score, random_state=task.seed, prune="none", score_options=options, on_collinear="keep", device="cpu"
    )
    true_score = dag_score(score, dag)
    common = {
        **key,
        "n_edges": int(dag.sum()),
        "true_score": repr(true_score),
        "pgmpy_difference": f"{abs(pgmpy_value(task, dag) / true_score - 1):.1e}",
    }
    found = []
    for method in methods:
        ours = method == OURS
        answer = timed(lambda: model.fit(as_text(checked)).adjacency_) if ours else worker.ask(method, task, limit)
        found.append(
            {
                **common,
                "method": method,
                **judge(answer, score, dag),
                "seconds": round(answer.seconds, 2),
                "cpu_seconds": round(answer.cpu_seconds, 2),
                "n_evals": model.result_.n_evals if ours else "",
                "n_local": model.result_.n_local if ours else "",
                "library": library(method),
                **table.stamp("cpu"),
            }
        )
    return found


def lead(part: list[table.Row]) -> tuple[float, str] | None:
    """Return by how much our score exceeds the best rival's, and that rival; rounding counts as 0."""
    scores = {row["method"]: float(row["found_score"]) for row in part if row["found_score"] != ""}
    ours = scores.pop(OURS, None)
    if ours is None or not scores:
        return None
    method = max(scores, key=lambda name: scores[name])
    gap = ours - scores[method]
    return (0.0 if abs(gap) <= ROUNDING * abs(ours) else gap), method


def print_cell(part: list[table.Row]) -> None:
    first = part[0]
    print(
        f"\n{first['network']}, n = {first['n']}, seed {first['seed']}, {first['score']}: "
        f"true graph {float(first['true_score']):.3f} (pgmpy's score differs by {first['pgmpy_difference']} of it)"
    )
    for row in part:
        value = f"{float(row['found_score']):14.3f}" if row["found_score"] != "" else f"{'none':>14}"
        times = f"{row['seconds']:>8} s, {row['cpu_seconds']:>7} s of CPU"
        print(f"  {row['method']:<30}{value}  SHD-C {row['shd_c']!s:>3}  {times}  {row['note']}", flush=True)


def summary(rows: list[table.Row]) -> str:
    """Return a table of means per network, size and score, and where our score is lower than a rival's."""
    groups: dict[tuple[Any, ...], list[table.Row]] = {}
    for row in rows:
        groups.setdefault((row["network"], int(row["n"]), row["score"]), []).append(row)
    lines = [
        "| network | rows | score | method | score - the true graph's | SHD-C | seconds of CPU | data sets |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (network, n, score), group in sorted(groups.items()):
        for method in (OURS, *RIVALS):
            part = [row for row in group if row["method"] == method]
            if part:
                lines.append(f"| {network} | {n:,} | {score} | {method} | {means(part)} |")
    cells: dict[tuple[str, ...], list[table.Row]] = {}
    for row in rows:
        cells.setdefault(tuple(str(row[name]) for name in KEY[:-1]), []).append(row)
    leads = [(found, cell) for cell, part in sorted(cells.items()) if (found := lead(part))]
    higher, equal = (sum(test(found[0]) for found, _ in leads) for test in (lambda gap: gap > 0, lambda gap: gap == 0))
    lower = [(found, cell) for found, cell in leads if found[0] < 0]
    lines.append(f"\nAgainst the best rival of each of {len(leads)} cells: higher {higher}, equal {equal}, ")
    lines[-1] += f"lower {len(lower)}."
    for (gap, method), (network, n, seed, score) in lower:
        lines.append(f"- lower by {-gap:.3f}: {network}, n = {int(n):,}, seed {seed}, {score}; best is {method}")
    return "\n".join(lines) + "\n"


def means(part: list[table.Row]) -> str:
    """Return the means of one method over the data sets of one network, size and score."""
    scored = [row for row in part if row["found_score"] != ""]
    if not scored:
        return f"{part[0]['note']} | | | 0 of {len(part)}"
    gain = table.spread((float(row["found_score"]) - float(row["true_score"]) for row in scored), 2)
    distance = table.spread((row["shd_c"] for row in scored), 1)
    return f"{gain} | {distance} | {table.spread(row['cpu_seconds'] for row in scored)} | {len(scored)} of {len(part)}"


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default="asia,child,insurance,alarm", help="comma-separated")
    parser.add_argument("--rows", default="1000,10000", help="sample sizes, comma-separated")
    parser.add_argument("--scores", default=",".join(OPTIONS), help="comma-separated")
    parser.add_argument("--seeds", type=int, default=3, help="data sets 0 to SEEDS - 1")
    parser.add_argument("--methods", default=",".join((OURS, *RIVALS)), help="comma-separated")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds that a rival may take")
    parser.add_argument("--save", type=Path, help="CSV file that gets the rows, cell by cell, and is summed up")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", FutureWarning)  # of pgmpy, about itself
    found: list[table.Row] = []
    with Worker() as worker:
        for name in options.networks.split(","):
            try:
                network = read_network(name)
            except ImportError as error:
                sys.exit(f"{error}; the networks need: pip install -r benchmarks/requirements.txt")
            for n in map(int, options.rows.split(",")):
                for seed in range(options.seeds):
                    data = draw(network, n, seed)
                    for score in options.scores.split(","):
                        key = {"network": name, "n": n, "seed": seed, "score": score}
                        cell = one_cell(key, data, options.methods.split(","), options.limit, worker)
                        found += cell
                        print_cell(cell)
                        if options.save:
                            table.save(options.save, cell, KEY)
    print("\n" + summary(table.load(options.save) if options.save else found))
