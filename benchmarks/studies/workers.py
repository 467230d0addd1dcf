"""What other processes gain where a local score is expensive, and what an executor costs where it is cheap.

    python -m benchmarks workers                            seconds of a search with Gaussian processes
    python -m benchmarks workers --part instructions        instructions of linear scores with and without an executor
    python -m benchmarks workers --part waiting             seconds of a search whose score waits for something else
    python -m benchmarks workers --part waiting --uneven    families of very different cost; also --in-turn

Seconds: the same search in this process, with pools of one and two processes, and with Dask clusters of one and two
workers; all with one thread each, so that a second worker is a second core. Processes are started before the clock is.

Instructions are counted by valgrind (callgrind) in three processes: one that only sets up, one that scores the families
of many batches of DAGs with the evaluator, and one that does the same with an executor at hand. What is counted is the
evaluator from the DAGs to the scores, not the search around it, in which the seam has a smaller share still.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Annotated

import numpy as np
import torch

from benchmarks.gran_dag import Unavailable
from benchmarks.parameters import Names, Numbers, SampleSize
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.scores.families import Families
from drbo.scores.linear import BicNV, Floats
from drbo.search.evaluation import remote as seam
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.evaluation.remote import compute
from drbo.search.evaluation.workers import WorkerPool
from drbo.search.loop import ProposalSearch
from drbo.search.strategy import new_search
from drbo.settings import Settings

KEY = "where graph n batch wait"
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

        cluster = distributed.LocalCluster(n_workers=int(count), threads_per_worker=1, dashboard_address=None)
        with cluster, distributed.Client(cluster, set_as_default=False) as client:
            executor = client.get_executor(pure=False)
            _warm(executor, int(count))
            yield executor


def _warm(executor: Executor, count: int) -> None:
    for future in [executor.submit(compute, "", None, [], 1) for _ in range(4 * count)]:
        future.result()


def timed(name: str, n_rows: int, evals: int, batch: int = 8) -> Row:
    """Time one search; return its row."""
    x = simulate(GRAPH, model="gp", n=n_rows, seed=100).X
    with place(name) as executor:
        start = time.perf_counter()
        settings = Settings(max_evals=evals).with_(batch_size=batch)
        result = DrBO(score="gp", settings=settings, random_state=0, executor=executor).fit(x).result_
        seconds = time.perf_counter() - start
    return {
        "where": name,
        "graph": GRAPH,
        "n": n_rows,
        "batch": batch,
        "wait": "",
        "n_local": result.n_local,
        "seconds": round(seconds, 2),
        "score": result.score,
    }


def child(kind: str) -> None:
    """Do what is counted; valgrind makes everything slower, so what counts as cheap is scaled with it."""
    for limit in ("LEAST_SECONDS", "MOST_SECONDS", "PROBE_SECONDS"):
        setattr(seam, limit, VALGRIND * getattr(seam, limit))
    rng = np.random.default_rng(0)
    score = BicNV(Statistics.from_array(rng.normal(size=(200, NODES))))
    batches = np.triu(rng.random((BATCHES, DAGS, NODES, NODES)) < 0.2, 1)
    with ThreadPoolExecutor(1) as executor:
        evaluator = Evaluator(score, Settings(max_evals=10**6), executor if kind == "seam" else None)
        for dags in batches if kind != "nothing" else []:
            evaluator.evaluate(dags)


def counted(kind: str) -> int:
    """Return the instructions of a child process."""
    if shutil.which("valgrind") is None:
        raise Unavailable("valgrind is not installed")
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c"]
    code = f"from benchmarks.studies.workers import child; child({kind!r})"
    environment = os.environ | {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([*command, code], capture_output=True, text=True, check=True, env=environment)
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found is not None, done.stderr[-2000:]
    return int(found[1])


@study("workers", KEY, slow=True)
def instructions() -> Iterator[Row]:
    """Count with and without the seam."""
    counts = {kind: counted(kind) for kind in ("nothing", "home", "seam")}
    work, more = counts["home"] - counts["nothing"], counts["seam"] - counts["home"]
    shown = {"instructions_home": work, "instructions_seam": more, "overhead": round(more / work, 5)}
    where = {"where": "seam", "graph": "", "n": 200, "batch": "", "wait": ""}
    yield {**where, "batches": BATCHES, "dags": DAGS, "nodes": NODES, **shown}


@study("workers", KEY, places=("home", "pool 1"), rows=40, evals=4, batch=4)
def seconds(
    places: Annotated[Names, "home, and pool or dask with a number of workers"] = PLACES,
    rows: SampleSize = 600,
    evals: Annotated[int, "evaluations of the search"] = 150,
    batch: Annotated[int, "graphs that are proposed at a time"] = 64,
) -> Iterator[Row]:
    """Time the same search at every place."""
    torch.set_num_threads(1)
    timed("home", 100, evals)  # the work of the compiler is no part of it
    first = None
    for name in places:
        row = timed(name, rows, evals, batch)
        first = first or row
        assert row["score"] == first["score"], "another place, another answer"
        yield {**row, "speedup": round(first["seconds"] / row["seconds"], 2)}


#: Seconds that were waited.
WAITED: list[float] = []


class Waiting(BicNV):
    """A linear score that takes its time: a simulation that runs elsewhere."""

    cheap, seconds, uneven = False, 0.0, False

    def local(self, families: Families) -> Floats:
        """Wait for each family, then score it."""
        each = np.full(len(families), self.seconds)
        if self.uneven:  # a quarter to four times as long, and one node four times as long as that
            each *= (1 + families.sizes) ** 2 / 4 * np.where(families.nodes == 0, 4, 1)
        WAITED.append(float(each.sum()))
        time.sleep(WAITED[-1])
        return super().local(families)


@study("workers", KEY, workers=(1,), wait=0.0, local=10)
def waiting(
    workers: Annotated[Numbers, "numbers of workers"] = (1, 4),
    wait: Annotated[float, "seconds of each family"] = 2.0,
    uneven: Annotated[bool, "large families take longer, and those of one node"] = False,
    in_turn: Annotated[bool, "no proposals while others are computed"] = False,
    local: Annotated[int, "families that may be scored"] = 96,
    nodes: Annotated[int, "columns"] = 8,
) -> Iterator[Row]:
    """Time the same search with several workers, which are threads: waiting needs no processor."""
    data = Statistics.from_array(simulate(f"{nodes}ER2", n=200, seed=100).X)
    for count in workers:
        score = Waiting(data)
        score.seconds, score.uneven = wait, uneven
        settings = Settings(route="surrogate", max_local=local, max_evals=10**6)
        WAITED.clear()
        start = time.perf_counter()
        with ThreadPoolExecutor(count) as executor:
            search = new_search(score, settings, executor=executor)
            assert isinstance(search, ProposalSearch)
            search.ahead = 0 if in_turn else search.ahead
            outcome = search.run()
        seconds = time.perf_counter() - start
        kind = ("uneven" if uneven else "waiting") + (" in turn" if in_turn else "")
        found = {"score": float(outcome.best.scores[0]), "n_local": outcome.n_local, "wait": wait}
        row: Row = {"where": f"{kind} {count}", "graph": f"{nodes}ER2", "n": 200, "batch": "", **found}
        row |= {"seconds": round(seconds, 2), "waited": round(sum(WAITED), 2)}
        # Searches ask for different families, so each is compared with a single worker that never waits for proposals.
        yield row | {"speedup": round(sum(WAITED) / seconds, 2), "idle": round(1 - sum(WAITED) / (count * seconds), 3)}
