"""The search loop for expensive scores: propose, evaluate, learn (paper, Algorithm 1)."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.constraints import Constraints
from drbo.deadline import OutOfTimeError, Stop, Stopped, no_deadline
from drbo.errors import SettingsError
from drbo.scores.families import Families
from drbo.search.base import Search
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.evaluation.promotion import HOPE, Promotion
from drbo.search.outcome import Evaluated
from drbo.search.parent_sets import Screen, every_family, few_nodes, try_parent_sets, worth_a_pass
from drbo.search.polish import polish
from drbo.search.recombine import EXACT_NODES, Recombiner
from drbo.search.state import Fields, State, generator_state
from drbo.settings import Settings

Dags = Bools  # (B, d, d)

#: Iterations in a row that may propose nothing new before the search ends: everything in reach is known.
EMPTY_ROUNDS = 25
#: The first design where whole parent sets have been tried before.
SMALL_DESIGN = 2
#: While nothing improves, more and more is promoted that cheaper versions of the score speak against, and after so many
#: iterations everything.
ALL_HOPE = 15
#: With workers, proposals are made while others are computed: until so many families for each worker are under way
#: beyond the next ones to be finished, in at most so many batches.
FAMILIES_AHEAD, BATCHES_AHEAD = 2, 4
#: A search that is about to end scores all families that are left if they are at most this share of those it has
#: scored: with so few, single edges and drawn functions may miss a best graph that this settles.
LAST_SHARE = 0.5
#: What finds a DAG, in words.
FINDERS = ("given start", "parent sets", "first design", "climb", "trust region", "recombination", "polish")


class Proposer(Protocol):
    """What the loop needs: DAGs to evaluate, and to be told their scores."""

    finder: str  # what its proposals are called in a result
    patience: int | None  # iterations without a better score that end the search by default
    stall: int  # iterations without a better score after which the incumbent is polished
    works_ahead: bool  # it may be asked before it was told the scores of its last proposals

    def first(self, count: int) -> Dags:
        """Return the first design."""

    def propose(self, best: Evaluated, count: int) -> Dags:
        """Return at most ``count`` DAGs to evaluate next."""

    def learn(self, batch: Evaluated, best: Evaluated, improved: bool) -> None:
        """Take in the true scores of the last proposals; ``best`` is the incumbent after them."""

    def capture(self) -> State:
        """Return the state between two iterations."""

    def restore(self, fields: Fields, best: Evaluated | None, started: bool) -> None:
        """Set the state of a search with this incumbent, which has ``started`` if its first design was evaluated."""


class ProposalSearch(Search):
    """A search whose proposer names DAGs that are worth a true evaluation.

    Examples
    --------
    >>> from drbo.data.statistics.statistics import Statistics
    >>> from drbo.scores.linear import BicEV
    >>> from drbo.search.strategy import new_search
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> table = Statistics.from_array(np.column_stack([x, 2 * x + rng.normal(size=200)]))
    >>> outcome = new_search(BicEV(table), Settings(max_evals=10)).run()
    >>> outcome.best.dags[0].astype(int).tolist()
    [[0, 1], [0, 0]]
    """

    def __init__(
        self,
        evaluator: Evaluator,
        settings: Settings,
        constraints: Constraints,
        proposer: Proposer,
        rng: np.random.Generator,
        start: Bools | None = None,  # (d, d) a DAG that is scored first and improved from there
        screens: Sequence[Screen] = (),  # propose whole parent sets: the first one from the beginning, all in a stall
    ) -> None:
        super().__init__(evaluator, settings, constraints)
        d = evaluator.score.n_nodes
        if settings.max_local is not None and settings.max_local < d:
            raise SettingsError(
                f"max_local must be at least the number of columns, {d}, got {settings.max_local}",
                hint="a DAG needs one local score per column",
            )
        self.proposer, self.rng = proposer, rng
        self.promotion = Promotion(evaluator)
        self.recombiner = Recombiner(evaluator) if settings.parts.recombine else None
        self.screens = tuple(screens) if settings.parts.recombine and settings.parts.parent_sets else ()
        self.stalled, self.screened = 0, 0.0  # iterations without a better score, and steps that screens took
        self.found_by, self.empty = "first design", 0  # iterations in a row that evaluated nothing
        self.under_way: list[Dags] = []  # batches that were begun, the oldest first
        self.ahead = self._ahead()
        # Evaluations kept for a last polish: about two per node, at most a quarter of all.
        self.reserve = min(2 * d, evaluator.budget.total // 4) if settings.parts.polish else 0
        if start is not None:
            with suppress(OutOfTimeError):  # then there is no time for anything else either
                self._take(evaluator.evaluate(start[None]), "given start")

    def _ahead(self) -> int:
        """Return how many families are begun before they are needed: by the number of workers, which may change it all.

        None, where a cheaper version of the score first judges what is proposed, or where values depend on their batch.
        """
        evaluator = self.evaluator
        if evaluator.n_workers == 1 or evaluator.levels or evaluator.score.cell or not self.proposer.works_ahead:
            return 0
        return FAMILIES_AHEAD * evaluator.n_workers

    def make_round(self) -> None:
        """Propose, evaluate, learn."""
        before = self.evaluator.n_evals
        while self._room():
            self.under_way.append(self.evaluator.begin(self._promising(self.propose())))
        self.learn(self.evaluate(self.under_way.pop(0)))
        # A batch of known DAGs is free where it is not counted: without this count the search would not end.
        self.empty = 0 if self.evaluator.n_evals > before else self.empty + 1
        if not self.under_way and not self.spent and self._enough():
            self._settle()

    def _room(self) -> bool:
        """Tell whether one more batch is begun; the first design is finished before there are proposals."""
        if not self.under_way:
            return True
        if not self.ahead or self.rounds == 0 or len(self.under_way) > BATCHES_AHEAD or self._enough():
            return False
        awaited, first = self.evaluator.awaited.keys(), Families.from_dags(self.under_way[0]).keys()
        return len(set(awaited) - set(first)) < self.ahead

    def propose(self) -> Dags:
        """Return DAGs to evaluate: a first design, then what the surrogate holds promising."""
        small = self.rounds == 0 and self._try_parent_sets()
        room = max(1, self.evaluator.budget.evals_left(self.evaluator.n_evals) - self.reserve)
        if self.best is None or self.rounds == 0:
            return self.proposer.first(min(room, SMALL_DESIGN) if small else room)
        return self.proposer.propose(self.best, room)

    def evaluate(self, dags: Dags) -> Evaluated:
        """Finish proposals and keep the best DAG: a proposal, a recombination, or the end of a polish."""
        self.stalled += 1
        batch = self.evaluator.finish(dags)
        if len(batch):
            self._take(batch.best(), "first design" if self.rounds == 0 else self.proposer.finder)
        if self.recombiner and self.best is not None:
            self._take(self.recombiner.best(self.best, self.rng), "recombination")
        if self.stalled == self.proposer.stall:
            self._try_parent_sets()
        last = self.spent and not self.under_way
        if self.settings.parts.polish and self.best is not None and (self.stalled == self.proposer.stall or last):
            self._take(polish(self.best, self.promotion, self.constraints, self.rng), "polish")
            if last:  # what the polish left is for proposals again
                self.reserve //= 2
        return batch

    def _promising(self, dags: Dags) -> Dags:
        """Return the proposals that a cheaper version of the score does not rule out, their families scored."""
        stalled = self.stalled + 1
        self.promotion.hope = HOPE * (1 + stalled / self.proposer.stall) if stalled < ALL_HOPE else np.inf
        if self.rounds == 0 or self.best is None or not len(dags) or not self.promotion.levels:
            return dags
        families, score, best = Families.from_dags(dags), self.evaluator.score, self.best.scores[0]
        price = score.family_price(families).reshape(dags.shape[:2])

        def promise(values: Floats) -> Floats:
            scores = score.combine(values.reshape(price.shape), price)
            return np.repeat(np.where(scores > best, scores, -np.inf), dags.shape[1])

        values = self.promotion.values(families, promise).reshape(price.shape)
        known: Dags = dags[~np.isnan(values).any(axis=1)]
        return known

    def _settle(self) -> None:
        """Score the families that are left, if they are few: their best recombination is the optimum."""
        evaluator = self.evaluator
        if self.recombiner is None or self.best is None or evaluator.score.n_nodes > EXACT_NODES:
            return
        families = every_family(self.constraints, evaluator.n_local + (few := int(LAST_SHARE * evaluator.n_local)))
        if families is None:
            return
        rest = families[~np.array(evaluator.is_known(families.keys()))]
        if len(rest) <= few and len(evaluator.affordable(rest)) == len(rest):
            evaluator.families(rest)
            self._take(self.recombiner.best(self.best, self.rng), "recombination")

    def _try_parent_sets(self) -> bool:
        """Give nodes whole new parent sets, again and again while that leads to a better DAG.

        Return False if no screen is worth its price, or its sets are too small for so dense a graph. A search does not
        begin with them if there are few nodes, or if the score judges a family by a level that is not known yet.
        """
        if not self.screens or self.recombiner is None:
            return False
        score, ordered = self.evaluator.score, self.best is not None
        best = self.best or self.evaluator.evaluate_one(self.constraints.required)
        if self.rounds == 0 and (few_nodes(score) or score.level_of(best.local[0]) is not None):
            return False
        waiting, enough = list(self.screens if ordered else self.screens[:1]), False
        while waiting:
            screen = waiting.pop(0)
            if (screened := worth_a_pass(screen, self.evaluator, self.screened)) is None:
                continue
            self.screened = screened
            enough = try_parent_sets(best, self.promotion, self.constraints, screen, ordered)
            self._take(self.recombiner.best(best, self.rng), "parent sets")
            if not enough or self.best is None:
                return enough
            waiting = waiting if self.best is best else [screen, *waiting]
            best, ordered = self.best, True
        return enough

    def learn(self, batch: Evaluated) -> None:
        """Tell the proposer what its proposals were worth."""
        assert self.best is not None
        self.proposer.learn(batch, self.best, improved=self.stalled == 0)

    def finished(self) -> Stopped | None:
        """Return why the search ends: its budget, or nothing new or better for long."""
        return None if self.under_way else self._enough()

    def _enough(self) -> Stopped | None:
        """Return why nothing more is begun."""
        if self.spent:
            spent = f"{self.evaluator.n_evals} evaluations, {self.evaluator.n_local} local scores"
            return Stopped(Stop.BUDGET, f"budget exhausted: {spent}")
        patience = self.proposer.patience
        if patience is not None and self.settings.patience is None and self.stalled >= patience:
            return Stopped(Stop.PATIENCE, f"no better score in {patience} rounds of hill climbing")
        if self.empty >= EMPTY_ROUNDS:
            return Stopped(Stop.NOTHING_NEW, f"no new DAG to evaluate in {EMPTY_ROUNDS} rounds")
        return None

    def fall_back(self) -> Evaluated:
        """Return the best DAG of the families that were scored before the time was over."""
        found = super().fall_back()
        if self.recombiner is None:
            return found
        with no_deadline():
            return self.recombiner.best(found, self.rng)

    @property
    def spent(self) -> bool:
        """No evaluation is left for proposals."""
        return self.evaluator.down_to(self.reserve)

    def release(self) -> None:
        """Let workers give up what was begun."""
        self.evaluator.drop()

    def _take(self, found: Evaluated, found_by: str) -> None:
        """Replace the incumbent by a better DAG."""
        if self.best is None or found.scores[0] > self.best.scores[0]:
            self.best, self.found_by, self.stalled = found, found_by, 0

    def capture(self) -> State:
        """Return the state between two rounds."""
        return {
            "kind": "proposals",
            "rng": generator_state(self.rng),
            "evaluator": self.evaluator.capture(),
            "best": None if self.best is None else self.best.capture(),
            "found_by": self.found_by,
            **{name: getattr(self, name) for name in ("stalled", "rounds", "empty", "reserve", "screened")},
            "under_way": [{"dags": dags} for dags in self.under_way],
            "recombiner": self.recombiner.capture() if self.recombiner else None,
            "proposer": self.proposer.capture(),
        }

    def restore(self, fields: Fields) -> None:
        """Set the state."""
        fields.text("kind", ["proposals"])
        fields.generator("rng", self.rng)
        self.evaluator.restore(fields.part("evaluator"), self.constraints)
        self.found_by, self.screened = fields.text("found_by", FINDERS), fields.number("screened", 0.0, np.inf)
        self.stalled, self.rounds, self.empty = (fields.integer(name) for name in ("stalled", "rounds", "empty"))
        self.reserve = fields.integer("reserve", 0, 2 * self.evaluator.score.n_nodes)
        started, self.best = self.rounds > 0, None
        if fields.has("best") or started:
            self.best = self.evaluator.restored(fields.part("best"), self.constraints)
        if fields.expect("recombiner", self.recombiner is not None) and self.recombiner:
            self.recombiner.restore(fields.part("recombiner"))
        self.proposer.restore(fields.part("proposer"), self.best, started)
        self.under_way = [
            part.dags("dags", None, self.constraints) for part in fields.parts("under_way", BATCHES_AHEAD)
        ]
        for dags in self.under_way:
            self.evaluator.again(dags)
