"""Several searches in lockstep: candidates and networks of all are one batched program, the true scores are their own.

Most of an iteration of a small search on a GPU is the start of many small operations, which leave the GPU idle. Here
every operation has a leading axis of searches. Each search has its own data, trust region, evaluations, networks and
random numbers, and goes the way it would go alone, up to rounding.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

import numpy as np
import torch

from drbo.deadline import OutOfTimeError, search_time
from drbo.search.bayes.propose import Dags, RegionProposer, candidates_gib, new_space, propose_all, train_all
from drbo.search.evaluation.evaluator import Evaluated
from drbo.search.loop import Callback, Outcome, Search, advance, ended, too_large
from drbo.search.paper.acquire import Acquisition
from drbo.search.paper.history import History
from drbo.search.paper.networks import DropoutSurrogate
from drbo.settings import Settings

Item = TypeVar("Item")

#: Searches in one program, at most: by then a GPU is busy, and more of them take as much longer.
MOST = 16
#: Bytes that training takes per hidden unit and row: activations and their gradients, and 16 random bits for each step,
#: drawn and copied to where a recorded graph finds them.
UNIT_BYTES, STEP_BYTES = 24, 4


def group_size(n_nodes: int, settings: Settings, device: str) -> int:
    """Return how many searches are to go together: 1 where they gain nothing by it.

    Together go trust regions on a GPU whose networks all train on equally many rows, as long as their candidates and
    training steps fit into ``max_memory``.

    Examples
    --------
    >>> paper = Settings.preset("paper").with_(masks="shared", batch_norm="training")
    >>> group_size(10, paper, "cuda"), group_size(100, paper, "cuda"), group_size(10, paper, "cpu")
    (16, 8, 1)
    """
    if device == "cpu" or settings.route != "paper" or settings.replay != "uniform" or settings.n_replay == 0:
        return 1
    units = n_nodes * (settings.batch_size + settings.n_replay) * settings.hidden
    training = units * (UNIT_BYTES + STEP_BYTES * settings.n_grads) / 2**30
    each = candidates_gib(new_space(n_nodes, settings), settings) + training
    return int(min(MOST, max(1, settings.max_memory // each)))


def grouped(
    items: Iterable[Item],
    size: Callable[[Item], tuple[Hashable, int]],
) -> list[list[Item]]:
    """Return groups of items that may go together, each in the order given.

    ``size`` gives, of an item, what the items of a group have in common and how many they may be.

    Examples
    --------
    >>> grouped([30, 10, 31, 32], lambda item: (item // 10, 2))
    [[30, 31], [10], [32]]
    """
    groups: list[list[Item]] = []
    open_groups: dict[Hashable, list[Item]] = {}
    for item in items:
        common, most = size(item)
        group = open_groups.get(common)
        if group is None or len(group) >= most:
            group = open_groups[common] = []
            groups.append(group)
        group.append(item)
    return groups


def run_together(states: Sequence[Search], callbacks: Sequence[Iterable[Callback]]) -> list[Outcome]:
    """Run fresh searches with the same settings and number of nodes side by side, each with its own callbacks.

    A search that has ended rests until the others are done. When half of the group rest, the others go on without them.

    Examples
    --------
    >>> from drbo.data.table import Table
    >>> from drbo.scores.linear import BicNV
    >>> tables = [Table.from_array(np.random.default_rng(seed).normal(size=(50, 3))) for seed in range(2)]
    >>> settings = Settings.preset("paper").with_(n_candidates=50, max_evals=100)
    >>> states = [Search(BicNV(table), settings, seed=seed) for seed, table in enumerate(tables)]
    >>> [outcome.n_evals for outcome in run_together(states, [[], []])]
    [100, 100]
    """
    called = [list(each) for each in callbacks]
    stopped: list[str | None] = [None] * len(states)
    with search_time(states[0].settings.time_limit) as deadline:
        deadline.promise()
        try:
            _until_stopped(states, called, stopped)
        except KeyboardInterrupt as interrupt:
            late = isinstance(interrupt, OutOfTimeError)
            if not late and any(state.best is None for state in states):
                raise
            for k, state in enumerate(states):
                state.whole = stopped[k] is not None
                stopped[k] = stopped[k] or (deadline.reason if late else "interrupted")
        except torch.OutOfMemoryError as error:
            raise too_large(states[0]) from error
    return [ended(state, str(reason)) for state, reason in zip(states, stopped, strict=True)]


def _until_stopped(states: Sequence[Search], called: list[list[Callback]], stopped: list[str | None]) -> None:
    """Iterate until every search has a reason to stop; the reasons go into ``stopped``."""
    group = Lockstep(states)
    while None in stopped:
        going = [k for k, reason in enumerate(stopped) if reason is None]
        group.rest([state for state, reason in zip(states, stopped, strict=True) if reason is not None])
        before = [state.evaluator.n_evals for state in states]
        group.learn(group.evaluate(group.propose()))
        for k in going:
            stopped[k] = advance(states[k], before[k], called[k])


class Lockstep:
    """Searches that propose, evaluate and learn at the same time; see :class:`drbo.search.loop.Search`."""

    def __init__(self, states: Sequence[Search]) -> None:
        self.states = list(states)
        self._resting: set[int] = set()  # ids of states
        join([_proposer(state) for state in states])

    def propose(self) -> list[Dags]:
        """Return each search's DAGs to evaluate."""
        if self.states[0].iteration == 0:
            return [state.propose() for state in self.states]
        return propose_all([_proposer(state) for state in self.states], [state.room for state in self.states])

    def evaluate(self, dags: Sequence[Dags]) -> list[Evaluated]:
        """Score each search's proposals with its own score; those of a resting one are dropped."""
        pairs = zip(self.states, dags, strict=True)
        return [_nothing(state) if id(state) in self._resting else state.evaluate(each) for state, each in pairs]

    def learn(self, batches: Sequence[Evaluated]) -> None:
        """Tell the proposers what their proposals were worth, and train all networks."""
        for state, batch in zip(self.states, batches, strict=True):
            if id(state) not in self._resting:
                assert state.best is not None
                _proposer(state).note(batch, state.best, improved=state.stalled == 0)
        if any(len(batch) for batch in batches):
            train_all([_proposer(state) for state in self.states], [len(batch) for batch in batches])

    def rest(self, states: Iterable[Search]) -> None:
        """Let searches rest: they are computed along without effect until half of the group rest."""
        self._resting = {id(state) for state in states}
        going = [state for state in self.states if id(state) not in self._resting]
        if 2 * len(going) <= len(self.states):
            for state in self.states:
                leave(_proposer(state))
            join([_proposer(state) for state in going])
            self.states = going


def join(searches: Sequence[RegionProposer]) -> None:
    """Make the networks of several searches one surrogate."""
    surrogate = DropoutSurrogate.joined([search.surrogate for search in searches])
    first = 0
    for search in searches:
        search.surrogate = surrogate
        search.acquisition = Acquisition(search.space, surrogate, search.evaluator, search.settings, first)
        if len(search.history) == 0:
            search.history = History(search.space.n_nodes, surrogate.device, search.acquisition.inputs)
        first += search.space.n_nodes


def leave(search: RegionProposer) -> None:
    """Give a search a surrogate of its own again, with its networks as they are."""
    surrogate = search.surrogate.part(search.acquisition.first // search.space.n_nodes)
    search.surrogate = surrogate
    search.acquisition = Acquisition(search.space, surrogate, search.evaluator, search.settings)


def _proposer(state: Search) -> RegionProposer:
    assert isinstance(state.proposer, RegionProposer)  # only trust regions go together
    return state.proposer


def _nothing(state: Search) -> Evaluated:
    d = state.evaluator.score.n_nodes
    return Evaluated(np.empty((0, d, d), dtype=bool), np.empty((0, d)), np.empty(0))
