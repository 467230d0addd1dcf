"""The compiled core against an earlier version of drbo: the same searches, in turn, on the same machine.

    python -m benchmarks core_speed --old ../old/src
    python -m benchmarks core_speed --old ../old/src --jobs "orders 100ER2,exact 20ER2" --threads 1 --rounds 3

``--old`` is the source folder of the other version; ``--old-python`` the interpreter that has what it needs, if it is
not this one. Each round runs both versions, each in a process of its own, one after the other; the least of all rounds
counts. CPU time is that of all threads together: it is what counts where neighbours share the cores.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from benchmarks.gran_dag import Unavailable
from benchmarks.parameters import Names, Numbers
from benchmarks.rows import SOURCES, Row, commit
from benchmarks.studies.study import study

ROOT = Path(__file__).parents[2]
JOBS = (
    *(f"orders {graph}" for graph in ("30ER8", "100ER2", "300ER2", "500ER2")),
    "discrete alarm",
    "splines 50ER2",
    "surrogate 20ER4",
    "surrogate 30ER8",
    "exact 20ER2",
)


def measured(source: Path, python: str, job: str, threads: int, repeats: int) -> dict[str, float]:
    """Return what a version of drbo takes for a job."""
    path = os.pathsep.join([str(source.resolve()), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": str(threads)}
    command = [python, "-m", "benchmarks.core_jobs", job, str(repeats)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{job} with {source}: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


@study(file="core_speed", key="job threads before", jobs=("orders 8ER2",), threads=(1,), rounds=1, repeats=1)
def run(
    old: Annotated[Path | None, "source folder of the other version; without it, both are this one"] = None,
    old_python: Annotated[str, "interpreter for it"] = sys.executable,
    jobs: Annotated[Names, "kind of search, and graph"] = JOBS,
    threads: Annotated[Numbers, "numbers of threads"] = (1, 2),
    rounds: Annotated[int, "times that both versions run in turn"] = 2,
    repeats: Annotated[int, "fits in each process"] = 2,
) -> Iterator[Row]:
    """Yield the times of both versions, job by job."""
    versions = {"old": (old or SOURCES, old_python), "new": (SOURCES, sys.executable)}
    before = commit(versions["old"][0])
    for job in jobs:
        for count in threads:
            found: dict[str, list[dict[str, float]]] = {"old": [], "new": []}
            for turn in range(rounds):
                for name in ("old", "new") if turn % 2 == 0 else ("new", "old"):
                    found[name].append(measured(*versions[name], job, count, repeats))
            yield {"job": job, "threads": count, "before": before, "rounds": rounds, "repeats": repeats} | _compared(
                **found
            )


def _compared(old: list[dict[str, float]], new: list[dict[str, float]]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for clock in ("seconds", "cpu_seconds"):
        before, after = (min(run[clock] for run in runs) for runs in (old, new))
        row |= {f"old_{clock}": round(before, 3), f"new_{clock}": round(after, 3)}
        row[f"{clock.removesuffix('seconds')}ratio"] = round(before / after, 2)
    return row | {"old_score": repr(old[0]["score"]), "new_score": repr(new[0]["score"])}
