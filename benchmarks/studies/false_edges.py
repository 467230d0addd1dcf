"""Independent columns must give no edges, whatever their units; and how the default penalty was chosen.

    python -m benchmarks null --sets 20 --save benchmarks/rows/null.csv
    python -m benchmarks null --choose --save benchmarks/rows/null_choice.csv
    python -m benchmarks null --nonlinear

Without a choice: 20 independent columns, each in units drawn from 0.01 to 100, searched with the default preset, its
penalty and its pruning. The first sets are searched again in plain units: the graph must be the same. The first one of
each kind has a search of default length, the others one of 100 evaluations, which are enough to try every single edge
five times over. ``gp`` gets half the sets and always 100; its 1,000 rows are work for a GPU (``--device cuda``).
``--choose``: SHD (``bic-nv``: between CPDAGs) with other penalties and pruners, on data sets 100, 101, ... of
``drbo.data.simulate.simulate`` and on independent columns. ``--nonlinear``: how often the test behind ``score="auto"``
calls data nonlinear.
"""

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from multiprocessing import get_context
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from benchmarks import rows as table
from drbo import DrBO
from drbo.claims.prune import prune
from drbo.data.check import check_table
from drbo.data.simulate import linear_weights, random_dag, simulate, simulate_cos, simulate_gp, standardize
from drbo.metrics import shd, shd_cpdag
from drbo.scores import auto, base

N_COLUMNS = 20
ROWS = (100, 1_000)
NUMBERS = ("gaussian", "t3", "shapes")
#: Which data each score is tested on; auto gets all.
KINDS = {
    "auto": (*NUMBERS, "binary", "mixed"),
    "bic-nv": NUMBERS,
    "bge": NUMBERS,
    "splines": NUMBERS,
    "gp": ("gaussian", "t3"),
    "bdeu": ("binary", "grades"),
    "bic-discrete": ("binary", "grades"),
    "logistic": ("binary",),
    "mixed": ("mixed",),
    "bic-ev": ("gaussian", "t3"),
}
#: Scores whose cost allows fewer sets and no search of default length.
COSTLY = {"gp", "gp-nv", "gp-ev"}
#: Evaluations of a short search on route surrogate: every single edge costs 19 of them.
EVALS = 100
#: False edges per table that are allowed on average.
ALLOWED = 0.5
KEY = ("score", "kind", "n", "seed")
CHOICE_KEY = ("graph", "model", "score", "n", "seed", "penalty", "pruner")
HEADER = (
    "| score | penalty, pruner | data | rows | tables | false edges, mean | most | same in other units | passes |\n"
    "|---|---|---|---|---|---|---|---|---|"
)

PENALTIES: dict[str, tuple[Any, float]] = {
    "1": (1.0, 0.0),
    "2": (2.0, 0.0),
    "ebic 0.5": ("ebic", 0.5),
    "ebic 0.75": ("ebic", 0.75),
}
#: What is compared to choose penalty and pruner: graph, model, score, rows. "Linear z" has standardised columns.
LINEAR = [
    (graph, model, score, n)
    for graph, model, score in (
        ("20ER2", "linear z", "bic-nv"),
        ("20ER4", "linear", "bic-nv"),
    )
    for n in (200, 1_000)
] + [("none", kind, "bic-nv", n) for kind in ("gaussian", "t3") for n in ROWS]
EQUAL_VARIANCES = [(graph, "linear", "bic-ev", n) for graph in ("20ER2", "20ER4") for n in (200, 1_000)]
EQUAL_VARIANCES += [
    ("30ER8", "linear", "bic-ev", 1_000),
    *[("none", kind, "bic-ev", 100) for kind in ("gaussian", "t3")],
]
#: About as many rows as columns.
LINEAR += [("30ER2", "linear z", "bic-nv", n) for n in (30, 45, 60, 90)]
EQUAL_VARIANCES += [(graph, "linear", "bic-ev", n) for graph, n in (("50ER1", 40), ("50ER1", 80), ("20ER4", 30))]
NONLINEAR = [
    ("6ER1.5", "gp", "gp", 200),
    ("6ER1.5", "cos", "gp", 200),
    ("10ER2", "gp", "splines", 500),
    ("10ER2", "cos", "splines", 200),
]
FIRST_SEED = 100
NOISES = ("gaussian", "t3", "exponential", "gumbel", "laplace", "uniform", "lognormal")


