"""Time to a solution: seconds to an SHD of 20, 10, 5 and 2 from the truth, n = 1,000.

    python -m benchmarks solution --seeds 0-4

Linear data (30ER8, 100ER2: score ``bic-ev``, pruner ``odds``) and nonlinear data ``x_j = sum_i B_ij cos(x_i) + e_j``
(50ER2, 100ER1: score ``splines``, pruner ``cam-sequential``): the default choices for such data, by name. Everything
runs on the CPU, also on a machine that has a GPU: these scores take the order search. The clock runs from table to
graph: building the score and climbing. The graph is then pruned to count its errors, at every round of the search with
a better graph; the seconds of the last pruning are in the total, those of the others stop the clock. The first search
of each graph, on another data set, is not timed: it loads the compiled code.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from benchmarks.parameters import Graphs, SampleSize, Seeds
from benchmarks.rows import Row, machine
from benchmarks.studies.study import study
from drbo import DrBO
from drbo.claims.answer.prune import prune
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.graph.metrics import shd

#: Model of the data, score and pruner of each graph.
CASES = {
    "30ER8": ("linear", "bic-ev", "odds"),
    "100ER2": ("linear", "bic-ev", "odds"),
    "50ER2": ("cos", "splines", "cam-sequential"),
    "100ER1": ("cos", "splines", "cam-sequential"),
}
LEVELS = (20, 10, 5, 2)


class Watch:
    """A callback that notes when each SHD is reached; its own work stops the clock."""

    def __init__(self, data: np.ndarray, truth: np.ndarray, pruner: str) -> None:
        columns = Statistics.from_array(data).canonical_order()[1]  # the search sees the columns in this order
        self.pruner, self.data, self.truth = pruner, data[:, columns], truth[np.ix_(columns, columns)]
        self.start, self.paused = _clocks(), np.zeros(2)
        self.reached: dict[int, np.ndarray] = {}  # seconds and seconds of CPU
        self.best = -np.inf

    def __call__(self, progress: Any) -> None:
        now = _clocks()
        if progress.best > self.best:
            self.best = progress.best
            kept, _ = prune(self.pruner, self.data, progress.best_dag)
            errors = shd(kept, self.truth)
            for level in LEVELS:
                if errors <= level:
                    self.reached.setdefault(level, now - self.start - self.paused)
        self.paused += _clocks() - now

    def elapsed(self) -> np.ndarray:
        """Return the seconds so far, and those of CPU."""
        return _clocks() - self.start - self.paused


def _clocks() -> np.ndarray:
    return np.array([time.perf_counter(), time.process_time()])


def one_run(graph: str, n: int, seed: int) -> Row:
    """Search one data set and return its row."""
    kind, score, pruner = CASES.get(graph, CASES["30ER8"])
    data = simulate(graph, kind, n=n, seed=seed)  # type: ignore[arg-type]
    watch = Watch(data.X, data.dag, pruner)
    model = DrBO(score=score, random_state=seed, prune=pruner, device="cpu")
    model.fit(data.X, callbacks=[watch])
    seconds, cpu_seconds = watch.elapsed()
    reached = {level: watch.reached[level].round(3).tolist() for level in LEVELS if level in watch.reached}
    return {
        "graph": graph,
        "n": n,
        "seed": seed,
        "score": score,
        "pruner": pruner,
        "n_edges": int(data.dag.sum()),
        "shd": shd(model.adjacency_ != 0, data.dag),
        **{f"seconds_to_{level}": seconds for level, (seconds, _) in reached.items()},
        **{f"cpu_to_{level}": cpu for level, (_, cpu) in reached.items()},
        "seconds": round(float(seconds), 3),
        "cpu_seconds": round(float(cpu_seconds), 3),
        "n_local": model.result_.n_local,
        **({"machine": f"{machine('cpu')}, {machine('cuda')} idle"} if torch.cuda.is_available() else {}),
    }


@study("solution", "graph n seed machine", graphs=("6ER1",), rows=100, seeds=range(1))
def run(graphs: Graphs = tuple(CASES), rows: SampleSize = 1_000, seeds: Seeds = range(5)) -> Iterator[Row]:
    """Yield the row of each data set."""
    for graph in graphs:
        one_run(graph, rows, 1_000)  # loads the compiled code
        for seed in seeds:
            yield one_run(graph, rows, seed)
