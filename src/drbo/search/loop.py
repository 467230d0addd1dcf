"""The search loop: propose, evaluate, learn (paper, Algorithm 1)."""

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from drbo.deadline import OutOfTimeError, current, no_deadline, search_time
from drbo.errors import SettingsError
from drbo.knowledge import Constraints
from drbo.scores.base import Score
from drbo.search.bayes.propose import ClimbProposer, Dags, Proposer, RegionProposer
from drbo.search.evaluation.evaluator import Evaluated, Evaluator
from drbo.search.polish import polish
from drbo.search.recombine import Recombiner
from drbo.search.state import Fields, State, generator_state, torch_state
from drbo.settings import Settings

#: Iterations in a row that may propose nothing new before the search ends: everything in reach is known.
EMPTY_ROUNDS = 25
#: Iterations without a better score after which the incumbent is polished.
STALL = 5
#: Rounds of climbs without a better score that end a search by default: by then draws and jumps are at their boldest.
CLIMB_PATIENCE = 30
#: What finds a DAG, in words.
FINDERS = ("given start", "first design", "climb", "trust region", "recombination", "polish")


@dataclass(frozen=True)
class Progress:
    """What a callback sees after each iteration."""

    iteration: int
    n_evals: int
    n_local: int
    best: float
    best_dag: npt.NDArray[np.bool_]  # (d, d)
    limit: int | None = None  # evaluations that may be spent; None: they are not rationed
    proving: bool = False  # the search is over, and whether a better DAG exists is being looked at


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
    """The state of a search by surrogate and its three steps.

    With ``settings.route`` "paper" dropout networks rank the candidates of a trust region; any other value climbs
    functions drawn from the surrogate.
    """

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
                f"max_local must be at least the number of columns, {score.n_nodes}, got {settings.max_local}",
                hint="a DAG needs one local score per column",
            )
        self.settings = settings
        self.constraints = constraints or Constraints.none(score.n_nodes)
        self.rng = np.random.default_rng(seed)
        self.generator = torch.Generator(device).manual_seed(int(self.rng.integers(2**62)))
        self.evaluator = Evaluator(score, settings, executor)
        kind = RegionProposer if settings.route == "paper" else ClimbProposer
        self.proposer: Proposer = kind(self.evaluator, settings, self.constraints, self.rng, self.generator)
        self.recombiner = Recombiner(self.evaluator) if settings.recombine else None
        self.best: Evaluated | None = None
        self.found_by = "first design"
        self.stalled = 0  # iterations without a better score
        self.iteration = 0
        self.empty = 0  # iterations in a row that evaluated nothing
        self.whole = True  # False: interrupted within an iteration, not to be saved
        # Evaluations kept for a last polish: about two per node, at most a quarter of all.
        self.reserve = min(2 * score.n_nodes, self._budget // 4) if settings.polish else 0
        if start is not None:
            with suppress(OutOfTimeError):  # then there is no time for anything else either
                self._replace(self.evaluator.evaluate(start[None]), "given start")

    def propose(self) -> Dags:
        """Return DAGs to evaluate: a first design, then what the surrogate holds promising."""
        if self.best is None or self.iteration == 0:
            return self.proposer.first(self.room)
        return self.proposer.propose(self.best, self.room)

    def evaluate(self, dags: Dags) -> Evaluated:
        """Score the proposals and keep the best DAG: a proposal, a recombination, or the end of a polish."""
        before = self.best
        batch = self.evaluator.evaluate(dags)
        if len(batch):
            top = int(np.argmax(batch.scores))
            if self.best is None or batch.scores[top] > self.best.scores[0]:
                self.best = Evaluated(batch.dags[[top]], batch.local[[top]], batch.scores[[top]])
                proposed_by = "trust region" if self.settings.route == "paper" else "climb"
                self.found_by = "first design" if self.iteration == 0 else proposed_by
        if self.recombiner and self.best is not None:
            self._replace(self.recombiner.best(self.best, self.rng), "recombination")
        self.stalled = 0 if self.best is not before else self.stalled + 1
        if self.settings.polish and self.best is not None and (self.stalled == STALL or self.spent):
            last = self.spent
            self._replace(polish(self.best, self.evaluator, self.constraints, self.rng), "polish")
            if last:  # what the polish left is for proposals again
                self.reserve //= 2
        return batch

    def learn(self, batch: Evaluated) -> None:
        """Tell the proposer what its proposals were worth."""
        assert self.best is not None
        self.proposer.learn(batch, self.best, improved=self.stalled == 0)

    def capture(self) -> State:
        """Return the state between two iterations."""
        counts = ("stalled", "iteration", "empty", "reserve")
        return {
            "kind": "proposals",
            "rng": generator_state(self.rng),
            "generator": torch_state(self.generator),
            "evaluator": self.evaluator.capture(),
            "best": None if self.best is None else self.best.capture(),
            "found_by": self.found_by,
            **{name: getattr(self, name) for name in counts},
            "recombiner": self.recombiner.capture() if self.recombiner else None,
            "proposer": self.proposer.capture(),
        }

    def restore(self, fields: Fields) -> None:
        """Set the state."""
        fields.text("kind", ["proposals"])
        fields.generator("rng", self.rng)
        fields.torch_generator("generator", self.generator)
        self.evaluator.restore(fields.part("evaluator"), self.constraints)
        self.found_by = fields.text("found_by", FINDERS)
        self.stalled, self.iteration, self.empty = (fields.integer(name) for name in ("stalled", "iteration", "empty"))
        self.reserve = fields.integer("reserve", 0, 2 * self.evaluator.score.n_nodes)
        started, self.best = self.iteration > 0, None
        if fields.has("best") or started:
            self.best = self.evaluator.restored(fields.part("best"), self.constraints)
        if fields.expect("recombiner", self.recombiner is not None) and self.recombiner:
            self.recombiner.restore(fields.part("recombiner"))
        self.proposer.restore(fields.part("proposer"), self.best, started)

    @property
    def _budget(self) -> int:
        """Evaluations that may be spent in all, counting distinct local scores as shares of one."""
        max_local = self.settings.max_local
        by_local = self.settings.max_evals if max_local is None else max_local // self.evaluator.score.n_nodes
        return min(self.settings.max_evals, by_local)

    @property
    def room(self) -> int:
        """DAGs that may be proposed."""
        return max(1, self.settings.max_evals - self.evaluator.n_evals - self.reserve)

    @property
    def spent(self) -> bool:
        """No evaluation is left for proposals."""
        return self.evaluator.down_to(self.reserve)

    def _replace(self, best: Evaluated, found_by: str) -> None:
        """Replace the incumbent by a better DAG."""
        if best is not self.best:
            self.best, self.found_by, self.stalled = best, found_by, 0


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
    with search_time(state.settings.time_limit) as deadline:
        deadline.promise()
        try:
            stopped = _until_stopped(state, list(callbacks))
        except OutOfTimeError:
            state.whole = False
            stopped = str(deadline.reason)
        except KeyboardInterrupt:
            state.whole = False
            if state.best is None:
                raise
            stopped = "interrupted"
        except torch.OutOfMemoryError as error:
            raise too_large(state) from error
    return ended(state, stopped)


def _until_stopped(state: Search, callbacks: list[Callback]) -> str:
    """Iterate until there is a reason to stop; return it."""
    stopped = _finished(state) if state.iteration else None  # a search that was saved may have been done
    while stopped is None:
        before = state.evaluator.n_evals
        state.learn(state.evaluate(state.propose()))
        stopped = advance(state, before, callbacks)
    return stopped


def advance(state: Search, before: int, callbacks: list[Callback]) -> str | None:
    """Count an iteration that began with ``before`` evaluations; return why the search ends, if it does."""
    # A batch of known DAGs is free where it is not counted: without this the search would not end.
    state.empty = 0 if state.evaluator.n_evals > before else state.empty + 1
    state.iteration += 1
    current().least = 0.0  # there is a graph
    return _call(callbacks, state) or _finished(state) or current().reason


def ended(state: Search, stopped: str) -> Outcome:
    """Return what a search has found, and why it ended."""
    if state.best is None:  # there was no time for a first batch, which is never empty
        state.best = state.evaluator.answer(state.constraints.required)
        if state.recombiner:
            with no_deadline():
                state.best = state.recombiner.best(state.best, state.rng)
    return Outcome(state.best, state.found_by, state.evaluator.n_evals, state.evaluator.n_local, stopped)


def too_large(state: Search) -> SettingsError:
    """Return the error of a search without memory: what can be done in smaller pieces was."""
    return SettingsError(
        f"the search does not fit into the memory of device '{state.generator.device}'",
        hint="lower n_candidates or hidden, set candidate_parents, or use device='cpu'",
    )


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
        return f"budget exhausted: {state.evaluator.n_evals} evaluations, {state.evaluator.n_local} local scores"
    if state.settings.route != "paper" and state.settings.patience is None and state.stalled >= CLIMB_PATIENCE:
        return f"no better score in {CLIMB_PATIENCE} rounds of hill climbing"
    if state.empty >= EMPTY_ROUNDS:
        return f"no new DAG to evaluate in {EMPTY_ROUNDS} rounds"
    return None
