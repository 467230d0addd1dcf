"""Route orders, for cheap scores: climbs over node orders with the true score, no surrogate.

Where a local score costs microseconds, what is left to do is to search: climb to an order that no move of a node
improves, shake a few neighbouring nodes, climb again, until shaking no longer helps. Do it all from an unrelated order
too: two searches that end at the same score are a reason to stop. Where they do not, the better neighbourhoods of both
are joined. They know nothing of each other, so that compiled ones are climbed and shaken at the same time, each in a
thread, and end where they would have ended one after the other.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.constraints import Constraints
from drbo.deadline import Stop, Stopped
from drbo.graph.dag import topological_order
from drbo.machine.threads import available, one_blas_thread, together
from drbo.scores.base import Score
from drbo.scores.forms import GramForm
from drbo.search.base import Search
from drbo.search.evaluation.budget import Budget
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.ascent import Ascent, Order
from drbo.search.orders.climb import OrderClimb
from drbo.search.orders.joined import joined
from drbo.search.orders.listed import SAME
from drbo.search.orders.screening import Screening, is_screened
from drbo.search.outcome import Evaluated
from drbo.search.state import Fields, State
from drbo.settings import Settings

#: Searches from unrelated orders, at most; they end earlier when two agree.
MAX_SEARCHES = 6
#: Columns of all searches together from which on there are fewer.
MANY_COLUMNS = 1_200
#: Searches that begin together, and the fewest that there are: it takes two to agree.
ABREAST = 2
#: A column whose residual variance is below this share of its own is a combination of others.
SINGULAR = 1e-12


def most_searches(n_nodes: int) -> int:
    """Return how many searches there are at most: six up to 200 columns, two from 401 on."""
    return max(ABREAST, min(MAX_SEARCHES, MANY_COLUMNS // n_nodes))


class OrderSearch(Search):
    """Climbs over orders for any decomposable score, within the knowledge.

    Examples
    --------
    >>> from drbo.data.statistics.statistics import Statistics
    >>> from drbo.scores.linear import BicNV
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> x[:, 1] += 2 * x[:, 0]
    >>> outcome = OrderSearch(BicNV(Statistics.from_array(x)), Settings(order_patience=2)).run()
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
        start: Bools | None = None,  # (d, d) a DAG whose order is climbed from first
        max_searches: int | None = None,
        brief: bool = False,  # shake little, and list no parent sets
    ) -> None:
        evaluator = Evaluator(score, settings, budget=Budget(score.n_nodes))
        super().__init__(evaluator, settings, constraints or Constraints.none(score.n_nodes))
        self.score, self.seed, self.start, self._brief = score, seed, start, brief
        self.found_by = "order search"
        self.max_searches = max_searches or most_searches(score.n_nodes)
        self.screening: Screening | None = None
        if isinstance(form := evaluator.form, GramForm) and is_screened(form):
            self.screening = Screening(form.grams[0], self.constraints.required)
        self._climbs: dict[Ascent, OrderClimb] = {}  # what was computed on the way: not part of the state
        self.ascents: list[Ascent] = []  # under way
        self.begun = 0
        self.ended: list[Evaluated] = []

    def release(self) -> None:
        """Forget the parent sets that were computed."""
        self._climbs.clear()

    def capture(self) -> State:
        """Return the state between two rounds."""
        return {
            "kind": "orders",
            "evaluator": self.evaluator.capture(),
            "best": None if self.best is None else self.best.capture(),
            "ascents": [ascent.capture() for ascent in self.ascents],
            "begun": self.begun,
            "ended": [one.capture() for one in self.ended],
            "rounds": self.rounds,
            "screening": None if self.screening is None else self.screening.capture(),
        }

    def restore(self, fields: Fields) -> None:
        """Set the state."""
        fields.text("kind", ["orders"])
        self.evaluator.restore(fields.part("evaluator"), self.constraints)
        self.begun, self.rounds = fields.integer("begun", 0, self.max_searches), fields.integer("rounds")
        self.best = None
        if fields.expect("best", self.begun > 0):
            self.best = self.evaluator.restored(fields.part("best"), self.constraints)
        if fields.expect("screening", self.screening is not None) and self.screening is not None:
            self.screening.restore(fields.part("screening"))
        ended, saved = fields.parts("ended", self.max_searches), fields.parts("ascents", self.max_searches)
        self.ended = [self.evaluator.restored(part, self.constraints) for part in ended]
        if (count := len(ended) + len(saved)) != self.begun:
            fields.refuse("begun", f"be {count}, the number of finished and running searches", str(self.begun))
        self.ascents = []
        for part in saved:  # the first ones go on side by side, later ones alone
            rng, order = np.random.default_rng(0), np.arange(self.score.n_nodes)
            self.ascents.append(self._ascent(order, rng, ABREAST if self.begun <= ABREAST else 1))
            self.ascents[-1].restore(part)

    def make_round(self) -> None:
        """Shake every search that is under way, or begin some; take leave of those that ended.

        Shaking computes and nothing else; all scores are taken here, one search after the other.
        """
        climbs = self._climbs
        if not self.ascents:
            for ascent in self._new():
                climbs[ascent] = ascent.start()
            self._together(Ascent.rise)
            for ascent in self.ascents:
                climbs[ascent] = ascent.begin(climbs[ascent])
                self._take(ascent)
            return
        for ascent in self.ascents:
            ascent.deadline = self.deadline
            if ascent not in climbs or ascent.is_outdated:
                climbs[ascent] = ascent.stand()
        for ascent, better in zip(self.ascents, self._together(Ascent.shake), strict=True):
            climbs[ascent] = ascent.settle(climbs[ascent], better)
            self._take(ascent)
        for ascent in [one for one in self.ascents if one.waited >= self.settings.order_patience]:
            if ascent.is_outdated:  # by the search before it
                continue
            if (wider := ascent.look_wider(climbs[ascent])) is not None:
                climbs[ascent] = wider
                self._take(ascent)
                continue
            settled = self._brief or (self.start is not None and self._is_reached(ascent))
            if not settled and ascent.combine(climbs[ascent]):
                self._take(ascent)
                continue
            assert ascent.found is not None
            self.ended.append(ascent.found)
            self._join(ascent)
            self.ascents.remove(ascent)
            del climbs[ascent]

    def _together(self, work: Callable[[Ascent, OrderClimb], Any]) -> list[Any]:
        """Do the same with all searches, those of compiled steps each in a thread."""
        climbs = [self._climbs[ascent] for ascent in self.ascents]
        compiled = all(climb.compiled for climb in climbs)
        for climb in climbs:
            climb.threads = 1 if compiled and len(climbs) > 1 else available()
        jobs = [partial(work, *both) for both in zip(self.ascents, climbs, strict=True)]
        return together(jobs, self.deadline.stop) if compiled else [job() for job in jobs]

    def _is_reached(self, ascent: Ascent) -> bool:
        """Tell whether a search that ended reached as much."""
        return any(ascent.score <= end.scores[0] + SAME * abs(end.scores[0]) for end in self.ended)

    def _join(self, ascent: Ascent) -> None:
        """Take what a search that ended found better than the best DAG, if only in a neighbourhood."""
        assert self.best is not None
        assert ascent.found is not None
        if self.deadline.over() or self.score.level_of(self.best.local[0]) is not None:  # not additive
            return
        least = SAME * abs(self.best.scores[0])
        graphs = self.best.dags[0], ascent.found.dags[0]
        dag = joined(self.evaluator, *graphs, free=self.constraints.is_trivial, least=least)
        if dag is not None:
            found = self.evaluator.evaluate(dag[None])
            self.best = found if found.scores[0] > self.best.scores[0] + least else self.best

    def _new(self) -> list[Ascent]:
        """Return the searches to begin with: two, or one more where they did not agree."""
        count = ABREAST if self.begun == 0 else 1
        for number in range(self.begun, min(self.begun + count, self.max_searches)):
            rng = np.random.default_rng([self.seed, number])
            order = self.first_order(number, rng)
            self.ascents.append(self._ascent(order, rng, count))
        self.begun += len(self.ascents)
        return self.ascents

    def _ascent(self, order: Order, rng: np.random.Generator, count: int) -> Ascent:
        """Return a search from an order, one of ``count`` that share the memory."""
        memory = self.settings.max_memory * 2**30 / (2 * count)
        return Ascent(self.evaluator, self.constraints, order, rng, self.deadline, memory, self.screening, self._brief)

    def _take(self, ascent: Ascent) -> None:
        if self.best is None or ascent.score > self.best.scores[0] + SAME * abs(self.best.scores[0]):
            self.best = ascent.found

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say beside the best DAG."""
        return () if self.screening is None else (self.screening.words,)

    @property
    def ends(self) -> tuple[Evaluated, ...]:
        """Where the searches ended that are over."""
        return tuple(self.ended)

    def finished(self) -> Stopped | None:
        """Return why no further search is needed, if so."""
        if self.best is None:
            return None
        best, count = self.best.scores[0], len(self.ended)
        if sum(end.scores[0] >= best - SAME * abs(best) for end in self.ended) > 1:
            words = f"converged: two of {count} independent searches reached the best score"
            return Stopped(Stop.CONVERGED, words)
        if count >= self.max_searches == 1:
            return Stopped(
                Stop.NOT_REPEATED,
                f"no better score in {self.settings.order_patience} rounds; the search was not repeated from another "
                "order, so the result may not be the optimum; try more seeds",
            )
        if count >= self.max_searches:
            return Stopped(
                Stop.DISAGREED,
                f"the {count} independent searches ended at different scores, so the result may not be the optimum; "
                "give it more time, or try more seeds",
            )
        return None

    def first_order(self, number: int, rng: np.random.Generator) -> Order:
        """Return a start: the first is that of a given graph, or top-down by residual variance where variances are
        equal (Chen, Drton & Wang 2019); all others are random.
        """
        if self.start is not None and number == 0:
            return topological_order(self.start)
        form = self.evaluator.form
        if number > 0 or not (isinstance(form, GramForm) and form.equal_variance):
            return rng.permutation(self.score.n_nodes)
        with one_blas_thread():
            return _top_down(form.log_scales[0], form.grams[0])


def _top_down(log_variance: Floats, correlation: Floats) -> Order:
    """Return the nodes, each the one with the least residual variance given those before it."""
    deviation = np.exp(log_variance / 2)
    covariance = correlation * np.outer(deviation, deviation)
    d = len(deviation)
    left, rows, order = deviation**2, np.empty((d, d)), np.empty(d, dtype=np.int64)
    open_ = np.ones(d, dtype=bool)
    for k in range(d):  # a Cholesky factorisation that takes the least pivot first
        node = int(np.argmin(np.where(open_, left, np.inf)))
        if left[node] <= SINGULAR * covariance[node, node]:  # the others are combinations: few rows
            order[k:] = np.flatnonzero(open_)
            break
        order[k], open_[node] = node, False
        row = covariance[node] - rows[:k, node] @ rows[:k]
        rows[k] = row / np.sqrt(left[node])
        left = left - rows[k] ** 2
    return order
