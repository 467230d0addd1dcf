"""How much longer a fit takes beside two busy processes than alone, on every route a table can take.

    nice -n -15 python -m benchmarks busy

Wall-clock seconds of whole processes with the threads that drbo chooses by itself, the least of several runs; runs
alone and runs beside two endless loops of the same priority take turns. On a machine with other work, give all of them
a higher priority.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd

from benchmarks.parameters import Names
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo.data.files.simulate import simulate

#: Of each route: the columns and rows of its table, and the options of ``drbo fit``.
ROUTES: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "default": ("50ER2", 1_000, ()),
    "gp": ("5ER1", 200, ("--score", "gp")),
    "mixed": ("15ER1", 1_000, ()),
    "stream": ("30ER1", 200_000, ("--read", "stream=true")),
    "paper": ("10ER2", 500, ("--set", "preset=paper", "--set", "max_evals=300")),
}
LOOP = "while True: pass"


def seconds(route: str, file: Path) -> float:
    """Return the wall-clock seconds of a fit in a process of its own."""
    start = time.perf_counter()
    words = [sys.executable, "-m", "drbo", "fit", str(file), "--quiet", "--seed", "0", *ROUTES[route][2]]
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    subprocess.run(words, check=True, capture_output=True, env=environment)
    return time.perf_counter() - start


def beside(route: str, file: Path) -> float:
    """Return the same beside two endless loops."""
    loops = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(2)]
    try:
        return seconds(route, file)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def table(route: str) -> pd.DataFrame:
    """Return the table of a route; one of mixed types has every third column cut into two categories."""
    graph, n, _ = ROUTES[route]
    frame = pd.DataFrame(simulate(graph, n=n, seed=0).X).add_prefix("x")
    if route == "mixed":
        for name in frame.columns[::3]:
            frame[name] = np.where(frame[name] > frame[name].median(), "high", "low")
    return frame


@study("busy", "route machine", routes=("mixed",), repeats=1)
def run(
    routes: Annotated[Names, "what is fitted"] = tuple(ROUTES),
    repeats: Annotated[int, "runs alone and beside others, of which the least counts"] = 3,
) -> Iterator[Row]:
    """Yield how long fits take alone and beside two busy processes."""
    with tempfile.TemporaryDirectory() as folder:
        for route in routes:
            file = Path(folder) / f"{route}.parquet"
            table(route).to_parquet(file)
            runs = [(seconds(route, file), beside(route, file)) for _ in range(repeats)]
            alone, busy = (min(times) for times in zip(*runs, strict=True))
            yield {"route": route, "alone": round(alone, 2), "beside": round(busy, 2), "times": round(busy / alone, 2)}
