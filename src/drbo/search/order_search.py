"""The route for cheap scores: climbs over node orders with the true score, no networks.

Where a local score costs microseconds, what is left to do is to search: climb to an order that no move of a node
improves, shake a few neighbouring nodes, climb again, until shaking no longer helps. Then do it all again from an
unrelated order: two searches that end at the same score are a reason to stop.
"""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from drbo.graph import topological_order
from drbo.knowledge import Constraints
from drbo.scores.base import Families, Score
from drbo.scores.linear import BicEV
from drbo.search.evaluate import Evaluated, Evaluator
from drbo.search.improve import LEVEL_ROUNDS
from drbo.search.loop import Callback, Outcome, Progress
from drbo.search.score_steps import steps_of
from drbo.settings import Settings

if TYPE_CHECKING:
    from drbo.search.order_climb import OrderClimb

#: Families are counted, not rationed, on this route: time_limit and order_patience bound it.
NO_LIMIT = 2**62
#: Searches from unrelated orders, at most; they end earlier when two agree.
MAX_SEARCHES = 3
#: Scores closer than this share count as equal.
SAME = 1e-9
#: Nodes that are shaken together, at most.
SHAKEN = 3
#: Change of an equal-variance score's level, as a share, that calls for a new additive bound.
LEVEL_CHANGE = 1e-4

Order = npt.NDArray[np.int64]


