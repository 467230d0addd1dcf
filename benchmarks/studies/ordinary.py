"""Ordinary tables: grades, counts, costs and groups, by ``score="auto"``, by each score, and by FLOP and BOSS.

    python -m benchmarks ordinary --flop-python ../flop/bin/python

Tables have 10 or 25 columns with 1 to 1.5 parents on average, drawn by the mechanisms of
benchmarks/experiments/field_kinds.py and three more: counts without further zeros, columns with a floor (all values
below a quantile of a linear column are that quantile), and numbers and groups with random functions between them.
``categories`` reads every number with at most ten values as a label. FLOP and BOSS get the numbers, or the normal
scores of their ranks. ``f1`` is that of the links, whatever their direction, ``shd_c`` the SHD between the CPDAGs. Fits
have no claims, which change no graph here. Seeds from 0 on are for reports and those from 100 on for choices.
"""

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.experiments.field_kinds import (
    FIELD_KINDS,
    by,
    gaussian,
    grown,
    sparse_dag,
    units,
    weights,
)
from benchmarks.experiments.kinds import random_function
from benchmarks.gran_dag import Unavailable
from benchmarks.parameters import Names, Numbers, Seeds
from benchmarks.rows import Row
from benchmarks.studies.columns import RECOMMENDED, flop
from benchmarks.studies.study import Cell, study
from drbo import DrBO
from drbo.arrays import Bools, Floats
from drbo.data.statistics.statistics import Statistics
from drbo.errors import DrboError
from drbo.graph.dag import dag_to_cpdag, topological_order
from drbo.graph.metrics import compare
from drbo.settings import Settings

#: Share of the values of a column that lie on its floor.
FLOOR = (0.15, 0.5)
CATEGORIES = 0.4
#: Numbers with at most so many values can be read as labels.
MOST_LEVELS = 10
RESTARTS = 20
FLOP, BOSS = "FLOP", "BOSS"
METHODS = ("auto", "bic-nv", "bic-ranks", "splines", "splines-ranks", "mixed", "categories", *(
    f"{name}, {scale}" for name in (FLOP, BOSS) for scale in ("numbers", "ranks")
))  # fmt: skip
#: BOSS of causal-learn takes minutes with more columns.
MOST_OF_BOSS = 10


def poisson(parents: Floats, rng: np.random.Generator) -> Floats:
    """Counts with a log link of the logs of the parents."""
    rate = np.exp(
        rng.uniform(0.3, 1.5) + units(np.asarray(np.log1p(parents))) @ weights(parents.shape[1], 0.3, 0.7, rng)
    )
    return np.asarray(rng.poisson(np.minimum(rate, 500.0)), dtype=np.float64)


