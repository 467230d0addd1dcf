"""The only code that spends budget: it computes true scores, caches them by family, and counts evaluations."""

from concurrent.futures import Executor

import numpy as np
import numpy.typing as npt

from drbo.constraints import Constraints
from drbo.deadline import no_deadline
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.search.evaluation.budget import Budget
from drbo.search.evaluation.local_scores import family_words, local_scores
from drbo.search.evaluation.remote import Workers
from drbo.search.outcome import Evaluated
from drbo.search.state import LARGEST, Fields, State
from drbo.settings import Settings

#: A local score that is asked for twice may differ by this much.
DOUBT = 1e-6
#: The largest size of a local score that is a logarithm, as those of a score with levels are: its power is finite.
LARGEST_LOG = 700.0


class Evaluator:
    """True scores of DAGs and families, within the budget.

    ``n_evals`` counts DAGs with at least one unknown family (all DAGs with ``count_known``), ``n_local`` the distinct
    local scores that were computed. Work on single families is charged new families / d, rounded up.

    Examples
    --------
    >>> from drbo.data.table import Table
    >>> from drbo.scores.linear import BicNV
    >>> table = Table.from_array(np.random.default_rng(0).normal(size=(50, 3)))
    >>> evaluator = Evaluator(BicNV(table), Settings(max_evals=2))
    >>> empty = np.zeros((1, 3, 3), dtype=bool)
    >>> len(evaluator.evaluate(empty)), evaluator.n_evals, evaluator.n_local
    (1, 1, 3)
    """

    def __init__(
        self, score: Score, settings: Settings, executor: Executor | None = None, budget: Budget | None = None
    ) -> None:
        self.score = score
        self.budget = budget or Budget.of(settings, score.n_nodes)
        self.workers = None if executor is None else Workers(score, executor, settings.score_timeout)
        self.settings = settings
        self.n_evals = 0
        self._charged = 0
        self._values: dict[bytes, float] = {}
        self._order: list[bytes] = []  # keys, in the order in which they became known

    def capture(self) -> State:
        """Return the state: the counts, and the known families with their local scores."""
        keys = np.frombuffer(b"".join(self._order), dtype=np.uint8).reshape(len(self._order), self._key_bytes)
        values = np.array([self._values[key] for key in self._order], dtype=np.float64)
        return {"n_evals": self.n_evals, "charged": self._charged, "keys": keys, "values": values}

    def restore(self, fields: Fields, limits: Constraints) -> None:
        """Set the state; every family must obey the knowledge."""
        n_evals, charged = fields.integer("n_evals"), fields.integer("charged")
        packed = fields.array("keys", np.uint8, (None, self._key_bytes))
        most = LARGEST if self.score.level_of(np.zeros(self.score.n_nodes)) is None else LARGEST_LOG
        values = fields.array("values", np.float64, (len(packed),), -most, most)
        raw, width = packed.tobytes(), self._key_bytes
        keys = [raw[start : start + width] for start in range(0, len(raw), width)]
        families = Families.from_keys(keys, self.score.n_nodes)
        if not limits.allow(families.nodes, families.parents) or families.keys() != keys:
            fields.refuse("keys", "be families that the knowledge allows", "others")
        self._values = dict(zip(keys, values.tolist(), strict=True))
        if len(self._values) < len(keys):
            fields.refuse("keys", "differ from each other", "the same family twice")
        self.n_evals, self._charged, self._order = n_evals, charged, keys

    def restored(self, fields: Fields, limits: Constraints) -> Evaluated:
        """Return a DAG that was captured, with its local scores."""
        dags = fields.dags("dag", 1, limits)
        keys = Families.from_dags(dags).keys()
        if not all(self.is_known(keys)):
            fields.refuse("dag", "consist of families with known local scores", "others")
        local = np.array([[self._values[key] for key in keys]])
        return Evaluated(dags, local, np.array([fields.number("score")]))

    @property
    def _key_bytes(self) -> int:
        """Bytes of a family's key."""
        return 4 + -(-self.score.n_nodes // 8)

    @property
    def n_local(self) -> int:
        """Local scores computed so far: the distinct ones here, and those charged by a compiled search."""
        return len(self._values) + self._charged

    def charge(self, count: int) -> None:
        """Count local scores that a compiled search computed itself, repeats included."""
        self._charged += count
        self.n_evals += -(-count // self.score.n_nodes)

    def down_to(self, reserve: int) -> bool:
        """Tell whether no more than a reserve of evaluations is left of the budget."""
        return self.budget.is_spent(self.n_evals, self.n_local, reserve)

    def is_known(self, keys: list[bytes]) -> list[bool]:
        """Tell which families have been scored."""
        return [key in self._values for key in keys]

    def evaluate(self, dags: npt.NDArray[np.bool_]) -> Evaluated:
        """Return the true scores of the DAGs (B, d, d), cut where the budget ends."""
        keys = Families.from_dags(dags).keys()
        budget, d, kept, new = self.budget, dags.shape[1], 0, set[bytes]()
        while kept < len(dags):
            missing = {key for key in keys[kept * d : (kept + 1) * d] if key not in self._values} - new
            counts = bool(missing) or budget.count_known
            over_local = bool(missing) and len(new) + len(missing) > budget.local_left(self.n_local)
            if counts and (budget.evals_left(self.n_evals) <= 0 or over_local):
                break
            self.n_evals += counts
            new |= missing
            kept += 1
        self._compute(new)
        local = np.array([self._values[key] for key in keys[: kept * d]]).reshape(kept, d)
        return Evaluated(dags[:kept], local, self.scores(dags[:kept], local))

    def affordable(self, families: Families) -> npt.NDArray[np.intp]:
        """Return the rows whose families are known or fit, in this order, into what is left of the budget."""
        left = self.budget.families_left(self.n_evals, self.n_local)
        rows, new = [], set[bytes]()
        for row, key in enumerate(families.keys()):
            if key not in self._values and key not in new:
                if len(new) >= left:
                    continue
                new.add(key)
            rows.append(row)
        return np.array(rows, dtype=np.intp)

    def families(self, families: Families) -> npt.NDArray[np.float64]:
        """Return true local scores of single families; new ones are charged as a share of a DAG evaluation."""
        keys = families.keys()
        new = {key for key in keys if key not in self._values}
        self.n_evals += -(-len(new) // families.n_nodes)
        self._compute(new)
        return np.array([self._values[key] for key in keys])

    def evaluate_one(self, dag: npt.NDArray[np.bool_]) -> Evaluated:
        """Return the true score of one DAG (d, d), whatever is left of the budget and of the time.

        Known families cost nothing, even with ``count_known``.
        """
        with no_deadline():
            local = self.families(Families.from_dags(dag[None]))[None]
        return Evaluated(dag[None], local, self.scores(dag[None], local))

    def scores(self, dags: npt.NDArray[np.bool_], local: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the scores of DAGs (B, d, d) from their true local values (B, d)."""
        if len(dags) == 0:
            return np.empty(0)
        price = self.score.family_price(Families.from_dags(dags)).reshape(local.shape)
        return self.score.combine(local, price)

    def known(self, since: int = 0) -> tuple[Families, npt.NDArray[np.float64]]:
        """Return all families scored so far, in the order in which they became known, and their local values."""
        keys = self._order[since:]
        return Families.from_keys(keys, self.score.n_nodes), np.array([self._values[key] for key in keys])

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

    def _compute(self, new: set[bytes]) -> None:
        """Score unknown families, in the order of their keys so that nothing depends on who asked first."""
        if not new:
            return
        keys = sorted(new)
        if self.score.cell or self.workers:
            keys.sort(key=lambda key: key[4:])  # families with the same parents stand together: scores share work there
        families, values = Families.from_keys(keys, self.score.n_nodes), list[float]()
        try:
            if self.workers is None:
                local_scores(self.score, families, values)
            else:
                values += self.workers.local(families).tolist()
        finally:  # also what was computed before the time was over
            self._values.update(zip(keys, values, strict=False))
            self._order += sorted(keys[: len(values)])
