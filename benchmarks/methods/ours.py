"""Our estimator behind the same interface."""

from typing import Any

import numpy as np

from benchmarks.methods.base import Graph, Learn, Task
from drbo import DrBO, Settings
from drbo.result.prune import prune
from drbo.search.loop import Progress


def drbo(
    task: Task, preset: str = "default", score: str = "task", pruner: str = "auto", penalty: Any = None, **settings: Any
) -> Learn:
    """Fit the estimator; the first fit of a process compiles and is not timed.

    ``score`` and ``pruner`` "task" are those of the data; ``settings`` change those of the preset.
    """
    score, pruner = task.score if score == "task" else score, task.prune if pruner == "task" else pruner
    options = {"penalty": penalty} if penalty is not None else {}

    def model(**more: Any) -> DrBO:
        return DrBO(
            score,
            preset,
            prune=pruner,
            random_state=task.seed,
            device=task.device,
            settings=Settings.preset(preset).with_(**settings),
            score_options=options,
            on_collinear="keep",
            **more,
        )

    model(max_evals=10).fit(np.random.default_rng(0).integers(0, 2, size=(50, 4)).astype(float))

    def record(progress: Progress) -> None:
        if task.record:
            task.record(progress.n_evals, prune(pruner, task.table.values, progress.best_dag)[0])

    def learn() -> Graph:
        follow = pruner in ("none", "threshold")  # the others cost more than a step
        return model(callbacks=[record] if follow else []).fit(task.table.values).result_.dag

    return learn
