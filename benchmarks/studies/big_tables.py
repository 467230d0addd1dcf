"""Tables with many rows: what one pass over a file costs, and whether graphs fill up as rows are added.

    python -m benchmarks big_tables --duckdb-python ../duck/bin/python
    python -m benchmarks big_tables --part strength --seeds 0-4
    python -m benchmarks big_tables --part answers

``passes``: 100 columns of float32 in a Parquet file, not compressed, by drbo (one pass, and a whole fit) and by the
covariance of other programs on the same file, each in a process of its own with one thread; ``seconds`` are those of a
machine that may have other work. ``strength``: ten columns, each the sum of curved effects
(a line and a parabola) of its causes and noise, and the linear graph of the first rows of the same stream of rows, with
the default and without a least strength of edges. ``answers``: such columns as they are, with missing cells, with three
of them cut into categories, or all of them, fitted in memory and piece by piece (one process, CPU seconds of each).
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np

import drbo
from benchmarks.covariance_jobs import METHODS
from benchmarks.gran_dag import Unavailable
from benchmarks.parameters import Names, Numbers, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO
from drbo.data.statistics.sums import Sums, summed

ROOT = Path(__file__).parents[2]
N_COLUMNS, PIECE = 100, 100_000
BENT_COLUMNS, PARENTS, BEND = 10, 2.0, 0.3


def write_table(path: Path, n_rows: int, n_columns: int = N_COLUMNS) -> None:
    """Write columns with means of 10 and a linear graph of two edges a column, in row groups of 100,000 rows."""
    import pyarrow
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    joined = np.triu(rng.random((n_columns, n_columns)) < 4 / max(1, n_columns - 1), 1)
    weights = joined * rng.uniform(0.3, 0.8, joined.shape) * rng.choice([-1, 1], joined.shape)
    mix = np.linalg.inv(np.eye(n_columns) - weights)
    mix = (mix / np.linalg.norm(mix, axis=0)).astype(np.float32)
    names = [f"x{j}" for j in range(n_columns)]
    writer = None
    for start in range(0, n_rows, PIECE):
        rows = rng.standard_normal((min(PIECE, n_rows - start), n_columns), dtype=np.float32) @ mix + np.float32(10)
        table = pyarrow.table({name: np.ascontiguousarray(rows[:, j]) for j, name in enumerate(names)})
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="none", use_dictionary=False)
        writer.write_table(table)
    assert writer is not None
    writer.close()


@study("big_passes", "rows columns method", rows=(2_000,), columns=5, methods=("drbo", "numpy sums"))
def passes(
    rows: Annotated[Numbers, "rows of the file"] = (500_000,),
    columns: Annotated[int, "columns of the file"] = N_COLUMNS,
    methods: Annotated[Names, "programs"] = tuple(METHODS),
    duckdb_python: Annotated[str, "an interpreter that has DuckDB"] = sys.executable,
    keep: Annotated[str, "a folder in which tables are kept for the next run"] = "",
) -> Iterator[Row]:
    """Yield CPU time and memory of every program."""
    source = Path(drbo.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        for count in rows:
            path = Path(keep or folder) / f"{count}x{columns}.parquet"
            if not path.exists():
                write_table(path, count, columns)
            for method in methods:
                python = duckdb_python if method == "duckdb" else sys.executable
                command = [python, str(ROOT / "benchmarks" / "covariance_jobs.py"), method, str(path)]
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise Unavailable(f"{method}: {done.stderr.strip().splitlines()[-1:]}")
                found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
                yield {
                    "rows": count,
                    "columns": columns,
                    "method": method,
                    "megabytes": round(path.stat().st_size / 1e6),
                    "cpu_seconds": round(found["cpu_seconds"], 2),
                    "seconds": round(found["seconds"], 2),
                    "gib": round(found["gib"], 2),
                    "trace": repr(found["trace"]),
                }


def bent(weights: np.ndarray, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows (n, d) of columns that are lines and parabolas of their causes, and noise."""
    x = rng.normal(size=(n_rows, len(weights)))
    for j in range(len(weights)):
        causes = np.flatnonzero(weights[:, j])
        slopes = weights[causes, j]
        x[:, j] += x[:, causes] @ slopes + BEND * (x[:, causes] ** 2 - 1) @ np.abs(slopes)
        x[:, j] /= np.sqrt(1 + np.square(slopes).sum())
    return x


