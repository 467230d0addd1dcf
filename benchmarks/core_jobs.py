"""One search, timed by itself: what :mod:`benchmarks.studies.core_speed` runs with two versions of drbo.

    PYTHONPATH=/path/to/a/version/src python -m benchmarks.core_jobs "orders 100ER2" 3

Prints the best seconds of a few searches, the least seconds of CPU, and the score. A small search of the same kind
comes first: older versions compile their kernels then.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import numpy as np
import pandas as pd

from drbo import DrBO, Settings
from drbo.search.base import Search

try:
    from drbo.data.files.simulate import simulate
except ModuleNotFoundError:  # an older version
    from drbo.data.simulate import simulate  # type: ignore[import-not-found,no-redef]

#: A table and the arguments of the estimator.
Job = tuple[pd.DataFrame, dict[str, Any]]


def _surrogate() -> str:
    """Return the name of the route that spends evaluations sparingly; older versions call it ``networks``."""
    names = get_args(get_type_hints(Settings)["route"])
    return "surrogate" if "surrogate" in names else "networks"


def _named(values: Any) -> pd.DataFrame:
    return pd.DataFrame(np.asarray(values), columns=[f"x{k}" for k in range(np.shape(values)[1])])


def _standardised(graph: str, **options: Any) -> pd.DataFrame:
    values = simulate(graph, n=1_000, seed=0, **options).X
    return _named((values - values.mean(axis=0)) / values.std(axis=0))


def _orders(graph: str) -> Job:
    return _standardised(graph), {"score": "bic-nv", "exact": False, "settings": {"route": "orders"}}


def _discrete(graph: str) -> Job:
    values = simulate(graph, n=1_000, seed=0).X
    ranks = values.argsort(axis=0).argsort(axis=0) * 3 // len(values)
    return _named(ranks).astype("category"), {"score": "bic-discrete", "exact": False, "settings": {"route": "orders"}}


def _splines(graph: str) -> Job:
    table = _standardised(graph, model="cos")
    return table, {"score": "splines", "exact": False, "settings": {"route": "orders"}}


def _surrogates(graph: str) -> Job:
    settings = {"route": _surrogate(), "max_evals": 200}
    return _named(simulate(graph, n=1_000, seed=0).X), {"score": "bic-ev", "exact": False, "settings": settings}


def _exact(graph: str) -> Job:
    return _standardised(graph), {"score": "bic-nv", "exact": True, "settings": {"route": "orders"}}


#: By the first word of a job: the table and the arguments, and a small graph of the same kind.
KINDS: dict[str, tuple[Callable[[str], Job], str]] = {
    "orders": (_orders, "8ER2"),
    "discrete": (_discrete, "asia"),
    "splines": (_splines, "6ER2"),
    "surrogate": (_surrogates, "5ER1"),
    "exact": (_exact, "6ER2"),
}


class SearchEnded(BaseException):
    """The search of a fit is over; what a version says about the graph after that is left out."""

    def __init__(self, start: tuple[float, float], score: float) -> None:
        super().__init__()
        self.start, self.score = start, score


def _timed(run: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        start = now()
        found = run(*arguments)
        raise SearchEnded(start, float(found.best.scores[0]))

    return timed


def now() -> tuple[float, float]:
    """Return the seconds of the wall clock and of the CPU."""
    return time.perf_counter(), time.process_time()


def fit(job: Job) -> tuple[float, float, float]:
    """Return seconds and seconds of CPU of one search, of the whole fit where the optimum is proved; and the score."""
    table, arguments = job
    settings = Settings().with_(**arguments["settings"])
    start, run = now(), Search.run
    if not arguments["exact"]:
        Search.run = _timed(run)  # type: ignore[method-assign]  # which every version has
    try:
        model = DrBO(random_state=0, prune="none", **{**arguments, "settings": settings}).fit(table)
        score = float(model.score_)
    except SearchEnded as ended:
        start, score = ended.start, ended.score
    finally:
        Search.run = run  # type: ignore[method-assign]
    wall, cpu = (after - before for before, after in zip(start, now(), strict=True))
    return wall, cpu, score


def measure(job: str, repeats: int) -> dict[str, float]:
    """Return the best seconds, the least seconds of CPU and the score of a job."""
    kind, _, graph = job.partition(" ")
    make, small = KINDS[kind]
    fit(make(small))
    table = make(graph)
    wall, cpu, scores = zip(*(fit(table) for _ in range(repeats)), strict=True)
    return {"seconds": min(wall), "cpu_seconds": min(cpu), "score": scores[0]}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
