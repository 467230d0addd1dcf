"""Fit the same table again and again, also while other processes occupy the cores: there must be one answer.

python -m tests.faults.campaign repeats --times 20
"""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

#: Processes that occupy the cores, for each core.
LOAD_PER_CORE = 2
#: Evaluations of the scores that cost milliseconds; the others have no limit and take the route that is chosen.
KERNEL_EVALS = 6
KERNELS = ("gp", "gp-ev", "gp-nv")
DISCRETE = ("bdeu", "bic-discrete", "discrete-experiments")


def tables() -> dict[str, Any]:
    """Return a small data frame for every score by its name."""
    import pandas as pd

    from drbo.data.files.simulate import simulate
    from drbo.scores.registry import SCORES

    numbers = pd.DataFrame(simulate("4ER2", n=40, seed=3).X, columns=list("abcd"))
    middle = numbers > numbers.median()
    groups = middle.replace({True: "high", False: "low"}).astype("category")
    mixed = numbers.assign(a=groups["a"])
    kinds = dict.fromkeys(DISCRETE, groups) | dict.fromkeys(("mixed", "mixed-cg"), mixed) | {"logistic": middle}
    return {name: kinds.get(name, numbers) for name in SCORES}


def answer(score: str, frame: Any) -> str:
    """Fit a table; return a digest of the route, the graphs, the scores and all evaluations, to the last bit."""
    from drbo import DrBO

    budget = KERNEL_EVALS if score in KERNELS else None
    result = DrBO(score=score, max_evals=budget, random_state=1).fit(frame).result_
    numbers = [result.dag, result.searched_dag, np.array([result.score, result.pruned_score]), result.search.local]
    numbers += [column.to_numpy() for name, column in result.trace.items() if name != "seconds"]
    words = [result.settings["route"], result.search.found_by, result.stopped]
    return hashlib.sha256(b"".join(part.tobytes() for part in numbers) + repr(words).encode()).hexdigest()


@contextmanager
def busy_cores(count: int = LOAD_PER_CORE * (os.cpu_count() or 1)) -> Iterator[int]:
    """Occupy the cores with other processes; yield how many there are."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield count
    finally:
        for process in processes:
            process.kill()
            process.wait()


def repeats(times: int, scores: Iterable[str] | None = None) -> dict[str, Any]:
    """Fit every score by its name so many times, half of them under load, and count answers that are not the first."""
    start, frames = time.monotonic(), tables()
    names = list(frames if scores is None else scores)
    found = {name: [answer(name, frames[name]) for _ in range(times - times // 2)] for name in names}
    with busy_cores() as count:
        for name in names:
            found[name] += [answer(name, frames[name]) for _ in range(times // 2)]
    others = {name: sum(each != answers[0] for each in answers) for name, answers in found.items()}
    note = f"{len(names)} scores, {times} fits each, half of them while {count} processes occupy {os.cpu_count()} cores"
    note += "".join(f"; {name}: {number} other answers" for name, number in others.items() if number)
    note += f"; {time.monotonic() - start:.0f} s"
    return {"tried": times * len(names), "failed": sum(others.values()), "note": note}
