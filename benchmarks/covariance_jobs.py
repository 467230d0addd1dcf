"""The covariance of a Parquet file by one program, timed by itself: what :mod:`benchmarks.studies.big_tables` runs.

    python benchmarks/covariance_jobs.py drbo file.parquet

It imports nothing of this package, so that an interpreter that has only the other program can run it.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def drbo(path: Path) -> tuple[float, Any]:
    """One pass, with a sample of the rows, as a fit makes it."""
    import pyarrow.parquet  # noqa: F401, as the others do before the clock starts

    from drbo.data.reading.read import open_source
    from drbo.data.statistics.stream import streamed

    began = time.process_time()
    return began, streamed(open_source(path), keep_rows=True).moments.covariance


def drbo_resamples(path: Path) -> tuple[float, Any]:
    """The same pass, with 50 resamples of the rows."""
    import pyarrow.parquet  # noqa: F401, as the others do before the clock starts

    from drbo.data.reading.read import open_source
    from drbo.data.statistics.stream import streamed

    began = time.process_time()
    return began, streamed(open_source(path), keep_rows=True, resamples=50).moments.covariance


def drbo_fit(path: Path) -> tuple[float, Any]:
    """All that the command does: read, search, check, and print."""
    import numpy as np
    from click.testing import CliRunner

    began = time.process_time()
    from drbo.cli import main

    told = CliRunner().invoke(main, ["fit", str(path), "--json", "-q"])
    return began, np.eye(len(json.loads(told.stdout)["edges"]))


def numpy_cov(path: Path) -> tuple[float, Any]:
    """The whole table in memory, and ``numpy.cov``."""
    import numpy as np
    from pyarrow import parquet

    began = time.process_time()
    table = parquet.read_table(path)
    values = np.column_stack([table.column(j).to_numpy() for j in range(table.num_columns)])
    return began, np.cov(values.T, bias=True)


def numpy_sums(path: Path) -> tuple[float, Any]:
    """Sums and sums of products of blocks, without a shift: digits are lost where means are large."""
    import numpy as np
    from pyarrow import parquet

    began = time.process_time()
    count, total, products = 0, 0.0, 0.0
    for batch in parquet.ParquetFile(path, pre_buffer=False).iter_batches(batch_size=2**14):
        values = np.column_stack([batch.column(j).to_numpy() for j in range(batch.num_columns)]).astype(np.float64)
        count, total, products = count + len(values), total + values.sum(axis=0), products + values.T @ values
    return began, products / count - np.outer(total / count, total / count)


def duckdb(path: Path) -> tuple[float, Any]:
    """An aggregate for every two columns."""
    import duckdb as database
    import numpy as np

    connection = database.connect()
    connection.execute("SET threads = 1")
    names = [row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()]
    pairs = [(i, j) for i in range(len(names)) for j in range(i, len(names))]
    asked = ", ".join(f"covar_pop({names[i]}, {names[j]})" for i, j in pairs)
    began = time.process_time()
    found = connection.execute(f"SELECT {asked} FROM '{path}'").fetchone()
    covariance = np.zeros((len(names), len(names)))
    for (i, j), value in zip(pairs, found, strict=True):
        covariance[i, j] = covariance[j, i] = value
    return began, covariance


METHODS: dict[str, Callable[[Path], tuple[float, Any]]] = {
    "drbo": drbo,
    "drbo with 50 resamples": drbo_resamples,
    "drbo fit": drbo_fit,
    "numpy.cov": numpy_cov,
    "numpy sums": numpy_sums,
    "duckdb": duckdb,
}

if __name__ == "__main__":
    clock = time.monotonic()
    started, matrix = METHODS[sys.argv[1]](Path(sys.argv[2]))
    seconds, wall = time.process_time() - started, time.monotonic() - clock
    # Not ru_maxrss of getrusage, which also counts the process that started this one.
    words = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    found = {"cpu_seconds": seconds, "seconds": wall, "gib": int(words.split()[1]) / 2**20}
    print(json.dumps({**found, "trace": float(matrix.trace())}))
