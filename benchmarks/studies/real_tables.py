"""Real tables with a known graph: what ``score="auto"`` takes, beside every numeric score of our own.

    DRBO_DATA=... python -m benchmarks real_tables

The observational rows of the light tunnel of the Causal Chamber (Gamella, Peters & Buehlmann 2024), all 10,000 of them
and samples of 1,000, and Sachs et al. (2005) as shipped with the package. ``f1`` is that of the drawn arrows: an edge
whose direction is open counts with the direction in which it is drawn, which is chance. In ``f1_half`` an open edge
between two columns that are linked counts as half an arrow that is right. ``f1_skeleton`` ignores directions. Supported
arrows are counted by their ground. ``scales``: what ``auto`` should take where no noise model fits was chosen on
simulated tables, seeds 220 and up; these real ones were looked at meanwhile.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.experiments.kinds import SCALES, simulated
from benchmarks.gran_dag import Unavailable
from benchmarks.parameters import Names, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO, Result
from drbo.choice.auto import RANKED
from drbo.choice.noise_model import model_checks
from drbo.data.files.datasets import load
from drbo.data.statistics.statistics import Statistics

Bools = npt.NDArray[np.bool_]
SCORES = ("auto", "bic-nv", "bic-ng", "bge", "splines", "splines-ranks")
SAMPLE = 1_000


def chamber() -> tuple[pd.DataFrame, Bools, pd.DataFrame]:
    """Return all rows of the light tunnel with their experiment, the graph of its columns, and the targets."""
    folder = Path(os.environ.get("DRBO_DATA", "")) / "chamber"
    if not folder.is_dir():
        raise Unavailable("the Causal Chamber is not here: set DRBO_DATA")
    rows = pd.read_parquet(folder / "light_tunnel.parquet")
    place = {name: j for j, name in enumerate(name for name in rows.columns if name != "experiment")}
    dag = np.zeros((len(place), len(place)), dtype=bool)
    for source, target in pd.read_csv(folder / "edges.csv").itertuples(index=False):
        if source in place and target in place:
            dag[place[source], place[target]] = True
    return rows, dag, pd.read_csv(folder / "targets.csv")


def light_tunnel() -> tuple[pd.DataFrame, Bools]:
    """Return the observational rows of the light tunnel, and the graph of its columns."""
    rows, dag, _ = chamber()
    rows = rows[rows["experiment"] == "observational"].drop(columns="experiment").reset_index(drop=True)
    return rows.astype(float), dag


def tables(seeds: Seeds) -> Iterator[tuple[str, int, pd.DataFrame, Bools]]:
    """Yield the name, the seed, the rows and the graph of every table."""
    sachs = load("sachs")
    yield "sachs", 0, pd.DataFrame(sachs.X, columns=list(sachs.names)), sachs.dag
    rows, dag = light_tunnel()
    yield "light tunnel", 0, rows, dag
    for seed in seeds:
        yield f"light tunnel, {SAMPLE} rows", seed, rows.sample(SAMPLE, random_state=seed), dag


def f1(found: Bools, truth: Bools) -> float:
    """Return the F1 of the edges that two graphs share."""
    return round(2 * float((found & truth).sum()) / float(found.sum() + truth.sum()), 4)


def counts(result: Result, truth: Bools) -> Row:
    """Return how the drawn arrows and the supported ones compare with the known graph."""
    opened = np.triu(result.undirected & (truth | truth.T)).sum()
    hits = (result.dag & ~result.undirected & truth).sum() + opened / 2
    row: Row = {
        "edges": int(result.dag.sum()),
        "f1": f1(result.dag, truth),
        "f1_half": round(2 * float(hits) / float(result.dag.sum() + truth.sum()), 4),
        "f1_skeleton": f1(np.triu(result.dag | result.dag.T), np.triu(truth | truth.T)),
    }
    right = truth[result.dag]
    for ground in ("class", "noise-check"):
        here = np.array([one.ground == ground for one in result.directions], dtype=bool)
        row |= {ground: int(here.sum()), f"{ground} right": int((here & right).sum())}
    return row


@study("real_tables", "table seed score", slow=True)
def run(
    seeds: Seeds = range(10),
    scores: Annotated[Names, "scores"] = SCORES,
) -> Iterator[Row]:
    """Yield a row for every table and score."""
    for name, seed, frame, truth in tables(seeds):
        for score in scores:
            start = time.process_time()
            result = DrBO(score=score, random_state=seed).fit(frame).result_
            took = {"score": score, "taken": result.score_name, "seconds": round(time.process_time() - start, 2)}
            yield {"table": name, "seed": seed, "n": len(frame), **took, **counts(result, truth)}


@study("real_halves", "half score", slow=True)
def halves(
    seeds: Seeds = range(40),
    scores: Annotated[Names, "scores"] = ("auto", "bic-nv", "bge", "splines"),
) -> Iterator[Row]:
    """Yield a row for every score on random halves of the rows of Sachs et al.: how far chance alone moves F1."""
    sachs = load("sachs")
    frame = pd.DataFrame(sachs.X, columns=list(sachs.names))
    for seed in seeds:
        half = frame.sample(len(frame) // 2, random_state=seed)
        for score in scores:
            result = DrBO(score=score, random_state=seed).fit(half).result_
            yield {
                "half": seed,
                "n": len(half),
                "score": score,
                "taken": result.score_name,
                **counts(result, sachs.dag),
            }


@study("real_scales", "kind n seed score", seeds=range(220, 221), kinds=("lognormal",), scores=("bic-nv",))
def scales(
    seeds: Seeds = range(220, 226),
    kinds: Annotated[Names, "kinds of tables"] = ("heteroscedastic", "multiplicative", "post-nonlinear", *SCALES),
    scores: Annotated[Names, "scores"] = ("bic-nv", "splines", "splines-ranks"),
) -> Iterator[Row]:
    """Yield a row for every score on simulated tables that no noise model fits on the scales of their columns."""
    for kind in kinds:
        for seed in seeds:
            values, truth = simulated(kind, SAMPLE, seed)
            *others, ranks = model_checks(Statistics.from_array(values))
            if any(check.fits for check in others if check.score not in RANKED):
                continue
            for score in scores:
                result = DrBO(score=score, random_state=seed).fit(values).result_
                row = {"kind": kind, "n": SAMPLE, "seed": seed, "score": score, "ranks_fit": ranks.fits}
                yield {**row, **counts(result, truth)}
