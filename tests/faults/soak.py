"""Searches of random shapes, one after the other in one process: memory, threads, files and processes must not grow.

    python -m tests.faults.soak --minutes 60

Prints a line a minute and, at the end, how memory grew over the second half of the run; the outcome goes to the page
docs/developers/faults.md. Not in CI: ``make soak``.
"""

import argparse
import gc
import json
import os
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

#: Growth that is called flat, in MiB an hour: what an hour of allocations leaves behind in the gaps of the heap.
FLAT = 64.0
NUMERIC = ("auto", "bge", "bic-ev", "bic-nv", "splines", "mixed", "gp", "gp-ev", "gp-nv")
DISCRETE = ("auto", "bdeu", "bic-discrete", "logistic")
KERNELS = ("gp", "gp-ev", "gp-nv")


@dataclass(frozen=True)
class Sample:
    """What the process holds after a search."""

    seconds: float
    memory: float  # MiB, resident
    threads: int
    files: int
    processes: int

    @classmethod
    def now(cls, start: float) -> "Sample":
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
        threads, files = len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))
        memory = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
        return cls(time.monotonic() - start, memory, threads, files, len(children))


def search(rng: np.random.Generator) -> str:
    """Run one search of a random shape; return what it was."""
    from drbo import DrBO, Result, Settings
    from drbo.data.files.simulate import simulate
    from drbo.design import DataPolicy
    from drbo.errors import DrboError
    from drbo.search.evaluation.workers import WorkerPool

    discrete = bool(rng.random() < 0.3)
    score = str(rng.choice(DISCRETE if discrete else NUMERIC))
    d, n = int(rng.integers(2, 10)), int(rng.integers(5, 60 if score in KERNELS else 400))
    x = simulate(
        f"{d}ER{1 if d < 4 else 2}", model="logistic" if discrete else "linear", n=n, seed=int(rng.integers(1e9))
    ).X
    options: dict[str, Any] = {"score": score, "random_state": int(rng.integers(1e9))}
    saved: dict[str, Path] = {}
    options["policy"] = DataPolicy(on_constant="drop")
    if score in KERNELS or rng.random() < 0.5:
        options["max_evals"] = int(rng.integers(2, 20 if score in KERNELS else 120))
    else:
        options["settings"] = Settings(order_patience=int(rng.integers(1, 20)))
    words = f"{score} {n}x{d}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            if rng.random() < 0.3:
                saved["checkpoint"] = Path(folder) / "run"
            if (chance := rng.random()) < 0.03:
                with WorkerPool(1) as pool:
                    model = DrBO(executor=pool, **options).fit(x, **saved)
                    pool.submit(pow, 2, 3).result()
            elif chance < 0.2:
                with ThreadPoolExecutor(2) as threads:
                    model = DrBO(executor=threads, **options).fit(x, **saved)
            else:
                model = DrBO(**options).fit(x, **saved)
            if saved:
                model = DrBO.resume(saved["checkpoint"], max_evals=5)
            if rng.random() < 0.1:
                model.bootstrap(x, n=2)
            Result.load(model.result_.save(Path(folder) / "result")).summary()
        except DrboError as error:  # a random table may be refused: constant columns, too few rows
            words += f" refused: {error.message:.60}"
    return words


def slope(samples: list[Sample], of: str) -> float:
    """Return how a quantity grew over the second half of the samples, per hour (Theil-Sen: the median of slopes)."""
    half = samples[len(samples) // 2 :]
    step = max(1, len(half) // 400)
    t = np.array([sample.seconds for sample in half[::step]]) / 3600
    y = np.array([float(getattr(sample, of)) for sample in half[::step]])
    rows, columns = np.triu_indices(len(t), 1)
    return float(np.median((y[columns] - y[rows]) / (t[columns] - t[rows]))) if len(rows) else 0.0


def soak(minutes: float, seed: int = 0) -> dict[str, Any]:
    """Run searches for some time; return their number and what grew."""
    import warnings

    rng, samples, start, told, failures = np.random.default_rng(seed), [], time.monotonic(), 0.0, []
    while time.monotonic() - start < 60 * minutes:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                words = search(rng)
        except Exception:
            failures.append(traceback.format_exc())
            words = failures[-1]
        samples.append(Sample.now(start))
        if samples[-1].seconds >= told:
            told += 60
            print(f"{len(samples)} searches, {samples[-1]}, last: {words}", flush=True)
    half = samples[len(samples) // 2 :]
    return {
        "searches": len(samples),
        "minutes": round(samples[-1].seconds / 60, 1),
        "failed": len(failures),
        "examples": failures[:2],
        "memory_mib": [round(half[0].memory), round(half[-1].memory)],
        "slope_mib_per_hour": round(slope(samples, "memory"), 1),
        **{f"most_{of}": max(getattr(s, of) for s in half) for of in ("threads", "files", "processes")},
        **{f"slope_{of}_per_hour": round(slope(samples, of), 2) for of in ("threads", "files", "processes")},
    }


def is_flat(outcome: dict[str, Any]) -> bool:
    """Tell whether nothing grew and nothing failed."""
    still = all(outcome[f"slope_{of}_per_hour"] == 0 for of in ("threads", "files", "processes"))
    return outcome["failed"] == 0 and still and outcome["slope_mib_per_hour"] < FLAT


def main() -> int:
    """Soak, print the outcome, keep it for the page."""
    from tests.faults.campaign import record

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    outcome = soak(parser.parse_args().minutes)
    print(json.dumps(outcome, indent=1))
    record("soak", outcome)
    return int(not is_flat(outcome))


if __name__ == "__main__":
    sys.exit(main())
