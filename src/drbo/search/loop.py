"""The search loop: propose, evaluate, learn (paper, Algorithm 1)."""

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from drbo.errors import SettingsError
from drbo.knowledge import Constraints
from drbo.scores.base import Score
from drbo.search.acquire import Acquisition
from drbo.search.evaluate import Evaluated, Evaluator
from drbo.search.history import History
from drbo.search.improve import Recombiner
from drbo.search.inputs import Inputs
from drbo.search.polish import polish
from drbo.search.region import TrustRegion, moves_kept
from drbo.search.space import FullRankSpace, LowRankSpace, Space
from drbo.search.starts import latin_hypercube
from drbo.search.surrogate import DropoutSurrogate
from drbo.settings import Settings

#: Iterations in a row that may propose nothing new before the search ends: everything in reach is known.
EMPTY_ROUNDS = 25
#: Iterations without a better score after which the incumbent is polished.
STALL = 5


@dataclass(frozen=True)
class Progress:
    """What a callback sees after each iteration."""

    iteration: int
    n_evals: int
    n_local: int
    best: float
    best_dag: npt.NDArray[np.bool_]  # (d, d)
    limit: int | None = None  # evaluations that may be spent; None: they are not rationed


#: Called after each iteration; a returned string stops the search and says why.
Callback = Callable[[Progress], str | None]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a search found: the best DAG with its parts, and how it ended."""

    best: Evaluated  # one DAG
    found_by: str
    n_evals: int
    n_local: int
    stopped: str


class Search:
    """The state of a search and its three steps."""

    def __init__(
        self,
        score: Score,
        settings: Settings,
        *,
        constraints: Constraints | None = None,
        seed: int = 0,
        device: str = "cpu",
        executor: Executor | None = None,
        start: npt.NDArray[np.bool_] | None = None,  # (d, d) a DAG that is scored first and improved from there
    ) -> None:
        if settings.max_local is not None and settings.max_local < score.n_nodes:
            raise SettingsError(
                f"max_local must be at least {score.n_nodes}, the number of columns, got {settings.max_local}",
                hint="one DAG needs a local score for each column",
            )
        self.settings = settings
        self.rng = np.random.default_rng(seed)
        self.generator = torch.Generator(device).manual_seed(int(self.rng.integers(2**62)))
        self.space: Space = (
            LowRankSpace(score.n_nodes, settings.rank, constraints)
            if settings.space == "low-rank"
            else FullRankSpace(score.n_nodes, constraints)
        )
        _check_memory(self.space, settings)
        self.evaluator = Evaluator(score, settings, executor)
        inputs = Inputs.allowed(constraints or Constraints.none(score.n_nodes))
        self.history = History(score.n_nodes, self.generator.device, inputs)
        self.surrogate = DropoutSurrogate(score.n_nodes, settings, self.generator, inputs)
        self.acquisition = Acquisition(self.space, self.surrogate, self.evaluator, settings)
        self.region = TrustRegion(self.space.dim, settings)
        self.recombiner = Recombiner(self.evaluator) if settings.recombine else None
        self.center: Tensor | None = None  # vector of the best DAG in the space
        self.best: Evaluated | None = None
        self.found_by = "first design"
        self.stalled = 0  # iterations without a better score
        self.iteration = 0
        self.empty = 0  # iterations in a row that evaluated nothing
        self.whole = True  # False: interrupted within an iteration, not to be saved
        self.constraints = constraints or Constraints.none(score.n_nodes)
        if start is not None:
            self._replace(self.evaluator.evaluate(start[None]), "given start")

    def propose(self) -> Tensor:
        """Return vectors (B, dim) to evaluate: a space-filling design first, then the best of the trust region."""
        if self.center is None:
            vectors = latin_hypercube(self.settings.batch_size, self.space.dim, self.rng).to(self.generator.device)
        else:
            candidates = self.region.candidates(self.center, self.settings.n_candidates, self.generator)
            vectors = self.acquisition.choose(candidates, self.generator)
        return vectors[: max(1, self.settings.max_evals - self.evaluator.n_evals - self.reserve)]

    def evaluate(self, vectors: Tensor) -> Evaluated:
        """Score the proposals, keep the best, and move the trust region."""
        batch = self.evaluator.evaluate(self.space.decode(vectors).cpu().numpy())
        before = self.best
        if len(batch):
            top = int(np.argmax(batch.scores))
            if self.best is None or batch.scores[top] > self.best.scores[0]:
                self.best = Evaluated(batch.dags[[top]], batch.local[[top]], batch.scores[[top]])
                self.found_by = "first design" if self.center is None else "trust region"
                self.center = vectors[top]
        if self.recombiner and self.best is not None:
            self._replace(self.recombiner.best(self.best, self.rng), "recombination")
        self.stalled = 0 if self.best is not before else self.stalled + 1
        if self.settings.polish and self.best is not None and (self.stalled == STALL or self.spent):
            self._replace(polish(self.best, self.evaluator, self.constraints, self.rng), "polish")
        if len(batch) == 0:
            self.region.restart()
        elif before is not None:
            self.region.update(improved=self.best is not before)
        return batch

    @property
    def reserve(self) -> int:
        """Evaluations kept for a last polish: about one per node, at most a quarter of all."""
        return min(self.space.n_nodes, self.settings.max_evals // 4) if self.settings.polish else 0

    @property
    def spent(self) -> bool:
        """No evaluation is left for proposals."""
        return self.evaluator.exhausted or self.evaluator.n_evals + self.reserve >= self.settings.max_evals

    def _replace(self, best: Evaluated, found_by: str) -> None:
        """Replace the incumbent by a better DAG; centre the region on it where it has a vector."""
        if best is self.best:
            return
        self.best, self.found_by, self.stalled = best, found_by, 0
        vector = self.space.encode(best.dags[0])
        if vector is not None:
            self.center = torch.as_tensor(vector, dtype=torch.float32, device=self.generator.device)

    def learn(self, batch: Evaluated) -> None:
        """Train the networks on the new evaluations and a replay of old ones."""
        if len(batch) == 0:
            return
        self.history.append(batch.dags, batch.local)
        self.surrogate.update(self.history, len(batch), self.generator)
        if self.settings.replay == "reservoir":
            self.history.update_reservoir(len(batch), self.settings, self.rng)


def _check_memory(space: Space, settings: Settings) -> None:
    """Refuse, before anything is spent, a run whose candidates cannot be held."""
    if settings.masks == "row" and settings.acquisition == "thompson":  # vectors written out, a value per node
        floats = settings.n_candidates * (2 * space.dim + 3 * space.n_nodes)
    else:  # moved coordinates with their values, a score per draw
        floats = settings.n_candidates * (2 * moves_kept(space.dim, settings) + settings.n_draws)
    if (need := 4 * floats / 2**30) > settings.max_memory:
        raise SettingsError(
            f"{settings.n_candidates} candidates of {space.dim} numbers need {need:.1f} GiB, "
            f"max_memory is {settings.max_memory:g}",
            hint="lower n_candidates, raise max_memory, or use space='low-rank'",
        )


def run(state: Search, callbacks: Iterable[Callback] = ()) -> Outcome:
    """Propose, evaluate, learn until a limit is reached.

    An interrupt (Ctrl-C) ends the search with the best DAG so far, once there is one.

    Examples
    --------
    >>> from drbo.data.table import Table
    >>> from drbo.scores.linear import BicEV
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> table = Table.from_array(np.column_stack([x, 2 * x + rng.normal(size=200)]))
    >>> outcome = run(Search(BicEV(table), Settings(max_evals=10)))
    >>> outcome.best.dags[0].astype(int).tolist()
    [[0, 1], [0, 0]]
    """
    callbacks = list(callbacks)
    stopped = _finished(state) if state.iteration else None  # a search that was saved may have been done
    try:
        while stopped is None:
            before = state.evaluator.n_evals
            state.learn(state.evaluate(state.propose()))
            # A batch of known DAGs is free where it is not counted: without this the search would not end.
            state.iteration, state.empty = (
                state.iteration + 1,
                0 if state.evaluator.n_evals > before else state.empty + 1,
            )
            stopped = _call(callbacks, state) or _finished(state)
    except KeyboardInterrupt:
        state.whole = False
        if state.best is None:
            raise
        stopped = "interrupted"
    assert state.best is not None  # the first batch is never empty: max_evals and max_local have room for it
    return Outcome(state.best, state.found_by, state.evaluator.n_evals, state.evaluator.n_local, stopped)


def _call(callbacks: list[Callback], state: Search) -> str | None:
    """Show the progress to every callback; the first reason to stop wins."""
    if state.best is None:
        return None
    evaluator = state.evaluator
    score, dag = float(state.best.scores[0]), state.best.dags[0].copy()  # a callback may keep or change it
    progress = Progress(state.iteration, evaluator.n_evals, evaluator.n_local, score, dag, state.settings.max_evals)
    reasons = [callback(progress) for callback in callbacks]
    return next((reason for reason in reasons if reason), None)


def _finished(state: Search) -> str | None:
    if state.spent:
        return f"budget spent: {state.evaluator.n_evals} evaluations, {state.evaluator.n_local} local scores"
    if state.empty >= EMPTY_ROUNDS:
        return f"nothing new to evaluate in {EMPTY_ROUNDS} rounds"
    return None
