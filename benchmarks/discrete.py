"""Discrete data drawn from real networks (bnlearn repository, conditional probabilities as shipped with pgmpy).

    python -m benchmarks discrete --networks asia,child,insurance,alarm --rows 1000,10000 --seeds 3

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
from benchmarks.rivals import Task, Worker, as_text, dag_score, judge, library, pgmpy_score, timed
from drbo import DrBO
from drbo.data.check import check_table
from drbo.data.table import Table
from drbo.scores.base import build_score

KEY = ("network", "n", "seed", "score", "method")
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
    key: dict[str, Any], data: tuple[Table, npt.NDArray[np.bool_]], limit: float, worker: Worker
) -> list[table.Row]:
    """Return the rows of one data set and score: ours, then the rivals'."""
    (checked, dag), options = data, OPTIONS[key["score"]]
    task = Task(checked, key["score"], options, key["seed"])
    score = build_score(task.score, checked, options)
    model = DrBO(
        task.score, random_state=task.seed, prune="none", score_options=options, on_collinear="keep", device="cpu"
    )
    answers = {"drbo": timed(lambda: model.fit(as_text(checked)).adjacency_)}
    answers |= {rival: worker.ask(rival, task, limit) for rival in RIVALS}
    true_score = dag_score(score, dag)
    common = {
        **key,
        "n_edges": int(dag.sum()),
        "true_score": repr(true_score),
        "pgmpy_difference": f"{abs(pgmpy_value(task, dag) / true_score - 1):.1e}",
    }
    return [
        {
            **common,
            "method": method,
            **judge(answer, score, dag),
            "seconds": round(answer.seconds, 2),
            "cpu_seconds": round(answer.cpu_seconds, 2),
            "n_evals": model.result_.n_evals if method == "drbo" else "",
            "n_local": model.result_.n_local if method == "drbo" else "",
            "library": library(method),
            **table.stamp("cpu"),
        }
        for method, answer in answers.items()
    ]


def lead(part: list[table.Row]) -> tuple[float, str] | None:
    """Return by how much our score exceeds the best rival's, and that rival; rounding counts as 0."""
    ours, *others = [(float(row["found_score"]), row["method"]) for row in part if row["found_score"] != ""]
    if not others:
        return None
    best, method = max(others)
    gap = ours[0] - best
    return (0.0 if abs(gap) <= ROUNDING * abs(best) else gap), method


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


def print_summary(cells: list[list[table.Row]]) -> None:
    """Print means per network, size and score, and where our score is lower than a rival's."""
    groups: dict[tuple[Any, ...], list[list[table.Row]]] = {}
    for part in cells:
        groups.setdefault((part[0]["network"], part[0]["n"], part[0]["score"]), []).append(part)
    for (network, n, score), group in groups.items():
        print(f"\n{network}, n = {n}, {score}, {len(group)} data sets")
        print(f"  {'':<30}{'score - true score':>20}  {'SHD-C':>12}  {'seconds of CPU':>14}")
        for rows in zip(*group, strict=True):
            scored = [row for row in rows if row["found_score"] != ""]
            if not scored:
                print(f"  {rows[0]['method']:<30}none of {len(rows)}: {rows[0]['note']}")
                continue
            gain = table.spread((float(row["found_score"]) - float(row["true_score"]) for row in scored), 2)
            distance = table.spread((row["shd_c"] for row in scored), 1)
            seconds = table.spread((row["cpu_seconds"] for row in scored), 1)
            few = f"  {len(scored)} of {len(rows)} answered" if len(scored) < len(rows) else ""
            print(f"  {rows[0]['method']:<30}{gain:>20}  {distance:>12}  {seconds:>14}{few}")
    leads = [(lead(part), part[0]) for part in cells]
    known = [(found, first) for found, first in leads if found is not None]
    higher, equal = sum(found[0] > 0 for found, _ in known), sum(found[0] == 0 for found, _ in known)
    lower = [(found, first) for found, first in known if found[0] < 0]
    print(f"\nagainst the best rival of each of {len(known)} cells: higher {higher}, equal {equal}, lower {len(lower)}")
    for (gap, method), first in lower:
        print(f"  lower by {-gap:.3f}: {first['network']}, n = {first['n']}, seed {first['seed']}, ", end="")
        print(f"{first['score']}; best is {method}")
    print(f"largest difference to pgmpy's score: {max(float(part[0]['pgmpy_difference']) for part in cells):.1e} of it")


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default="asia,child,insurance,alarm", help="comma-separated")
    parser.add_argument("--rows", default="1000,10000", help="sample sizes, comma-separated")
    parser.add_argument("--scores", default=",".join(OPTIONS), help="comma-separated")
    parser.add_argument("--seeds", type=int, default=3, help="data sets 0 to SEEDS - 1")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds that a rival may take")
    parser.add_argument("--save", type=Path, help="CSV file that gets the rows, cell by cell")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", FutureWarning)  # of pgmpy, about itself
    cells: list[list[table.Row]] = []
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
                        cells.append(one_cell(key, data, options.limit, worker))
                        print_cell(cells[-1])
                        if options.save:
                            table.save(options.save, cells[-1], KEY)
    print_summary(cells)
