"""Independent columns must give no edges, whatever their units; and how the default penalty was chosen.

    python -m benchmarks false_edges --seeds 0-19
    python -m benchmarks false_edges --scores auto --columns 10,50,200 --seeds 0-9
    python -m benchmarks false_edges --part choose
    python -m benchmarks false_edges --part nonlinear

``null``: 20 independent columns, each in units drawn from 0.01 to 100, searched with the default preset, its
penalty and its pruning. The first sets are searched again in plain units: the graph must be the same. ``gp`` gets half
the sets and 100 evaluations, which are enough to try every single edge five times over; its 1,000 rows are work for a
GPU (``--device cuda``).
``choose``: SHD (``bic-nv``: between CPDAGs) with other penalties and pruners, on data sets 100, 101, ... of
``drbo.data.simulate.simulate`` and on independent columns. ``nonlinear``: what ``score="auto"`` takes
for linear and nonlinear data.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch

from benchmarks.parameters import Device, Names, Numbers, Seeds, Workers
from benchmarks.rows import Row
from benchmarks.studies.study import in_parallel, study
from drbo import DrBO
from drbo.choice.auto import choose_score
from drbo.claims.answer.prune import prune
from drbo.data.checks.check import check_table
from drbo.data.files.simulate import linear_weights, random_dag, simulate, simulate_cos, simulate_gp, standardize
from drbo.data.statistics.statistics import Statistics
from drbo.graph.metrics import shd, shd_cpdag

N_COLUMNS = 20
ROWS = (100, 1_000)
NUMBERS = ("gaussian", "t3", "shapes")
#: Which data each score is tested on; auto gets all.
KINDS = {
    "auto": (*NUMBERS, "binary", "grades", "mixed"),
    "bic-nv": NUMBERS,
    "bic-ranks": (*NUMBERS, "grades"),
    "bic-ng": NUMBERS,
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

CHOICE_KEY = "graph model score n seed penalty pruner"
PENALTIES: dict[str, tuple[Any, float]] = {
    "1": (1.0, 0.0),
    "2": (2.0, 0.0),
    "ebic 0.5": ("ebic", 0.5),
    "ebic 0.75": ("ebic", 0.75),
}
#: What is compared to choose the penalty and the pruner of a score: graph, model and rows; penalties; pruners.
#: "linear z" has standardised columns, the graph "none" independent ones.
CHOICES: dict[str, tuple[tuple[tuple[str, str, int], ...], Names, Names]] = {
    "bic-nv": (
        (
            *((graph, model, n) for graph, model in (("20ER2", "linear z"), ("20ER4", "linear")) for n in (200, 1_000)),
            *(("none", kind, n) for kind in ("gaussian", "t3") for n in ROWS),
            *(("30ER2", "linear z", n) for n in (30, 45, 60, 90)),  # about as many rows as columns
        ),
        tuple(PENALTIES),
        ("none", "f-test"),
    ),
    "bic-ev": (
        (
            *((graph, "linear", n) for graph in ("20ER2", "20ER4") for n in (200, 1_000)),
            ("30ER8", "linear", 1_000),
            *(("none", kind, 100) for kind in ("gaussian", "t3")),
            *((graph, "linear", n) for graph, n in (("50ER1", 40), ("50ER1", 80), ("20ER4", 30))),
        ),
        ("1", "2", "ebic 0.5"),
        ("none", "f-test", "odds"),
    ),
    "gp": (
        (("6ER1.5", "gp", 200), ("6ER1.5", "cos", 200)),
        ("1", "ebic 0.5"),
        ("none", "cam", "cam-sequential"),
    ),
    "splines": (
        (("10ER2", "gp", 500), ("10ER2", "cos", 200)),
        ("1", "ebic 0.5"),
        ("none", "cam", "cam-sequential"),
    ),
}
#: Models whose linearity is tested.
MODELS = ("gaussian", "t3", "exponential", "gumbel", "laplace", "uniform", "lognormal", "gp", "cos")


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


def independent(kind: str, n: int, seed: int, *, units: bool, d: int = N_COLUMNS) -> pd.DataFrame:
    """Return independent columns; numbers are in units from 0.01 to 100, or plain."""
    rng = np.random.default_rng([seed, n, ["gaussian", "t3", "shapes", "binary", "grades", "mixed"].index(kind)])
    scale = 10 ** rng.uniform(-2, 2, size=d)
    shapes = {"shapes": ("gaussian", "t3", "exponential", "uniform"), "mixed": ("gaussian", "t3")}
    columns: dict[str, Any] = {}
    for j in range(d):
        if kind == "binary" or kind == "grades":
            cuts = np.sort(rng.uniform(0.1, 0.9, size=1 if kind == "binary" else 1 + j % 4))
            column = np.searchsorted(cuts, rng.random(n)).astype(float)
        else:
            turn = shapes.get(kind, (kind,))
            column = noise(turn[j % len(turn)], (n,), rng)
        if kind == "mixed" and j >= d // 2:
            levels = 2 + j % 3
            columns[f"x{j}"] = np.array(list("abcd"))[rng.integers(levels, size=n)]
        else:
            columns[f"x{j}"] = column * (scale[j] if units else 1.0)
    return pd.DataFrame(columns)


def false_edges(score: str, kind: str, n: int, d: int, seed: int, again: bool, device: str) -> Row:
    """Search one table, and where asked for ``again`` in plain units."""
    torch.set_num_threads(1)
    results = []
    for units in (True, False)[: 1 + again]:
        frame = independent(kind, n, seed, units=units, d=d)
        chosen = choose_score(check_table(frame)[0]).name if score == "auto" else score
        evals = EVALS if chosen in COSTLY else None  # all others have the order search
        model = DrBO(score=score, max_evals=evals, random_state=seed, device=device, exact=False)
        results.append(model.fit(frame).result_)
    first = results[0]
    options = first.scoring.options
    return {
        "score": score,
        "kind": kind,
        "n": n,
        "d": d,
        "seed": seed,
        "chosen": chosen,
        "penalty": f"{options['penalty']} {options['gamma']:g}" if "gamma" in options else options["penalty"],
        "pruner": first.pruner,
        "edges": int(first.dag.sum()),
        "same_in_other_units": bool((first.cpdag == results[1].cpdag).all()) if again else "",
        "max_evals": evals or "default",
        "n_local": first.n_local,
        "seconds": round(first.seconds, 2),
    }


@study("null", "score kind n d seed", scores=("bdeu",), rows=(100,), seeds=range(1), units=0)
def null(
    scores: Annotated[Names, "scores"] = tuple(KINDS),
    rows: Annotated[Numbers, "sample sizes"] = ROWS,
    columns: Annotated[Numbers, "numbers of columns"] = (N_COLUMNS,),
    seeds: Seeds = range(20),
    units: Annotated[int, "tables of each kind searched again in plain units"] = 5,
    device: Device = "cpu",
    workers: Workers = 1,
) -> Iterator[Row]:
    """Yield the false edges of every score."""
    jobs = [
        (score, kind, n, d, seed, seed < units, device)
        for score in scores
        for kind in KINDS.get(score, ("gaussian", "t3"))
        for n in rows
        for d in columns
        for seed in (seeds if score not in COSTLY else seeds[: -(-len(seeds) // 2)])
    ]
    yield from in_parallel(false_edges, jobs, workers)


def errors(
    graph: str, kind: str, score: str, n: int, seed: int, penalty: str, pruners: tuple[str, ...]
) -> dict[str, float]:
    """Return the errors of one search by pruner: SHD, between CPDAGs for a score that cannot tell their members."""
    torch.set_num_threads(1)
    value, gamma = PENALTIES[penalty]
    if graph == "none":
        data, truth = independent(kind, n, seed, units=True).to_numpy(), np.zeros((N_COLUMNS, N_COLUMNS), dtype=bool)
    else:
        drawn = simulate(graph, kind.split()[0], n=n, seed=seed)  # type: ignore[arg-type]
        data, truth = standardize(drawn.X) if kind.endswith("z") else drawn.X, drawn.dag
    evals = None if score in ("bic-nv", "bic-ev") else 2 * EVALS
    options = {"penalty": value, "gamma": gamma}
    model = DrBO(score=score, max_evals=evals, random_state=seed, prune="none", score_options=options, device="cpu")
    found = model.fit(data).adjacency_
    distance = shd_cpdag if score == "bic-nv" else shd
    return {pruner: distance(prune(pruner, data, found)[0], truth) for pruner in pruners}


@study("null_choice", CHOICE_KEY, scores=("splines",), seeds=range(100, 101))
def choose(
    scores: Annotated[Names, "bic-nv, bic-ev, gp, splines"] = tuple(CHOICES),
    seeds: Seeds = range(100, 110),
    workers: Workers = 1,
) -> Iterator[Row]:
    """Compare penalties and pruners."""
    for score in scores:
        cases, penalties, pruners = CHOICES[score]
        jobs = [
            (graph, model, score, n, seed, penalty, pruners)
            for graph, model, n in cases
            for penalty in penalties
            for seed in seeds
        ]
        for job, found in zip(jobs, in_parallel(errors, jobs, workers), strict=True):
            for pruner, value in found.items():
                yield {**dict(zip(CHOICE_KEY.split(), (*job[:6], pruner), strict=True)), "errors": value}


def chosen_for(model: str, graph: str, n: int, seed: int) -> str:
    """Draw a data set; return the score that is taken for it, or none where no noise model fits."""
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
    chosen = choose_score(Statistics.from_array(data))
    return chosen.name if chosen.noise_fits else "none"


@study("nonlinear", "model n", seeds=range(100, 101), models=("t3", "cos"), rows=(100,))
def nonlinear(
    seeds: Seeds = range(100, 120),
    models: Annotated[Names, "noises of linear models, gp, cos"] = MODELS,
    graphs: Annotated[Names, "random graphs"] = ("5ER1", "10ER2", "10ER4", "20ER4"),
    rows: Annotated[Numbers, "sample sizes"] = (100, 200, 500, 1_000),
    workers: Workers = 1,
) -> Iterator[Row]:
    """Yield how often each score is taken for data of each kind."""
    for model in models:
        for n in rows:
            jobs = [(model, graph, n, seed) for graph in graphs for seed in seeds]
            found = list(in_parallel(chosen_for, jobs, workers))
            shares = {name: round(found.count(name) / len(jobs), 4) for name in ("bic-nv", "bic-ng", "none")}
            bent = round((found.count("splines") + found.count("gp")) / len(jobs), 4)
            yield {"model": model, "n": n, "sets": len(jobs), **shares, "nonlinear": bent}
