"""Proposals for expensive scores (route surrogate): hill climbing on functions drawn from a surrogate of the score."""

import numpy as np

from drbo.constraints import Constraints
from drbo.scores.families import Families
from drbo.search.bayes.drawn_score import Landscape
from drbo.search.bayes.first_design import random_dags
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.loop import Dags
from drbo.search.outcome import Evaluated
from drbo.search.recombine import EXACT_NODES
from drbo.search.state import Fields, State
from drbo.settings import Settings

#: Pairs that are changed before a climb from the best DAG: one of these numbers, times the boldness.
JUMPS = (0, 2, 6)
#: While nothing improves, jumps grow longer and draws bolder: twice after this many rounds, ... at most so many times.
BOLD_ROUNDS, MAX_BOLDNESS = 5, 6.0
#: Every so many rounds without a better score, so many draws are climbed over orders instead of single edges.
ORDER_ROUNDS, ORDER_CLIMBS = 10, 4
#: Every so many rounds without a better score draws are free of the bounds of known families: they explore more.
FREE_ROUNDS = 3
#: Good DAGs of the last rounds from which a climb may start, and how often one does.
POOL_SIZE, POOL_SHARE = 8, 0.25
#: Rounds of climbs without a better score that end a search by default: by then draws and jumps are at their boldest.
PATIENCE = 30
#: Climbs in a round, and rounds without a better score before the polish: few climbs learn more from each local score.
#: Beyond the nodes that recombination combines exactly, many if cheaper versions of the score judge them first, or if
#: large batches of local scores take hardly longer.
FEW, MANY = (4, 10), (16, 5)
#: The least that the first design holds by default.
MIN_DESIGN = 8


class ClimbProposer:
    """Climbs of functions drawn from a surrogate of the score, each from a DAG near the best one.

    Known families count with their true values, and families that are being computed with the values that are expected
    of them. With ``skip_known`` a DAG made of such families only is not proposed: recombination sees it. Without a
    surrogate the starts of the climbs are proposed themselves.
    """

    finder = "climb"
    works_ahead = True
    patience: int | None = PATIENCE

    def __init__(
        self, evaluator: Evaluator, settings: Settings, constraints: Constraints, rng: np.random.Generator
    ) -> None:
        self.evaluator, self.settings, self.constraints, self.rng = evaluator, settings, constraints, rng
        self.landscape = Landscape(evaluator, settings, constraints, rng)
        judged = bool(evaluator.levels) or evaluator.score.batches
        climbs, self.stall = MANY if judged and evaluator.score.n_nodes > EXACT_NODES else FEW
        self.climbs = settings.climbs or climbs
        self.stalled = 0  # rounds without a better score
        self._pool: list[Dags] = []

    def capture(self) -> State:
        """Return the state between two iterations."""
        d = self.evaluator.score.n_nodes
        pool = np.stack(self._pool) if self._pool else np.empty((0, d, d), dtype=bool)
        return {"kind": "climbs", "stalled": self.stalled, "pool": pool, "landscape": self.landscape.capture()}

    def restore(self, fields: Fields, best: Evaluated | None, started: bool) -> None:
        """Set the state."""
        fields.text("kind", ["climbs"])
        self.stalled = fields.integer("stalled")
        self._pool = list(fields.dags("pool", None, self.constraints))[-POOL_SIZE:]
        self.landscape.restore(fields.part("landscape"))

    def first(self, count: int) -> Dags:
        """Return the sparsest DAG the knowledge allows, and random ones of many densities."""
        d = self.evaluator.score.n_nodes
        wanted = self.settings.parts.first_design or max(MIN_DESIGN, d // 2 if self.landscape.has_relative else d)
        return random_dags(min(wanted, count), self.constraints, self.rng)

    def propose(self, best: Evaluated, count: int) -> Dags:
        """Return the ends of the climbs that have an unknown family, each once."""
        self.landscape.refresh(best)
        boldness = min(1 + self.stalled / BOLD_ROUNDS, MAX_BOLDNESS)
        if self.settings.parts.surrogate and self.stalled and self.stalled % ORDER_ROUNDS == 0:
            ends = self.landscape.climb_orders(best.dags[0], ORDER_CLIMBS, boldness)
        else:
            starts = np.stack([self._start(best.dags[0], boldness) for _ in range(self.climbs)])
            ends = self.landscape.climb(starts, boldness, bounded=self.stalled % FREE_ROUNDS != FREE_ROUNDS - 1)
        keys = Families.from_dags(ends).keys()
        known = np.all(np.array(self.evaluator.is_asked(keys)).reshape(ends.shape[:2]), axis=1)
        _, once = np.unique(np.packbits(ends.reshape(len(ends), -1), axis=1), axis=0, return_index=True)
        fresh = np.sort(once[~np.take(known, once)] if self.settings.parts.skip_known else once)
        chosen: Dags = ends[fresh[:count]]
        return chosen

    def learn(self, batch: Evaluated, best: Evaluated, improved: bool) -> None:
        """Remember good DAGs to start from; the surrogate learns from families, when it is asked next."""
        self.stalled = 0 if improved else self.stalled + 1
        for row in np.argsort(-batch.scores, kind="stable")[:2]:
            self._pool.append(batch.dags[row])
        self._pool = self._pool[-POOL_SIZE:]

    def _start(self, best: Dags, boldness: float) -> Dags:
        pairs = self.rng.integers(len(best), size=(int(self.rng.choice(JUMPS) * boldness), 2))
        from_pool = self._pool and self.rng.random() < POOL_SHARE
        return self.landscape.jump(self._pool[self.rng.integers(len(self._pool))] if from_pool else best, pairs)