@study("big_strength", "rows seed", rows=(1_000, 2_000), seeds=range(1))
def strength(
    rows: Annotated[Numbers, "rows at which a graph is learned"] = (10**4, 10**5, 10**6, 10**7),
    seeds: Seeds = range(5),
) -> Iterator[Row]:
    """Yield the numbers of edges as rows are added."""
    names = [f"x{j}" for j in range(BENT_COLUMNS)]
    for seed in seeds:
        rng = np.random.default_rng(seed)
        joined = np.triu(rng.random((BENT_COLUMNS,) * 2) < 2 * PARENTS / (BENT_COLUMNS - 1), 1)
        weights = joined * rng.uniform(0.5, 1.5, joined.shape) * rng.choice([-1, 1], joined.shape)
        total: Sums | None = None
        for count in sorted(rows):
            while total is None or total.n < count:
                more = min(PIECE, count - (0 if total is None else total.n))
                part = summed(names, [bent(weights, more, rng)])
                total = part if total is None else total.joined(part)
            found = {}
            for name, options in (("edges", {}), ("edges_without", {"min_strength": 0.0})):
                model = DrBO(score="bic-nv", score_options=options, random_state=seed).fit(total)
                found[name] = int(model.adjacency_.sum())
            yield {"rows": count, "seed": seed, "true_edges": int(joined.sum()), **found}


#: Kinds of tables, with the options of a fit: all columns are numbers, or the first three, or all are cut into levels.
KINDS: dict[str, tuple[int, list[str]]] = {
    "linear": (0, ["--score", "bic-nv"]),
    "missing cells": (0, ["--score", "bic-nv", "--missing", "em"]),
    "splines": (0, ["--score", "splines"]),
    "mixed": (3, ["--score", "mixed"]),
    "categories": (BENT_COLUMNS, ["--score", "bdeu"]),
}
MISSING_SHARE = 0.01


@study("big_answers", "kind rows seed", rows=(1_000,), seeds=range(1), kinds=("linear", "mixed"))
def answers(
    rows: Annotated[Numbers, "rows of a table"] = (600_000,),
    kinds: Annotated[Names, "kinds of tables"] = tuple(KINDS),
    seeds: Seeds = range(2),
) -> Iterator[Row]:
    """Yield how far the answer of a table that is read piece by piece is from that in memory."""
    import pandas as pd
    from click.testing import CliRunner

    from drbo.cli import main

    for seed in seeds:
        rng = np.random.default_rng(100 + seed)
        joined = np.triu(rng.random((BENT_COLUMNS,) * 2) < 2 * PARENTS / (BENT_COLUMNS - 1), 1)
        weights = joined * rng.uniform(0.5, 1.5, joined.shape) * rng.choice([-1, 1], joined.shape)
        for count in rows:
            x = pd.DataFrame(bent(weights, count, rng)).add_prefix("x")
            for kind in kinds:
                n_cut, options = KINDS[kind]
                cut = {name: pd.cut(x[name], [-np.inf, -0.5, 0.5, np.inf], labels=["low", "mid", "high"])
                       for name in x.columns[:n_cut]}  # fmt: skip
                table = x.assign(**{name: column.astype(str) for name, column in cut.items()})
                if kind == "missing cells":
                    table = table.mask(np.random.default_rng(seed).random(table.shape) < MISSING_SHARE)
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "table.parquet"
                    table.to_parquet(path, row_group_size=PIECE)
                    found = []
                    for number, more in enumerate(([], ["--read", "stream=true"])):
                        began, where = time.process_time(), str(Path(folder) / f"{number}")
                        asked = ["fit", str(path), "-q", "-o", where, "--set", "max_memory=64", *options, *more]
                        CliRunner().invoke(main, asked)
                        found.append((drbo.load(where), time.process_time() - began))
                (memory, before), (stream, after) = found
                yield {
                    "kind": kind, "rows": count, "seed": seed, "edges": int(memory.dag.sum()),
                    "difference": f"{abs(stream.score - memory.score) / abs(memory.score):.1e}",
                    "same_class": bool((stream.cpdag == memory.cpdag).all()),
                    "same_dag": bool((stream.dag == memory.dag).all()),
                    "cpu_memory": round(before, 2), "cpu_stream": round(after, 2),
                }  # fmt: skip
