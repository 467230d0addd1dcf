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


def ways() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return a table for every way in which rows can come about, and for hidden causes, with the options of its fit."""
    import pandas as pd

    from drbo import Design
    from drbo.data.files.simulate import simulate

    numbers = pd.DataFrame(simulate("4ER2", n=80, seed=3).X, columns=list("abcd"))
    parts = numbers.assign(t=np.arange(80) % 40 + 1, part=np.arange(80) // 40)
    return {
        "experiment": (parts.drop(columns="t"), {"design": Design(experiment="part", control="0")}),
        "groups": (parts.drop(columns="t"), {"design": Design(groups="part")}),
        "weights": (parts.drop(columns="part"), {"design": Design(weights="t")}),
        "time": (parts, {"design": Design(time="t", unit="part", max_lag=2)}),
        "hidden": (numbers, {"hidden": True}),
    }


def answer(name: str, frame: Any, options: dict[str, Any]) -> str:
    """Fit a table; return a digest of the route, the graphs, the scores and all evaluations, to the last bit."""
    from drbo import DrBO

    budget = KERNEL_EVALS if name in KERNELS else None
    result = DrBO(max_evals=budget, random_state=1, **options).fit(frame).result_
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


def repeats(times: int, only: Iterable[str] | None = None) -> dict[str, Any]:
    """Fit every score and every way so many times, half of them under load; count answers that are not the first."""
    start, scores = time.monotonic(), tables()
    fits = {name: (frame, {"score": name}) for name, frame in scores.items()} | ways()
    names = list(fits if only is None else only)
    found = {name: [answer(name, *fits[name]) for _ in range(times - times // 2)] for name in names}
    with busy_cores() as count:
        for name in names:
            found[name] += [answer(name, *fits[name]) for _ in range(times // 2)]
    others = {name: sum(each != answers[0] for each in answers) for name, answers in found.items()}
    which = f"{len(scores)} scores and {len(fits) - len(scores)} designs" if only is None else ", ".join(names)
    note = f"{which}, {times} fits each, half of them while {count} processes occupy {os.cpu_count()} cores"
    note += "".join(f"; {name}: {number} other answers" for name, number in others.items() if number)
    note += f"; {time.monotonic() - start:.0f} s"
    return {"tried": times * len(names), "failed": sum(others.values()), "note": note}