def floored(dag: Bools, n: int, rng: np.random.Generator) -> Floats:
    """Linear columns; in every second one small values are not told apart."""
    values = grown(dag, n, rng, gaussian)
    for node in rng.choice(len(dag), len(dag) // 2, replace=False):
        values[:, node] = np.maximum(values[:, node], np.quantile(values[:, node], rng.uniform(*FLOOR)))
    return values.T


def groups_and_curves(dag: Bools, n: int, rng: np.random.Generator) -> list[npt.NDArray[np.generic]]:
    """Numbers and groups; random functions of numbers, a shift for each group, and Gaussian or logistic noise."""
    d, seen, columns = len(dag), dict[int, Floats](), dict[int, npt.NDArray[np.generic]]()
    grouped = np.isin(np.arange(d), rng.choice(d, round(CATEGORIES * d), replace=False))
    for node in topological_order(dag).tolist():
        width = 3 if grouped[node] else 1
        signal = np.zeros((n, width))
        for parent in np.flatnonzero(dag[:, node]).tolist():
            shown = seen[parent]
            for k in range(width):
                shift = shown @ weights(shown.shape[1], 0.7, 1.5, rng)
                signal[:, k] += shift if grouped[parent] else 1.2 * random_function(shown, rng)
        if grouped[node]:
            level = np.argmax(signal + rng.gumbel(size=(n, width)), axis=1)
            seen[node], columns[node] = np.eye(width)[level], np.array(list("abc"), dtype=object)[level]
        else:
            columns[node] = signal[:, 0] + rng.uniform(0.4, 0.9) * rng.normal(size=n)
            seen[node] = units(columns[node][:, None])
    return [columns[node] for node in range(d)]


#: New kinds go to the end, because the place is part of the seed.
KINDS: dict[str, Callable[[Bools, int, np.random.Generator], Any]] = {
    "ordinal": FIELD_KINDS["ordinal"],
    "counts": by(poisson),
    "zero-inflated counts": FIELD_KINDS["zero-inflated counts"],
    "gamma": FIELD_KINDS["gamma"],
    "log-normal": FIELD_KINDS["log-normal"],
    "floor": floored,
    "groups": FIELD_KINDS["multinomial logit"],
    "groups and curves": groups_and_curves,
}


def drawn(kind: str, d: int, n: int, seed: int) -> tuple[pd.DataFrame, Bools]:
    """Return a table of one kind, and its graph."""
    rng = np.random.default_rng([list(KINDS).index(kind), d, n, seed])
    dag = sparse_dag(d, rng)
    values = KINDS[kind](dag, n, rng)
    return pd.DataFrame({f"x{j}": values[j] for j in range(d)}), dag


def as_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns of few values are labels."""
    few = [name for name in frame if frame[name].nunique() <= MOST_LEVELS]
    return frame.assign(**{str(name): frame[name].map("level {:g}".format) for name in few})


def in_numbers(frame: pd.DataFrame, scale: str) -> Floats:
    """Return a table as numbers, or as the normal scores of their ranks."""
    values = frame.to_numpy(dtype=np.float64)
    return values if scale == "numbers" else Statistics.from_array(values).ranks.values


@study("ordinary", "kind columns n seed method", kinds=("ordinal",), columns=(10,), rows=(300,), seeds=range(100, 101),
       methods=("auto", "bic-nv"))  # fmt: skip
def run(
    kinds: Annotated[Names, "kinds of tables"] = tuple(KINDS),
    columns: Annotated[Numbers, "columns of the tables"] = (10, 25),
    rows: Annotated[Numbers, "rows of the tables"] = (300, 2_000),
    seeds: Seeds = range(3),
    methods: Annotated[Names, "scores and rivals, which must be separated by semicolons in a shell"] = METHODS,
    flop_python: Annotated[str, "an interpreter that has flopsearch; none: without it"] = "",
) -> Iterator[Cell]:
    """Yield a row for every table and method."""
    for seed in seeds:
        for kind in kinds:
            for d in columns:
                for n in rows:
                    for method in methods:
                        key = {"kind": kind, "columns": d, "n": n, "seed": seed, "method": method}
                        if _has_a_row(kind, d, method, flop_python):
                            yield Cell(key, partial(_measured, kind, d, n, seed, method, flop_python))


def _has_a_row(kind: str, d: int, method: str, flop_python: str) -> bool:
    """Return whether a method takes such tables."""
    has_labels, has_codes = kind.startswith("groups"), kind in ("ordinal", "counts", "zero-inflated counts")
    name = method.partition(",")[0]
    if name in (FLOP, BOSS):
        return not has_labels and (bool(flop_python) if name == FLOP else d <= MOST_OF_BOSS)
    if method == "categories":
        return has_codes
    return method == "auto" or (method == "mixed") == has_labels


def _measured(kind: str, d: int, n: int, seed: int, method: str, flop_python: str) -> Row:
    frame, truth = drawn(kind, d, n, seed)
    start, spent, name = time.process_time(), 0.0, method
    if method.startswith(FLOP):
        found, spent = _flop(in_numbers(frame, method.partition(", ")[2]), flop_python)
    elif method.startswith(BOSS):
        found = _boss(in_numbers(frame, method.partition(", ")[2]), seed)
    else:
        score, table = ("auto", as_categories(frame)) if method == "categories" else (method, frame)
        try:
            result = DrBO(score=score, random_state=seed, settings=Settings(claims=False)).fit(table).result_
        except DrboError as error:
            return {"failed": str(error)[:80]}
        name, found = result.score_name, result.cpdag if result.score_equivalent else dag_to_cpdag(result.dag)
    figures = compare(found, truth)
    links = figures.adjacency_precision + figures.adjacency_recall
    return {
        "score_name": name,
        "f1": round(2 * figures.adjacency_precision * figures.adjacency_recall / links, 4) if links else 0.0,
        "shd_c": figures.shd_c,
        "edges": figures.n_learned,
        "true_edges": figures.n_true,
        "cpu_seconds": round(spent or time.process_time() - start, 2),
    }


def _flop(values: Floats, python: str) -> tuple[Bools, float]:
    """Return the CPDAG of FLOP, and its CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npy"
        np.save(path, values)
        answer = flop(python, path, RECOMMENDED, RESTARTS)
    if isinstance(answer, str):
        raise Unavailable(f"FLOP: {answer}")
    return np.asarray(answer[0], dtype=np.bool_), answer[1]


def _boss(values: Floats, seed: int) -> Bools:
    """Return the CPDAG of BOSS as causal-learn ships it, with its default penalty."""
    from causallearn.search.PermutationBased.BOSS import boss

    random.seed(seed)  # of the order in which columns are moved
    return np.asarray(boss(values, "local_score_BIC_from_cov", verbose=False).graph == -1)
