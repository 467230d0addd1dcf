"""How long it takes until something happens: import, help, check and a first fit, beside importing numpy and pandas.

    python -m benchmarks startup

CPU seconds of whole processes, user and system. Warm: the least of several starts. Cold: the same where no bytecode
is there, as after an installation that did not compile it. The yardstick is ``python -c "import numpy, pandas"`` in the
same run: every program that reads a table with pandas takes at least that.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pandas as pd

from benchmarks.parameters import Names
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo.data.files.simulate import simulate

#: Seconds that some systems count CPU time in.
TICK = 0.01
YARDSTICK = "import numpy, pandas"
#: The file of each table, and its graph and rows.
TABLES = {"small.csv": ("3ER1", 300), "large.csv": ("60ER2", 5000)}
FIT = "import numpy, drbo; drbo.DrBO().fit(numpy.loadtxt('small.csv', delimiter=',', skiprows=1))"
CODE, DRBO = ("-c",), ("-m", "drbo")
#: What is started: its words in the table, and the arguments of Python.
STARTS: dict[str, tuple[str, ...]] = {
    YARDSTICK: (*CODE, YARDSTICK),
    "import drbo": (*CODE, "import drbo"),
    "drbo --help": (*DRBO, "--help"),
    "drbo check, 3 columns": (*DRBO, "check", "small.csv"),
    "drbo check, 60 columns and 5,000 rows": (*DRBO, "check", "large.csv"),
    "drbo fit, 3 columns": (*DRBO, "fit", "small.csv", "--quiet"),
    "DrBO().fit(array), 3 columns": (*CODE, FIT),
}


def cpu_seconds(arguments: tuple[str, ...], folder: Path, bytecode: Path | None = None) -> float:
    """Return the CPU seconds of a Python process; with ``bytecode``, an empty folder, it compiles all it imports."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if bytecode is not None:
        environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
    before = os.times()
    subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


@study("startup", "start machine", starts=("import drbo", "drbo --help"), repeats=1, cold=0)
def run(
    starts: Annotated[Names, "what is started"] = tuple(STARTS),
    repeats: Annotated[int, "warm starts of each"] = 5,
    cold: Annotated[int, "starts of each without bytecode"] = 2,
) -> Iterator[Row]:
    """Time each start, in turn, so that other work on the machine meets them alike."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, (graph, rows) in TABLES.items():
            pd.DataFrame(simulate(graph, n=rows, seed=0).X).add_prefix("x").to_csv(folder / file, index=False)
        named = tuple(dict.fromkeys((YARDSTICK, *starts)))
        warm: dict[str, list[float]] = {start: [] for start in named}
        first: dict[str, list[float]] = {start: [] for start in named}
        for k in range(max(repeats, cold)):
            for start in named:
                if k < cold:
                    with tempfile.TemporaryDirectory() as bytecode:
                        first[start].append(cpu_seconds(STARTS[start], folder, Path(bytecode)))
                if k < repeats:
                    warm[start].append(cpu_seconds(STARTS[start], folder))
        for start in named:
            row: Row = {"start": start}
            for word, seconds in (("warm", warm), ("cold", first)):
                if seconds[start]:
                    least, base = (max(TICK, min(seconds[one])) for one in (start, YARDSTICK))
                    row |= {f"{word}_seconds": round(least, 3), f"{word}_ratio": round(least / base, 2)}
            yield row
