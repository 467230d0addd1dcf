"""Compiled climbs over node orders: a node goes to the place where the whole order scores best, until none gains.

Parents are chosen step by step (:mod:`drbo.search.orders.parent_memo`). Where a node is passed, those that could take
it as a parent, or lose it, choose again from what they have (as in FLOP, Wienöbst et al. 2025); when nothing gains any
more, every node also chooses from scratch.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from drbo.deadline import Deadline, OutOfTimeError
from drbo.jit import numba
from drbo.search.orders.gains_linear import LinearSteps, expand
from drbo.search.orders.parent_memo import (
    DEAD,
    DROP,
    FORCED,
    UNKNOWN,
    Flags,
    Ints,
    ParentSets,
    Whole,
    connect,
    link,
    store,
)

#: What a move must gain.
LEAST_MOVE = 1e-6
#: No node is taken to be elsewhere. Passed as np.int64: a literal would be compiled apart.
NOBODY = -1
#: Places tried, about, before compiled code comes back, so that signals are heard: a second's work with 1,000 nodes.
PLACES = 20_000
#: What a climb does next.
REPAIR, LOCAL, THOROUGH = 0, 1, 2


class Climb(NamedTuple):
    """The state of a climb, as arrays for compiled code."""

    order: Ints  # (d,)
    place: Ints  # (d,) of each node
    chosen: Ints  # (d,) the parent set of each node
    open: Flags  # (d,) nodes worth a visit: something near them changed
    watched: Flags  # (d, d + 1) watched[w, i]: node w can change the choice of i; column d: of the node that moves
    watching: npt.NDArray[np.int32]  # (d + 1, d) the nodes that each one watches
    n_watching: Ints  # (d + 1,)
    watched_for: Ints  # (d + 1,) the set for which they are watched
    before: Flags  # (d, d) before[i, j]: i must come before j; (0, 0): nothing is asked
    visits: Ints  # (d,) the order in which nodes are tried
    clock: Ints  # [phase, next visit, moves in this round]
    steps: Ints  # (room, 2) steps whose end must be learned outside
    n_steps: Ints  # [how many]


class OrderClimb:
    """An order, the parents chosen along it, and moves that improve it.

    Parameters
    ----------
    sets : the parent sets; it learns those that are met.
    before : (d, d) pairs that must keep their order; (0, 0) where there are none.
    """

    def __init__(self, sets: ParentSets, before: Flags) -> None:
        self.sets = sets
        self._counted = 0
        d = sets.expander.n_nodes
        self.state = Climb(
            order=np.arange(d),
            place=np.arange(d),
            chosen=sets.pool.roots.copy(),
            open=np.zeros(d, dtype=bool),
            watched=np.zeros((d, d + 1), dtype=bool),
            watching=np.zeros((d + 1, d), dtype=np.int32),
            n_watching=np.zeros(d + 1, dtype=np.int64),
            watched_for=np.full(d + 1, -1),
            before=before,
            visits=np.arange(d),
            clock=np.zeros(3, dtype=np.int64),
            steps=np.empty((4 * d + 16, 2), dtype=np.int64),
            n_steps=np.zeros(1, dtype=np.int64),
        )

    @property
    def compiled(self) -> bool:
        """Steps are learned within compiled code, which lets other threads run."""
        return isinstance(self.sets.expander, LinearSteps)

    @property
    def value(self) -> float:
        """Sum of the values of the chosen families."""
        return float(self.sets.pool.sets["value"][self.state.chosen].sum())

    @property
    def dag(self) -> Flags:
        """The chosen parents as a DAG (d, d)."""
        d = len(self.state.order)
        dag = np.zeros((d, d), dtype=bool)
        for node in range(d):
            dag[self.sets.members(int(self.state.chosen[node])), node] = True
        return dag

    def near(self, node: int) -> npt.NDArray[np.int32]:
        """Return the parents of a node, and the nodes that it would add."""
        pool, entry = self.sets.pool, self.sets.pool.sets[self.state.chosen[node]]
        members = pool.members[entry["first_member"] :][: entry["n_members"]]
        additions = pool.additions["node"][entry["first_addition"] :][: entry["n_additions"]]
        return np.concatenate([members, additions])

    def take_count(self) -> int:
        """Return how many local scores were computed since the last call, beside those that an Evaluator counts."""
        counted, self._counted = self._counted, self.sets.n_local
        return self._counted - counted

    def snapshot(self) -> tuple[Ints, Ints]:
        """Return the order and the chosen sets."""
        return self.state.order.copy(), self.state.chosen.copy()

    def put(self, order: Ints, chosen: Ints | None = None) -> None:
        """Set an order, with its chosen sets or, where they are not given, with parents to be chosen from scratch."""
        self.state.order[:] = order
        self.state.place[order] = np.arange(len(order))
        self.state.chosen[:] = self.sets.pool.roots if chosen is None else chosen
        if chosen is None:
            self.state.open[:] = True

    @property
    def repaired(self) -> bool:
        """Every chosen parent comes before its child: the DAG follows the order."""
        return bool(self.state.clock[0] != REPAIR)

    def climb(self, visits: Ints, deadline: Deadline | None = None, thorough: bool = True) -> None:
        """Move nodes to their best places until no move gains, or the deadline has come.

        Not ``thorough``: only nodes near a change are tried.
        """
        deadline = deadline or Deadline()
        self.state.visits[:] = visits
        self.state.clock[:] = 0
        problem = self.sets.expander if self.compiled else None
        while not _run(thorough, deadline.flag, self.state, self.sets.pool, problem):
            if deadline.over():
                break
            if problem is not None:
                self.sets.make_room()
                continue
            try:
                self.sets.learn(self.state.steps[: self.state.n_steps[0]])
            except OutOfTimeError:
                break


@numba.njit(cache=True, nogil=True)
def _run(thorough: bool, stop: Any, state: Any, pool: Any, problem: Any) -> bool:
    """Climb until the end; False: steps must be learned outside, others must be let run, or ``stop`` was set."""
    d = len(state.order)
    state.n_steps[0] = 0
    if state.clock[0] == REPAIR:
        for node in range(d):
            if stop[0]:
                return False
            _repair(node, state, pool, problem)
        if state.n_steps[0] > 0:
            return False
        state.clock[0] = LOCAL
    while True:
        if not _visit_open(stop, state, pool, problem):
            return False
        if state.clock[0] == THOROUGH and state.clock[2] == 0:  # a whole round without a move
            if not _from_scratch(stop, state, pool, problem):
                return bool(state.n_steps[0] == 0 and not stop[0])
        elif not thorough:
            return True
        state.clock[0], state.clock[2] = THOROUGH, 0
        state.open[:] = True


@numba.njit(cache=True)
def _visit_open(stop: Any, state: Any, pool: Any, problem: Any) -> bool:
    """Move open nodes until there are none; False where steps must be learned first, or for a break."""
    d = len(state.order)
    idle, left = 0, 1 + PLACES // d
    while idle < d:
        node = state.visits[state.clock[1] % d]
        if state.open[node]:
            if left == 0 or stop[0]:
                return False
            left -= 1
            best = _best_place(node, state, pool, problem)
            if state.n_steps[0] > 0:
                return False
            state.open[node] = False
            idle = 0
            if best != state.place[node]:
                state.clock[2] += 1
                _move(node, best, state, pool, problem)
        idle += 1
        state.clock[1] += 1
    return True


@numba.njit(cache=True)
def _from_scratch(stop: Any, state: Any, pool: Any, problem: Any) -> bool:
    """Choose every node's parents from scratch; tell whether one got better."""
    better = False
    for node in range(len(state.order)):
        if stop[0]:
            break
        index = _choose(pool.roots[node], state.place[node], np.int64(NOBODY), state, pool, problem)
        if index >= 0 and pool.sets[index].value > pool.sets[state.chosen[node]].value + LEAST_MOVE:
            _take(node, index, state, pool)
            better = True
    return better


