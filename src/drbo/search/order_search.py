"""The route for cheap scores: iterated climbs over node orders with the true score, no networks.

For linear scores a local score costs about a microsecond, and what is left to do is to search: climb, shake the best
order, climb again, until shaking it no longer helps.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from drbo.graph import descendants, topological_order
from drbo.knowledge import Constraints
from drbo.scores.base import Families
from drbo.scores.linear import BicNV
from drbo.search.evaluate import Evaluated, Evaluator
from drbo.search.improve import LEVEL_ROUNDS
from drbo.search.loop import Callback, Outcome, Progress
from drbo.settings import Settings

if TYPE_CHECKING:
    from drbo.search.linear_orders import LinearProblem

#: Families are counted, not rationed, on this route: time_limit and order_patience bound it.
NO_LIMIT = 2**62


class OrderSearch:
    """Climbs over orders for a linear score, within the knowledge.

    Examples
    --------
    >>> from drbo.data.table import Table
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> x[:, 1] += 2 * x[:, 0]
    >>> outcome = OrderSearch(BicNV(Table.from_array(x)), Settings(order_patience=2)).run()
    >>> (outcome.best.dags[0] | outcome.best.dags[0].T).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """

    def __init__(
        self,
        score: BicNV,
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
        self._before = descendants(self.constraints.required)
        self._prices = _edge_prices(score)
        self.order = np.arange(score.n_nodes)
        self.start = start
        self.best: Evaluated | None = None
        self.climbs, self.improved_at = 0, 0
        self.whole = True  # False: interrupted within a climb, not to be saved

    def run(self, callbacks: Iterable[Callback] = ()) -> Outcome:
        """Climb from a first order, then from shaken copies of the best, until none was better for long."""
        callbacks = list(callbacks)
        stopped = self._finished()
        try:
            while stopped is None:
                order, found = self.climb(self.first_order() if self.best is None else self.shaken())
                self.climbs += 1
                if self.best is None or found.scores[0] > self.best.scores[0] + 1e-9 * abs(self.best.scores[0]):
                    self.best, self.order, self.improved_at = found, order, self.climbs
                stopped = self._call(callbacks, self.climbs) or self._finished()
        except KeyboardInterrupt:
            self.whole = False
            if self.best is None:
                raise
            stopped = "interrupted"
        assert self.best is not None  # the first climb always ends somewhere
        return Outcome(self.best, "order search", self.evaluator.n_evals, self.evaluator.n_local, stopped)

    def _finished(self) -> str | None:
        patience = self.settings.order_patience
        return f"no better order in {patience} climbs" if self.climbs - self.improved_at >= patience else None

    def climb(self, order: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Evaluated]:
        """Return where a climb from an order ends: the order and its DAG, scored.

        An equal-variance score is climbed through additive bounds: the first at the level of the order with all its
        edges, then each at the level where the last one ended, so that the score cannot fall from round to round.
        """
        level = self._complete_level(order) if self.score.equal_variance else None
        best_order, best = order, None
        for _ in range(LEVEL_ROUNDS):
            problem = self.problem(level)
            order, dag, count = problem.climb(best_order, self.rng.permutation(len(order)))
            self.evaluator.charge(count)
            found = self.evaluator.evaluate(dag[None])
            if best is not None and found.scores[0] <= best.scores[0]:
                break
            best_order, best = order, found
            if (level := self._level(found)) is None:
                break
        assert best is not None
        return best_order, best

    def first_order(self) -> npt.NDArray[np.int64]:
        """Return a start: top-down by residual variance where variances are equal (Chen, Drton & Wang 2019)."""
        if self.start is not None:
            return self._consistent(topological_order(self.start))
        if not self.score.equal_variance:
            return self._consistent(self.rng.permutation(self.score.n_nodes))
        log_variance, correlation = self.score.groups[0]
        left = np.exp(log_variance)
        covariance = correlation * np.sqrt(np.outer(left, left))
        order: list[int] = []
        for _ in range(len(left)):
            variance = np.diag(covariance).copy()
            variance[order] = np.inf
            node = int(np.argmin(variance))
            order.append(node)
            pivot = max(covariance[node, node], np.finfo(float).tiny)
            covariance = covariance - np.outer(covariance[:, node], covariance[node]) / pivot
        return self._consistent(np.array(order))

    def shaken(self) -> npt.NDArray[np.int64]:
        """Return the best order with a few nodes at random places."""
        d = len(self.order)
        count = min(d, 2 + int(self.rng.integers(max(1, d // 6))))
        moved = self.rng.choice(d, count, replace=False)
        rest = self.order[~np.isin(self.order, moved)]
        places = np.sort(self.rng.integers(len(rest) + 1, size=count))
        return self._consistent(np.insert(rest, places, moved))

    def problem(self, level: float | None) -> "LinearProblem":
        """Return the arrays of the compiled climb, for an additive form of the score at a level."""
        from drbo.search.linear_orders import LinearProblem  # compiled: only where it is used

        score, d = self.score, self.score.n_nodes
        weights = np.zeros(d)
        if level is not None:
            variances = [np.exp(score.groups[group][0][node]) for node, group in enumerate(score.group_of)]
            weights = score.n_rows / level * np.array(variances)
        return LinearProblem(
            np.stack([correlation for _, correlation in score.groups]),
            score.group_of.astype(np.int64),
            score.n_rows,
            weights,
            self._prices,
            self.constraints.allowed,
            self.constraints.required,
            self.constraints.max_parents.astype(np.int64),
            self._before,
        )

    def _complete_level(self, order: npt.NDArray[np.int64]) -> float:
        """Return the mean residual variance of the complete DAG of an order: near that of a good sparse one."""
        place = np.argsort(order)
        complete = (place[:, None] < place[None, :]) & self.constraints.allowed
        residual = np.exp(self.evaluator.families(Families.from_dags(complete[None])))
        return float((self.score.n_rows * residual).sum() / self.score.n_rows.sum())

    def _level(self, evaluated: Evaluated) -> float | None:
        return self.score.level_of(torch.as_tensor(evaluated.local[0]))

    def _consistent(self, order: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the order with required parents put before their children and all else as it was."""
        if not self._before.any():
            return order
        place = np.empty(len(order))
        place[order] = np.arange(len(order))
        for node in topological_order(self.constraints.required):
            parents = self.constraints.required[:, node]
            place[node] = max(place[node], place[parents].max(initial=-1) + 1e-6)
        return np.argsort(place, kind="stable")

    def _call(self, callbacks: list[Callback], climbs: int) -> str | None:
        assert self.best is not None
        evaluator = self.evaluator
        score, dag = float(self.best.scores[0]), self.best.dags[0].copy()  # a callback may keep or change it
        progress = Progress(climbs, evaluator.n_evals, evaluator.n_local, score, dag)
        reasons = [callback(progress) for callback in callbacks]
        return next((reason for reason in reasons if reason), None)


def _edge_prices(score: BicNV) -> npt.NDArray[np.float64]:
    """Return what each edge i -> j costs: the price of a linear score is a sum over parents."""
    d = score.n_nodes
    nodes, parents = np.divmod(np.arange(d * d), d)
    single = np.zeros((d * d, d), dtype=bool)
    single[np.arange(d * d), parents] = True
    prices = -score.family_price(Families(nodes, single)).reshape(d, d)
    return np.ascontiguousarray(prices.T)
