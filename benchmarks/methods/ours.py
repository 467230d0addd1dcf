"""Our methods behind the same interface: the estimator, and the paper's loop by itself."""

from typing import Any

import numpy as np

from benchmarks.methods.base import Found, Graph, Learn, Task
from benchmarks.methods.libraries import as_text
from drbo.claims.answer.prune import prune
from drbo.design import DataPolicy
from drbo.scores.registry import build_score
from drbo.search.loop import ProposalSearch
from drbo.search.outcome import Progress
from drbo.search.strategy import new_search
from drbo.settings import Settings


def estimator(task: Task, score: str = "task", same_score: bool = False, **settings: Any) -> Learn:
    """Fit the estimator at its defaults, but for these settings; the first fit of a process compiles, untimed.

    ``score`` "task" is the one of the data, ``same_score`` gives it the penalty and options that the others have.
    """
    from drbo import DrBO  # it needs pandas and scikit-learn, the loop does not

    values = as_text(task.table) if any(task.table.levels) else task.table.values
    options = {name: value for name, value in task.scoring.items() if name != "device"} if same_score else None

    def model() -> DrBO:
        return DrBO(
            score=task.score if score == "task" else score,
            random_state=task.seed,
            device=task.device,
            settings=Settings().with_(**settings),
            score_options=options,
            policy=DataPolicy(on_collinear="keep"),
        )

    def learn() -> Found:
        result = model().fit(values).result_
        return Found(result.dag, result.searched_dag, result.n_evals, result.n_local)

    model().fit(np.random.default_rng(0).integers(0, 2, size=(50, 4)).astype(float))
    return learn


def paper_loop(task: Task, preset: str, evals: int, variant: str = "", **settings: Any) -> Learn:
    """Algorithm 1 with the score and the pruning of the data, at penalty 1; every iteration is a step.

    ``variant`` replaces a part of it by one of ``benchmarks.methods.variants``.
    """
    chosen = Settings.preset(preset).with_(max_evals=evals, **settings)
    score = build_score(task.score, task.table, task.scoring)

    def pruned(dag: Graph) -> Graph:
        return prune(task.prune, task.table.values, dag)[0]

    def record(progress: Progress) -> None:
        if task.follow:
            task.follow(progress.n_evals, pruned(progress.best_dag))

    def search(settings: Settings, seed: int) -> ProposalSearch:
        state = new_search(score, settings, seed=seed, device=task.device)
        assert isinstance(state, ProposalSearch)
        if variant:
            from benchmarks.methods.variants import VARIANTS  # imports torch, which no other method needs

            parts = (state.evaluator, settings, state.constraints, state.rng, state.proposer.generator)
            state.proposer = VARIANTS[variant](*parts)
        return state

    warm = chosen.with_(max_evals=2 * chosen.paper.batch_size, n_candidates=chosen.paper.batch_size)
    search(warm, 0).run()  # compiles, untimed

    def learn() -> Found:
        outcome = search(chosen, task.seed).run([record])
        best = outcome.best.dags[0]
        return Found(pruned(best), best, outcome.n_evals, outcome.n_local)

    return learn
