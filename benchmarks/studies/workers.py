"""What other processes gain where a local score is expensive, and what the seam to them costs where it is cheap.

    python -m benchmarks workers                       seconds of a search with Gaussian processes
    python -m benchmarks workers --instructions        instructions of linear scores with and without an executor
    python -m benchmarks workers --report              the figures in docs/scaling-out.md, from the committed rows

Seconds: the same search in this process, with pools of one and two processes, and with Dask clusters of one and two
workers; all with one thread each, so that a second worker is a second core. Processes are started before the clock is.

Instructions are counted by valgrind (callgrind) in three processes: one that only sets up, one that scores the families
of many batches of DAGs with the evaluator, and one that does the same with an executor at hand. What is counted is the
evaluator from the DAGs to the scores, not the search around it, in which the seam has a smaller share still.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from benchmarks import rows as table
from drbo import DrBO, WorkerPool
from drbo.data.simulate import simulate
from drbo.data.table import Table
from drbo.scores.linear import BicNV
from drbo.search.evaluation import remote as seam
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.evaluation.remote import compute
from drbo.settings import Settings

PLACES = ("home", "pool 1", "pool 2", "dask 1", "dask 2")
#: Batches of DAGs, DAGs in one, and columns: the default batch of a search with 20 variables.
BATCHES, DAGS, NODES = 30, 64, 20
#: The graph of the timed search: as many nodes as leave each round work for several processes.
GRAPH = "20ER2"
#: Valgrind is at most so much slower than the machine, a busy one included.
VALGRIND = 500


@contextmanager
def place(name: str) -> Iterator[Executor | None]:
    """Yield an executor whose processes are up, with everything imported."""
    kind, _, count = name.partition(" ")
    if kind == "home":
        yield None
    elif kind == "pool":
        with WorkerPool(int(count)) as pool:
            _warm(pool, int(count))
            yield pool
    else:
        import distributed

        cluster = distributed.LocalCluster(int(count), threads_per_worker=1, dashboard_address=None)
        with cluster, distributed.Client(cluster, set_as_default=False) as client:
            executor = client.get_executor(pure=False)
            _warm(executor, int(count))
            yield executor


def _warm(executor: Executor, count: int) -> None:
    for future in [executor.submit(compute, "", None, [], 1) for _ in range(4 * count)]:
        future.result()


def timed(name: str, n_rows: int, evals: int, batch: int = 8) -> table.Row:
    """Time one search; return its row."""
    x = simulate(GRAPH, model="gp", n=n_rows, seed=100).X
    with place(name) as executor:
        start = time.perf_counter()
        settings = Settings(max_evals=evals, batch_size=batch)
        result = DrBO(score="gp", settings=settings, random_state=0, executor=executor).fit(x).result_
        seconds = time.perf_counter() - start
    return {
        "where": name,
        "graph": GRAPH,
        "n": n_rows,
        "batch": batch,
        "n_local": result.n_local,
        "seconds": round(seconds, 2),
        "score": result.score,
    }


def child(kind: str) -> None:
    """Do what is counted; valgrind makes everything slower, so what counts as cheap is scaled with it."""
    for limit in ("LEAST_SECONDS", "MOST_SECONDS", "PROBE_SECONDS"):
        setattr(seam, limit, VALGRIND * getattr(seam, limit))
    rng = np.random.default_rng(0)
    score = BicNV(Table.from_array(rng.normal(size=(200, NODES))))
    batches = np.triu(rng.random((BATCHES, DAGS, NODES, NODES)) < 0.2, 1)
    with ThreadPoolExecutor(1) as executor:
        evaluator = Evaluator(score, Settings(max_evals=10**6), executor if kind == "seam" else None)
        for dags in batches if kind != "nothing" else []:
            evaluator.evaluate(dags)


def instructions(kind: str) -> int:
    """Return the instructions of a child."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-m", "benchmarks"]
    environment = os.environ | {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "workers", "--child", kind], capture_output=True, text=True, check=True, env=environment
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found is not None, done.stderr[-2000:]
    return int(found[1])


def overhead() -> table.Row:
    """Count with and without the seam; return the row."""
    counts = {kind: instructions(kind) for kind in ("nothing", "home", "seam")}
    work, more = counts["home"] - counts["nothing"], counts["seam"] - counts["home"]
    shown = {"instructions_home": work, "instructions_seam": more, "overhead": round(more / work, 5)}
    return {"where": "seam", "n": 200, "batches": BATCHES, "dags": DAGS, "nodes": NODES, **shown}


def report(found: list[table.Row]) -> str:
    """Return the figures in words."""
    lines = ["| where | seconds | times as quick |", "|---|---|---|"]
    words = {"home": "in the process", "pool": "`WorkerPool({})`", "dask": "Dask, {} worker(s)"}
    timed_rows = {row["where"]: row for row in found if row["where"] != "seam"}
    for name in PLACES:
        if row := timed_rows.get(name):
            kind, _, count = name.partition(" ")
            lines.append(f"| {words[kind].format(count)} | {row['seconds']} | {row['speedup']} |")
    first = next(iter(timed_rows.values()))
    head = f"A search with `gp` on {first['n']} rows of {first['graph']}, {first['n_local']} local scores, "
    head += f"{first['machine']}, `batch_size={first['batch']}`:"
    counted = next((row for row in found if row["where"] == "seam"), None)
    tail = ""
    if counted is not None:
        share, what = 100 * float(counted["overhead"]), f"{counted['batches']} batches of {counted['dags']} DAGs"
        tail = (
            f"\nWhere scores are cheap, an executor costs {share:.2f}% more instructions, counted by callgrind over "
            f"the evaluation of {what} with {counted['nodes']} nodes (`bic-nv`), the search around it left out.\n"
        )
    return "\n".join([head, "", *lines, ""]) + tail


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instructions", action="store_true", help="count instructions in place of seconds")
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--evals", type=int, default=150)
    parser.add_argument("--batch", type=int, default=64, help="graphs that are proposed at a time")
    parser.add_argument("--places", default=",".join(PLACES))
    parser.add_argument("--report", action="store_true", help="write the figures into docs/scaling-out.md")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--save", type=Path, help="CSV file that gets the rows")
    options = parser.parse_args(arguments)
    if options.report:
        page = Path(__file__).parents[2] / "docs" / "scaling-out.md"
        table.fill(page, "workers", report(table.load(table.FOLDER / "workers.csv")))
        return
    torch.set_num_threads(1)
    if options.child:
        child(options.child)
        return
    found = [overhead()] if options.instructions else []
    if not options.instructions:
        timed("home", 100, options.evals)  # the work of the compiler is no part of it
    for name in [] if options.instructions else options.places.split(","):
        found.append(timed(name, options.rows, options.evals, options.batch))
        found[-1]["speedup"] = round(found[0]["seconds"] / found[-1]["seconds"], 2)
        print(found[-1], flush=True)
    assert len({row.get("score") for row in found}) == 1, "another place, another answer"
    if options.instructions:
        print(found[0])
    if options.save:
        table.save(options.save, [{**row, **table.stamp("cpu")} for row in found], ("where", "n", "batch"))