@numba.njit(cache=True)
def _repair(node: Whole, state: Any, pool: Any, problem: Any) -> None:
    """Drop parents that no longer come first, then choose on."""
    index, limit = state.chosen[node], state.place[node]
    lost = True
    while lost and index >= 0:
        lost = False
        entry = pool.sets[index]
        for k in range(entry.first_member, entry.first_member + entry.n_members):
            if state.place[pool.members[k]] >= limit:
                index, lost = _learn(index, np.int64(FORCED - pool.members[k]), state, pool, problem), True
                break
    index = _choose(index, limit, np.int64(NOBODY), state, pool, problem)
    if index >= 0:
        if index != state.chosen[node]:
            _take(node, index, state, pool)
        else:
            _watch(node, index, state, pool)


@numba.njit(cache=True)
def _choose(index: Whole, limit: Whole, moved: Whole, state: Any, pool: Any, problem: Any) -> Any:
    """Return the parent set where the steps from a set end, among nodes placed before ``limit``.

    ``moved`` is taken to be on the other side of the limit. -1: a step must be learned first.
    """
    while index >= 0:
        target: Any = DEAD
        first = pool.sets[index].first_addition
        for j in range(first, first + pool.sets[index].n_additions):
            other = np.int64(pool.additions[j].node)
            if (state.place[other] < limit) != (other == moved):
                target = np.int64(pool.additions[j].after)
                if target == UNKNOWN:
                    target = _learn(index, j, state, pool, problem)
                if target != DEAD:
                    break
        if target == DEAD:  # no addition is open
            target = np.int64(pool.sets[index].after_drop)
            if target == UNKNOWN:
                target = _learn(index, np.int64(DROP), state, pool, problem)
            if target == DEAD:
                break
        index = target
    return int(index)


@numba.njit(cache=True)
def _rechoose(index: Whole, other: Whole, limit: Whole, moved: Whole, state: Any, pool: Any, problem: Any) -> Any:
    """Return the choice that follows from a set when ``other`` has come or gone."""
    first = pool.sets[index].first_member
    for k in range(first, first + pool.sets[index].n_members):
        if pool.members[k] == other:
            index = _learn(index, FORCED - other, state, pool, problem)
            break
    return _choose(index, limit, moved, state, pool, problem)