def noise(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw independent numbers of a named shape."""
    draws: dict[str, Callable[[], np.ndarray]] = {
        "gaussian": lambda: rng.normal(size=shape),
        "t3": lambda: rng.standard_t(3, size=shape),
        "exponential": lambda: rng.exponential(size=shape),
        "gumbel": lambda: rng.gumbel(size=shape),
        "laplace": lambda: rng.laplace(size=shape),
        "uniform": lambda: rng.uniform(-1, 1, size=shape),
        "lognormal": lambda: np.exp(rng.normal(size=shape)),
    }
    return draws[kind]()


def independent(kind: str, n: int, seed: int, *, units: bool) -> pd.DataFrame:
    """Return independent columns; numbers are in units from 0.01 to 100, or plain."""
    rng = np.random.default_rng([seed, n, ["gaussian", "t3", "shapes", "binary", "grades", "mixed"].index(kind)])
    scale = 10 ** rng.uniform(-2, 2, size=N_COLUMNS)
    shapes = {"shapes": ("gaussian", "t3", "exponential", "uniform"), "mixed": ("gaussian", "t3")}
    columns: dict[str, Any] = {}
    for j in range(N_COLUMNS):
        if kind == "binary" or kind == "grades":
            cuts = np.sort(rng.uniform(0.1, 0.9, size=1 if kind == "binary" else 1 + j % 4))
            column = np.searchsorted(cuts, rng.random(n)).astype(float)
        else:
            turn = shapes.get(kind, (kind,))
            column = noise(turn[j % len(turn)], (n,), rng)
        if kind == "mixed" and j >= N_COLUMNS // 2:
            levels = 2 + j % 3
            columns[f"x{j}"] = np.array(list("abcd"))[rng.integers(levels, size=n)]
        else:
            columns[f"x{j}"] = column * (scale[j] if units else 1.0)
    return pd.DataFrame(columns)


def false_edges(score: str, kind: str, n: int, seed: int, options: argparse.Namespace) -> table.Row:
    """Search one table, and where asked for once more in plain units."""
    torch.set_num_threads(1)
    base.EBIC_GAMMA = options.gamma
    again, short = seed < options.units, score in COSTLY or seed >= options.full
    results = []
    for units in (True, False)[: 1 + again]:
        frame = independent(kind, n, seed, units=units)
        chosen = auto.choose_score(check_table(frame)[0])[0] if score == "auto" else score
        evals = EVALS if short and chosen not in ("bic-nv", "bic-ev") else None  # these two have the order search
        results.append(DrBO(score, max_evals=evals, random_state=seed, device=options.device).fit(frame).result_)
    first = results[0]
    return {
        "score": score,
        "kind": kind,
        "n": n,
        "seed": seed,
        "chosen": chosen,
        "penalty": first.score_options["penalty"],
        "pruner": first.pruner,
        "edges": int(first.dag.sum()),
        "same_in_other_units": bool((first.cpdag == results[1].cpdag).all()) if again else "",
        "max_evals": evals or "default",
        "n_local": first.n_local,
        "seconds": round(first.seconds, 2),
        **table.stamp(options.device),
    }


def null(options: argparse.Namespace) -> None:
    """Print the false edges of every score."""
    jobs = [
        (score, kind, n, seed, options)
        for score in options.scores.split(",")
        for kind in KINDS.get(score, ("gaussian", "t3"))
        for n in map(int, options.rows.split(","))
        for seed in range(options.sets if score not in COSTLY else -(-options.sets // 2))
    ]
    print(f"EBIC gamma {options.gamma}, {N_COLUMNS} independent columns in units from 0.01 to 100\n")
    print(HEADER, flush=True)
    for _, group in groupby(_map(false_edges, jobs, options.workers), itemgetter("score", "kind", "n")):
        part = list(group)
        print(line(part), flush=True)
        if options.save:
            table.save(options.save, part, KEY)


def line(part: list[table.Row]) -> str:
    """Return the line of one score, kind of data and sample size; the rows come from a run or from a file."""
    first, edges = part[0], [int(row["edges"]) for row in part]
    same = [str(row["same_in_other_units"]) == "True" for row in part if row["same_in_other_units"] != ""]
    name = first["score"]
    if name == "auto":
        name += f" ({', '.join(sorted({row['chosen'] for row in part}))})"
    return (
        f"| {name} | {first['penalty']}, {first['pruner']} | {first['kind']} | {int(first['n']):,} | {len(part)} "
        f"| {np.mean(edges):.2f} | {max(edges)} | {sum(same)} of {len(same)} "
        f"| {'yes' if np.mean(edges) <= ALLOWED else 'NO'} |"
    )


def errors(
    graph: str, model: str, score: str, n: int, seed: int, penalty: str, pruners: tuple[str, ...]
) -> dict[str, float]:
    """Return the errors of one search by pruner: SHD, between CPDAGs for a score that cannot tell their members."""
    torch.set_num_threads(1)
    value, base.EBIC_GAMMA = PENALTIES[penalty]
    if graph == "none":
        data, truth = independent(model, n, seed, units=True).to_numpy(), np.zeros((N_COLUMNS, N_COLUMNS), dtype=bool)
    else:
        drawn = simulate(graph, model.split()[0], n=n, seed=seed)  # type: ignore[arg-type]
        data, truth = standardize(drawn.X) if model.endswith("z") else drawn.X, drawn.dag
    evals = None if score in ("bic-nv", "bic-ev") else 2 * EVALS
    options = {"penalty": value}
    found = DrBO(score, max_evals=evals, random_state=seed, prune="none", score_options=options, device="cpu").fit(data)
    distance = shd_cpdag if score == "bic-nv" else shd
    return {pruner: distance(prune(pruner, data, found.adjacency_)[0], truth) for pruner in pruners}


def choose(options: argparse.Namespace) -> None:
    """Compare penalties and pruners."""
    seeds = range(FIRST_SEED, FIRST_SEED + options.sets)
    for name, cases, penalties, pruners in (
        ("bic-nv", LINEAR, tuple(PENALTIES), ("none", "f-test")),
        ("bic-ev", EQUAL_VARIANCES, ("1", "2", "ebic 0.5"), ("none", "f-test", "odds")),
        ("gp,splines", NONLINEAR, ("1", "ebic 0.5"), ("none", "cam", "cam-sequential")),
    ):
        if not set(name.split(",")) & set(options.scores.split(",")):
            continue
        jobs = [(*case, seed, penalty, pruners) for case in cases for penalty in penalties for seed in seeds]
        rows = [
            {**dict(zip(CHOICE_KEY, (*job[:6], pruner), strict=True)), "errors": value, **table.stamp("cpu")}
            for job, found in zip(jobs, _map(errors, jobs, options.workers), strict=True)
            for pruner, value in found.items()
        ]
        print(choice_table(rows), flush=True)
        if options.save:
            table.save(options.save, rows, CHOICE_KEY)


def choice_table(rows: list[table.Row]) -> str:
    """Return mean errors by penalty and pruner."""
    columns = list(dict.fromkeys((row["penalty"], row["pruner"]) for row in rows))
    text = "| graph, model | score | rows | sets | " + " | ".join(" / ".join(column) for column in columns) + " |\n"
    text += "|" + "---|" * (4 + len(columns)) + "\n"
    cases: dict[tuple[str, ...], list[table.Row]] = {}
    for row in rows:
        cases.setdefault((row["graph"], row["model"], row["score"], row["n"]), []).append(row)
    for (graph, model, score, n), part in cases.items():
        lists = [[float(r["errors"]) for r in part if (r["penalty"], r["pruner"]) == column] for column in columns]
        means = " | ".join(f"{np.mean(values):.2f}" for values in lists)
        text += f"| {graph}, {model} | {score} | {int(n):,} | {len(lists[0])} | {means} |\n"
    return text


def called_nonlinear(model: str, graph: str, n: int, seed: int) -> bool:
    """Draw a data set and test it."""
    rng = np.random.default_rng(seed)
    nodes, degree = graph.split("ER")
    dag = random_dag(int(nodes), float(degree), rng, "er")
    if model == "gp":
        data = simulate_gp(dag, n, rng)
    elif model == "cos":
        data = simulate_cos(dag, n, rng)
    else:
        weights = linear_weights(dag, rng)
        errors = noise(model, (n, len(dag)), rng) * rng.uniform(0.5, 2, size=len(dag))
        data = errors @ np.linalg.inv(np.eye(len(dag)) - weights)
    return auto.nonlinearity(data).p_value < auto.LEVEL


def nonlinear(options: argparse.Namespace) -> None:
    """Print how often data of each kind are called nonlinear."""
    graphs, sizes = ("5ER1", "10ER2", "10ER4", "20ER4"), (100, 200, 500, 1_000)
    seeds = range(FIRST_SEED, FIRST_SEED + options.sets)
    print(f"Share of data sets called nonlinear (level {auto.LEVEL}): {len(graphs)} graphs x {options.sets} sets\n")
    print("| model | " + " | ".join(f"n = {n:,}" for n in sizes) + " |\n|" + "---|" * (1 + len(sizes)))
    for model in (*NOISES, "gp", "cos"):
        rates = []
        for n in sizes:
            jobs = [(model, graph, n, seed) for graph in graphs for seed in seeds]
            rates.append(np.mean(list(_map(called_nonlinear, jobs, options.workers))))
        name = f"linear, {model} noise" if model in NOISES else {"gp": "Gaussian process", "cos": "B cos(x) + e"}[model]
        print(f"| {name} | " + " | ".join(f"{rate:.1%}" for rate in rates) + " |", flush=True)


def _map(function: Callable[..., Any], jobs: list[tuple[Any, ...]], workers: int) -> Iterator[Any]:
    """Yield the results in the order of the jobs."""
    if workers == 1:
        yield from (function(*job) for job in jobs)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(function, *zip(*jobs, strict=True))


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--choose", action="store_true", help="errors by penalty and pruner")
    options.add_argument("--nonlinear", action="store_true", help="how often data are called nonlinear")
    options.add_argument("--sets", type=int, help="tables of each kind; default 20, with --choose 10")
    options.add_argument("--scores", default=",".join(KINDS), help="comma-separated")
    options.add_argument("--units", type=int, default=5, help="tables of each kind searched again in plain units")
    options.add_argument("--gamma", type=float, default=base.EBIC_GAMMA, help="weight of ln d in the penalty ebic")
    options.add_argument("--rows", default=",".join(map(str, ROWS)), help="sample sizes, comma-separated")
    options.add_argument("--full", type=int, default=1, help="tables of each kind with a search of default length")
    options.add_argument("--device", default="cpu")
    options.add_argument("--workers", type=int, default=1, help="runs at a time")
    options.add_argument("--save", type=Path, help="CSV file that gets the rows")
    chosen = options.parse_args(arguments)
    chosen.sets = chosen.sets or (10 if chosen.choose else 20)
    (choose if chosen.choose else nonlinear if chosen.nonlinear else null)(chosen)
