"""The only code that spends budget: it computes true scores, caches them by family, and counts evaluations."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from drbo.arrays import Bools, Floats, Indices
from drbo.constraints import Constraints
from drbo.deadline import no_deadline
from drbo.scores.base import Relative, Score
from drbo.scores.families import Families
from drbo.scores.forms import Form
from drbo.search.evaluation.budget import Budget
from drbo.search.evaluation.known import KnownFamilies
from drbo.search.evaluation.local_scores import family_words, local_scores
from drbo.search.evaluation.remote import Workers
from drbo.search.outcome import Evaluated, Fidelity
from drbo.search.state import Fields, State
from drbo.settings import Settings

#: A local score that is asked for twice may differ by this much.
DOUBT = 1e-6


@dataclass(eq=False)
class Level:
    """A cheaper version of the score, and what is known of it."""

    known: KnownFamilies
    cost: float  # of a family, as a share of the cost of its true local score

    @property
    def name(self) -> str:
        return self.known.score.name


class Evaluator:
    """True scores of DAGs and families, within the budget.

    ``n_evals`` counts DAGs with at least one unknown family (all DAGs with ``count_known``), ``n_local`` the distinct
    local scores that were computed. Work on single families is charged new families / d, rounded up. Cheaper versions
    of the score are charged the share of a local score that they declare to cost.

    Examples
    --------
    >>> from drbo.data.statistics.statistics import Statistics
    >>> from drbo.scores.linear import BicNV
    >>> table = Statistics.from_array(np.random.default_rng(0).normal(size=(50, 3)))
    >>> evaluator = Evaluator(BicNV(table), Settings(max_evals=2))
    >>> empty = np.zeros((1, 3, 3), dtype=bool)
    >>> len(evaluator.evaluate(empty)), evaluator.n_evals, evaluator.n_local
    (1, 1, 3)
    """

    def __init__(
        self,
        score: Score,
        settings: Settings,
        executor: Executor | None = None,
        budget: Budget | None = None,
        relatives: Sequence[Relative] = (),  # cheaper versions of the score, which are charged what they cost
    ) -> None:
        self.score = score
        self.budget = budget or Budget.of(settings, score.n_nodes)
        self.settings = settings
        self.n_evals = 0
        self._charged = 0
        self._owed = 0.0  # local scores that are not counted in n_evals yet; only where there are levels
        self._known = KnownFamilies(score, executor, settings.score_timeout)
        self._awaited = set[bytes]()  # families that are paid for and not known yet
        self.levels = [
            Level(KnownFamilies(each.score, executor, settings.score_timeout), each.cost)
            for each in sorted(relatives, key=lambda each: each.cost)
        ]

    @cached_property
    def form(self) -> Form | None:
        """What compiled code needs to know of the score; None: it is asked for local scores."""
        return self.score.compiled()

    @property
    def workers(self) -> Workers | None:
        """The executor with the true score; None: this process computes it."""
        return self._known.workers

    @property
    def n_workers(self) -> int:
        """Workers that compute true scores at a time, as counted once: the search may depend on it."""
        return 1 if self.workers is None else self.workers.count

    def capture(self) -> State:
        """Return the state: the counts, and the known families with their local scores."""
        levels = [level.known.capture() for level in self.levels]
        return {"n_evals": self.n_evals, "charged": self._charged, "owed": self._owed, "levels": levels} | (
            self._known.capture()
        )

    def restore(self, fields: Fields, limits: Constraints) -> None:
        """Set the state; every family must obey the knowledge."""
        self.n_evals, self._charged = fields.integer("n_evals"), fields.integer("charged")
        self._owed = fields.number("owed", 0.0, self.score.n_nodes)
        self._known.restore(fields, limits)
        parts = fields.parts("levels", len(self.levels))
        if len(parts) != len(self.levels):
            fields.refuse("levels", f"have {len(self.levels)} items", str(len(parts)))
        for level, part in zip(self.levels, parts, strict=True):
            level.known.restore(part, limits)

    def restored(self, fields: Fields, limits: Constraints) -> Evaluated:
        """Return a DAG that was captured, with its local scores."""
        dags = fields.dags("dag", 1, limits)
        keys = Families.from_dags(dags).keys()
        if not all(self.is_known(keys)):
            fields.refuse("dag", "consist of families with known local scores", "others")
        return Evaluated(dags, self._known.of(keys)[None], np.array([fields.number("score")]))

    @property
    def n_local(self) -> int:
        """True local scores computed so far: the distinct ones here, and those charged by a compiled search."""
        return len(self._known) + self._charged

    @property
    def fidelities(self) -> tuple[Fidelity, ...]:
        """What was spent on each cheaper version of the score."""
        return tuple(Fidelity(level.name, level.cost, len(level.known)) for level in self.levels)

    @property
    def n_spent(self) -> int:
        """What the budget of local scores has paid for: true ones, known or awaited, and cheaper ones at their cost."""
        return self.n_local + len(self._awaited) + int(sum(level.cost * len(level.known) for level in self.levels))

    def charge(self, count: int) -> None:
        """Count local scores that a compiled search computed itself, repeats included."""
        self._charged += count
        self.n_evals += -(-count // self.score.n_nodes)

    def down_to(self, reserve: int) -> bool:
        """Tell whether no more than a reserve of evaluations is left of the budget."""
        return self.budget.is_spent(self.n_evals, self.n_spent, reserve)

    def is_known(self, keys: list[bytes]) -> list[bool]:
        """Tell which families have been scored."""
        return [key in self._known for key in keys]

    def is_asked(self, keys: list[bytes]) -> list[bool]:
        """Tell which families have been scored or are awaited."""
        return [key in self._known or key in self._awaited for key in keys]

    def evaluate(self, dags: Bools) -> Evaluated:
        """Return the true scores of the DAGs (B, d, d), cut where the budget ends."""
        return self.finish(self.begin(dags))

    def begin(self, dags: Bools) -> Bools:
        """Return the DAGs that the budget allows; it pays for them now, and workers begin with their families."""
        keys = Families.from_dags(dags).keys()
        budget, d, kept, new = self.budget, dags.shape[1], 0, set[bytes]()
        while kept < len(dags):
            missing = set(self._unpaid(keys[kept * d : (kept + 1) * d])) - new
            counts = bool(missing) or budget.count_known
            over_local = bool(missing) and len(new) + len(missing) > budget.local_left(self.n_spent)
            if counts and (budget.evals_left(self.n_evals) <= 0 or over_local):
                break
            self.n_evals += counts
            new |= missing
            kept += 1
        self._await(new)
        return dags[:kept]

    def finish(self, dags: Bools) -> Evaluated:
        """Return the true scores of DAGs that were begun."""
        keys = Families.from_dags(dags).keys()
        self._compute({key for key in keys if key not in self._known})
        local = self._known.of(keys).reshape(dags.shape[:2])
        return Evaluated(dags, local, self.scores(dags, local))

    def again(self, dags: Bools) -> None:
        """Begin DAGs that were paid for before the search was saved."""
        self._await(set(self._unpaid(Families.from_dags(dags).keys())))

    def drop(self) -> None:
        """Let workers give up what was begun; it is computed when it is asked for."""
        if self.workers is not None:
            self.workers.drop()

    @property
    def awaited(self) -> Families:
        """Families that were begun and are not known yet."""
        return Families.from_keys(sorted(self._awaited), self.score.n_nodes)

    def _await(self, new: set[bytes]) -> None:
        self._awaited |= new
        self._known.begin(new)

    def _unpaid(self, keys: list[bytes]) -> list[bytes]:
        """Return the families that are neither known nor awaited."""
        return [key for key in keys if key not in self._known and key not in self._awaited]

    def _compute(self, new: set[bytes]) -> None:
        try:
            self._known.compute(new)
        finally:
            self._awaited -= new

    def affordable(self, families: Families) -> Indices:
        """Return the rows whose families are known or fit, in this order, into what is left of the budget."""
        left = self.budget.families_left(self.n_evals, self.n_spent)
        rows, new = [], set[bytes]()
        for row, key in enumerate(families.keys()):
            if key not in self._known and key not in self._awaited and key not in new:
                if len(new) >= left:
                    continue
                new.add(key)
            rows.append(row)
        return np.array(rows, dtype=np.intp)

    def families(self, families: Families) -> Floats:
        """Return true local scores of single families; new ones are charged as a share of a DAG evaluation."""
        keys = families.keys()
        self._pay(len(set(self._unpaid(keys))))
        self._compute({key for key in keys if key not in self._known})
        return self._known.of(keys)

    def preview(self, families: Families, level: int) -> Floats:
        """Return the values of families by a cheaper version of the score; new ones are charged what they cost.

        Those that the budget does not allow are NaN.
        """
        one, keys = self.levels[level], families.keys()
        new = list(dict.fromkeys(key for key in keys if key not in one.known))
        left = self.budget.families_left(self.n_evals, self.n_spent) / one.cost
        new = new[: int(min(len(new), max(0.0, left)))]
        self._pay(one.cost * len(new))
        one.known.compute(set(new))
        found = np.array([key in one.known for key in keys], dtype=bool)
        values = np.full(len(keys), np.nan)
        values[found] = one.known.of([key for key in keys if key in one.known])
        return values

    def _pay(self, cost: float) -> None:
        """Count local scores of single families: a share of a DAG evaluation, rounded up, at once or in the end."""
        if not self.levels:
            self.n_evals += -(-int(cost) // self.score.n_nodes)
            return
        whole, self._owed = divmod(self._owed + cost, self.score.n_nodes)
        self.n_evals += int(whole)

    def evaluate_one(self, dag: Bools) -> Evaluated:
        """Return the true score of one DAG (d, d), whatever is left of the budget and of the time.

        Known families cost nothing, even with ``count_known``.
        """
        with no_deadline():
            local = self.families(Families.from_dags(dag[None]))[None]
        return Evaluated(dag[None], local, self.scores(dag[None], local))

    def scores(self, dags: Bools, local: Floats) -> Floats:
        """Return the scores of DAGs (B, d, d) from their true local values (B, d)."""
        if len(dags) == 0:
            return np.empty(0)
        price = self.score.family_price(Families.from_dags(dags)).reshape(local.shape)
        return self.score.combine(local, price)

    def known(self, since: int = 0) -> tuple[Families, Floats]:
        """Return all families scored so far, in the order in which they became known, and their local values."""
        return self._known.since(since)

    def doubt(self, best: Evaluated) -> str | None:
        """Score the families of the best DAG once more; return, in words, where a user's score changed its mind.

        The best of many values of a score that is not sure of itself is the luckiest one. Our own scores are sure.
        """
        if type(self.score).__module__.startswith("drbo.") and not hasattr(self.score, "inner"):
            return None
        families = Families.from_dags(best.dags)
        again, before = local_scores(self.score, families), best.local[0]
        changed = np.flatnonzero(~np.isclose(again, before, rtol=DOUBT, atol=DOUBT))
        if len(changed) == 0:
            return None
        row = int(changed[0])
        words = family_words(self.score, families, row)
        return (
            f"score '{self.score.name}' is not deterministic: {words} was {before[row]:.6g} and is now "
            f"{again[row]:.6g}; the best score is therefore too optimistic"
        )