@numba.njit(cache=True)
def _learn(index: Whole, step: Whole, state: Any, pool: Any, problem: Any) -> Any:
    """Return where a step leads. Without a compiled problem, or without room, note the step and return UNKNOWN."""
    d = len(state.order)
    before, members, additions = pool.counts
    room = before < len(pool.sets) and members + d <= len(pool.members) and additions + d <= len(pool.additions)
    learns = problem is not None and room
    parents = np.empty(d, dtype=np.int64)
    target = link(index, step, parents, learns, pool)
    if target == UNKNOWN:
        if state.n_steps[0] < len(state.steps):
            state.steps[state.n_steps[0], 0] = index
            state.steps[state.n_steps[0], 1] = step
            state.n_steps[0] += 1
        return UNKNOWN
    if problem is not None and target == before:
        gains = np.empty(d)
        node, size = np.int64(pool.sets[target].node), np.int64(pool.sets[target].n_members)
        value, drop, gain = expand(node, parents, size, problem, gains)
        store(target, value, gains, drop, gain, pool)
    return connect(index, step, target, pool)


@numba.njit(cache=True)
def _take(node: Whole, index: Whole, state: Any, pool: Any) -> None:
    """Give a node another parent set; it and all parents, old and new, are worth a visit."""
    state.open[node] = True
    for chosen in (state.chosen[node], index):
        first = pool.sets[chosen].first_member
        for k in range(first, first + pool.sets[chosen].n_members):
            state.open[pool.members[k]] = True
    state.chosen[node] = index
    _watch(node, index, state, pool)


@numba.njit(cache=True)
def _watch(watcher: Whole, index: Whole, state: Any, pool: Any) -> None:
    """Record the nodes that can change a choice: the members of the set, and those that it would add."""
    if state.watched_for[watcher] == index:
        return
    state.watched_for[watcher] = index
    for k in range(state.n_watching[watcher]):
        state.watched[state.watching[watcher, k], watcher] = False
    count, entry = 0, pool.sets[index]
    for k in range(entry.first_member, entry.first_member + entry.n_members):
        state.watching[watcher, count] = pool.members[k]
        count += 1
    for k in range(entry.first_addition, entry.first_addition + entry.n_additions):
        if pool.additions[k].after != DEAD:
            state.watching[watcher, count] = pool.additions[k].node
            count += 1
    for k in range(count):
        state.watched[state.watching[watcher, k], watcher] = True
    state.n_watching[watcher] = count


@numba.njit(cache=True)
def _best_place(node: Whole, state: Any, pool: Any, problem: Any) -> Any:
    """Return the place where the order scores best with all other nodes as they are."""
    d, here = len(state.order), state.place[node]
    low, high = _limits(node, state)
    best, best_gain = here, LEAST_MOVE
    now = pool.sets[state.chosen[node]].value
    for direction in (-1, 1):
        own, passed, at, known = state.chosen[node], 0.0, here, True
        _watch(d, own, state, pool)
        while low <= at + direction <= high:
            at += direction
            other = state.order[at]
            if state.watched[node, other]:  # it gains the node, or loses it
                index = _rechoose(state.chosen[other], node, at, node, state, pool, problem)
                known = known and index >= 0
                if index >= 0:
                    passed += pool.sets[index].value - pool.sets[state.chosen[other]].value
            if own >= 0 and state.watched[other, d]:
                own = _rechoose(own, other, at if direction < 0 else at + 1, np.int64(NOBODY), state, pool, problem)
                if own >= 0:
                    _watch(d, own, state, pool)
            known = known and own >= 0
            if known and passed + pool.sets[own].value - now > best_gain:
                best, best_gain = at, passed + pool.sets[own].value - now
    return int(best)


@numba.njit(cache=True)
def _limits(node: Whole, state: Any) -> Any:
    """Return the first and last place that a node may take."""
    low, high = 0, len(state.order) - 1
    if len(state.before) > 0:
        for place in range(len(state.order)):
            other = state.order[place]
            if state.before[other, node]:
                low = max(low, place + 1)
            if state.before[node, other]:
                high = min(high, place - 1)
    return low, high


@numba.njit(cache=True)
def _move(node: Whole, best: Whole, state: Any, pool: Any, problem: Any) -> None:
    """Put a node at its new place and repeat the choices of the trial; all their steps are known."""
    here = state.place[node]
    step = 1 if best > here else -1
    own = state.chosen[node]
    _watch(len(state.order), own, state, pool)
    for place in range(here, best, step):
        other = state.order[place + step]
        state.order[place], state.place[other] = other, place
        if state.watched[other, len(state.order)]:
            own = _rechoose(own, other, place + step, np.int64(NOBODY), state, pool, problem)
            _watch(len(state.order), own, state, pool)
    state.order[best], state.place[node] = node, best
    _take(node, own, state, pool)
    for place in range(here, best, step):
        other = state.order[place]
        if state.watched[node, other]:
            _take(
                other, _rechoose(state.chosen[other], node, place, np.int64(NOBODY), state, pool, problem), state, pool
            )