class OrderSearch:
    """Climbs over orders for any decomposable score, within the knowledge.

    Examples
    --------
    >>> from drbo.data.table import Table
    >>> from drbo.scores.linear import BicNV
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> x[:, 1] += 2 * x[:, 0]
    >>> outcome = OrderSearch(BicNV(Table.from_array(x)), Settings(order_patience=2)).run()
    >>> (outcome.best.dags[0] | outcome.best.dags[0].T).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """

    def __init__(
        self,
        score: Score,
        settings: Settings,
        *,
        constraints: Constraints | None = None,
        seed: int = 0,
        start: npt.NDArray[np.bool_] | None = None,  # (d, d) a DAG whose order is climbed from first
    ) -> None:
        self.score = score
        self.settings = settings
        self.constraints = constraints or Constraints.none(score.n_nodes)
        self.rng = np.random.default_rng(seed)
        self.evaluator = Evaluator(score, settings.with_(max_evals=NO_LIMIT, max_local=None, count_known=False))
        self.start = start
        self.max_searches = MAX_SEARCHES
        self.best: Evaluated | None = None
        self.ends: list[float] = []  # where each search ended
        self.rounds, self.waited = 0, 0  # in all; without a better score in the search that is under way
        self.found: Evaluated | None = None  # by that search
        self.order, self.dag = np.arange(score.n_nodes), self.constraints.required  # where it stands
        self._bound_level: float | None = None
        self._deadline = np.inf
        self.whole = True  # False: interrupted within a round, not to be saved

    def run(self, callbacks: Iterable[Callback] = ()) -> Outcome:
        """Search from unrelated orders until two searches agree, or the last one ends."""
        callbacks = list(callbacks)
        if self.settings.time_limit is not None:
            self._deadline = time.monotonic() + self.settings.time_limit
        climb, stopped = None, self._finished()
        try:
            while stopped is None:
                climb = self._round(climb)
                stopped = self._call(callbacks) or self._finished()
        except KeyboardInterrupt:
            self.whole = False
            if self.best is None:
                raise
            stopped = "interrupted"
        assert self.best is not None  # the first climb always ends somewhere
        return Outcome(self.best, "order search", self.evaluator.n_evals, self.evaluator.n_local, stopped)

    def _round(self, climb: "OrderClimb | None") -> "OrderClimb | None":
        """Climb from a new order, or shake the one that is under way; return None where a search ended.

        ``climb`` only remembers what was computed: without it the round starts from the order and DAG that are kept.
        """
        if self.found is None:
            climb, self.found = self.climb(self.first_order(len(self.ends)))
        else:
            climb = climb or self._at(self._bound_level, self.order, self.dag)
            self.waited += 1
            if self._shake(climb):
                again = self._evaluate(climb)
                if again.scores[0] > self.found.scores[0] + SAME * abs(self.found.scores[0]):
                    self.waited = 0
                if again.scores[0] > self.found.scores[0]:
                    self.found = again
                climb = self._levelled(climb, self.found)
        self.order, self.dag = climb.state.order.copy(), climb.dag
        if self.best is None or self.found.scores[0] > self.best.scores[0]:
            self.best = self.found
        self.rounds += 1
        if self.waited < self.settings.order_patience:
            return climb
        self.ends.append(float(self.found.scores[0]))
        self.found, self.waited = None, 0
        return None

    def _finished(self) -> str | None:
        """Return why no further search is needed, if so."""
        if self.best is None:
            return None
        best, count = self.best.scores[0], len(self.ends)
        if sum(end >= best - SAME * abs(best) for end in self.ends) > 1:
            return f"{count} searches from unrelated orders: the best score was reached twice"
        if count >= self.max_searches:
            return f"{count} searches from unrelated orders ended, each at another score"
        return None

    def climb(self, order: Order) -> tuple["OrderClimb", Evaluated]:
        """Return where a climb from an order ends: the climb, and its DAG, scored.

        An equal-variance score is climbed through additive bounds: the first at the level of the order with all its
        edges, then each at the level where the last one ended, so that the score cannot fall from round to round.
        """
        climb = self._start(self._first_level(order))
        climb.put(order)
        climb.climb(self.rng.permutation(len(order)), late=self._late)
        found = self._evaluate(climb)
        for _ in range(LEVEL_ROUNDS):
            if (level := self._level(found)) is None or self._late():
                break
            nearer = self._at(level, climb.state.order, found.dags[0])
            nearer.state.open[:] = True
            nearer.climb(self.rng.permutation(len(order)), late=self._late)
            again = self._evaluate(nearer)
            if again.scores[0] <= found.scores[0]:
                break
            climb, found = nearer, again
        return climb, found

    def first_order(self, number: int) -> Order:
        """Return a start: the first is that of a given graph, or top-down by residual variance where variances are
        equal (Chen, Drton & Wang 2019); all others are random.
        """
        if self.start is not None and number == 0:
            return self._consistent(topological_order(self.start))
        if number > 0 or not isinstance(self.score, BicEV):
            return self._consistent(self.rng.permutation(self.score.n_nodes))
        log_variance, correlation = self.score.groups[0]
        deviation = np.exp(log_variance / 2)
        covariance = correlation * np.outer(deviation, deviation)
        d = len(deviation)
        left, rows, order = deviation**2, np.empty((d, d)), np.empty(d, dtype=np.int64)
        open_ = np.ones(d, dtype=bool)
        for k in range(d):  # a Cholesky factorisation that takes the least pivot first
            node = int(np.argmin(np.where(open_, left, np.inf)))
            order[k], open_[node] = node, False
            row = covariance[node] - rows[:k, node] @ rows[:k]
            rows[k] = row / np.sqrt(max(row[node], np.finfo(float).tiny))
            left = left - rows[k] ** 2
        return self._consistent(order)

    def _start(self, level: float | None) -> "OrderClimb":
        from drbo.search.order_climb import OrderClimb  # compiled: only where it is used
        from drbo.search.stepwise import ParentSets

        self._bound_level = level
        steps = steps_of(self.evaluator, self.constraints, level)
        return OrderClimb(ParentSets(steps, self.constraints.required), self.constraints.before)

    def _at(self, level: float | None, order: Order, dag: npt.NDArray[np.bool_]) -> "OrderClimb":
        """Return a climb that stands at an order and a DAG along it."""
        climb = self._start(level)
        climb.put(order, climb.sets.adopt(dag))
        return climb

    def _shake(self, climb: "OrderClimb") -> bool:
        """Shake as often as there are nodes, keeping what is no worse; tell whether the value rose."""
        d, value, kept = self.score.n_nodes, climb.value, climb.snapshot()
        start = value
        for _ in range(d):
            if self._late():
                break
            climb.put(self._consistent(self._shaken(climb)), kept[1])
            climb.climb(self.rng.permutation(d), thorough=False, late=self._late)
            if climb.value > value + SAME * abs(value):
                climb.climb(self.rng.permutation(d), late=self._late)
            if climb.value >= value - SAME * abs(value):  # a tie is another order of the same kind: go on from there
                value, kept = max(value, climb.value), climb.snapshot()
        climb.put(*kept)
        climb.climb(self.rng.permutation(d), thorough=False)
        return value > start + SAME * abs(start)

    def _shaken(self, climb: "OrderClimb") -> Order:
        """Return the order with a node and one or two that matter to it put at random places between them."""
        state, rng = climb.state, self.rng
        node = int(rng.integers(len(state.order)))
        near = climb.near(node)
        count = min(len(near), 1 + int(rng.integers(SHAKEN - 1)))
        moved = np.append(rng.choice(near, count, replace=False), node) if count else np.array([node])
        key = state.place.astype(np.float64)
        key[moved] = rng.uniform(key[moved].min() - 1, key[moved].max() + 1, size=len(moved)) + 0.5
        return np.argsort(key, kind="stable")

    def _levelled(self, climb: "OrderClimb", found: Evaluated) -> "OrderClimb":
        """Return the climb at the level of what was found, if that changed; free memory where it is used up."""
        level = self._level(found)
        full = climb.sets.bytes > self.settings.max_memory * 2**30 / 2
        if not full and (
            level is None or self._bound_level is None or abs(level / self._bound_level - 1) < LEVEL_CHANGE
        ):
            return climb
        return self._at(level, climb.state.order, climb.dag)

    def _evaluate(self, climb: "OrderClimb") -> Evaluated:
        """Score the DAG of a climb by the score itself, and count what the climb computed."""
        self.evaluator.charge(climb.take_count())
        return self.evaluator.evaluate(climb.dag[None])

    def _first_level(self, order: Order) -> float | None:
        """Return the level of the complete DAG of an order, near that of a good sparse one, or of the required edges.

        None: the score is additive.
        """
        dag = self.constraints.required
        if isinstance(self.score, BicEV):
            place = np.argsort(order)
            dag = (place[:, None] < place[None, :]) & self.constraints.allowed
            for node in np.flatnonzero(dag.sum(axis=0) > self.constraints.max_parents):  # required ones, then near ones
                parents = np.flatnonzero(dag[:, node])
                ranked = parents[np.lexsort((-place[parents], ~self.constraints.required[parents, node]))]
                dag[ranked[self.constraints.max_parents[node] :], node] = False
        elif self.score.level_of(torch.zeros(self.score.n_nodes, dtype=torch.float64)) is None:
            return None
        return self.score.level_of(torch.as_tensor(self.evaluator.families(Families.from_dags(dag[None]))))

    def _level(self, found: Evaluated) -> float | None:
        return self.score.level_of(torch.as_tensor(found.local[0]))

    def _consistent(self, order: Order) -> Order:
        """Return the order with required parents put before their children and all else as it was."""
        if not len(self.constraints.before):
            return order
        place = np.empty(len(order))
        place[order] = np.arange(len(order))
        for node in topological_order(self.constraints.required):
            parents = self.constraints.required[:, node]
            place[node] = max(place[node], place[parents].max(initial=-1) + 1e-6)
        return np.argsort(place, kind="stable")

    def _late(self) -> bool:
        return time.monotonic() >= self._deadline

    def _call(self, callbacks: list[Callback]) -> str | None:
        """Tell the callbacks how it stands; return why the search must stop."""
        assert self.best is not None
        evaluator = self.evaluator
        score, dag = float(self.best.scores[0]), self.best.dags[0].copy()  # a callback may keep or change it
        progress = Progress(self.rounds, evaluator.n_evals, evaluator.n_local, score, dag)
        reasons = [callback(progress) for callback in callbacks]
        return next((reason for reason in reasons if reason), None)
