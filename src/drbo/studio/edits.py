"""What an edit of the knowledge costs: the same table searched again, from the graph that is there.

Whatever needs a score is imported where it is used: a saved result opens without one.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.arrays import Bools
from drbo.constraints import Constraints
from drbo.knowledge import Knowledge
from drbo.result.on_data import evaluator_on

if TYPE_CHECKING:
    from drbo.result.result import Result

#: Twice the logarithm of a Bayes factor, and what Kass & Raftery (1995) call evidence of this size.
GRADES = ((10.0, "very strong"), (6.0, "strong"), (2.0, "positive"))
FREE = 1e-6  # a smaller difference of scores is rounding


@dataclass(frozen=True, eq=False)
class Edited:
    """The best graph that was found under some knowledge."""

    score: float
    dag: Bools  # (d, d)
    graph: Bools  # (d, d) its class under the knowledge; the DAG where the score tells the members of a class apart


class EditedSearch:
    """Searches the table of a result again under other knowledge, beginning from a graph that is known.

    Examples
    --------
    >>> import numpy as np
    >>> from drbo import DrBO
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> x[:, 1] += x[:, 0]
    >>> result = DrBO(score="bic-nv", random_state=0).fit(x).result_
    >>> search = EditedSearch(result, x)
    >>> before = search.present()
    >>> after = search(Knowledge(forbidden=["x0 -> x1", "x1 -> x0"]), before.dag)
    >>> int(after.dag.sum()), before.score - after.score > 10
    (0, True)
    """

    def __init__(self, result: "Result", X: Any) -> None:
        self._result = result
        self._evaluator, self._job = evaluator_on(result, X)

    def present(self) -> Edited:
        """Return the graph of the result, before pruning."""
        order, dag = self._job.columns, self._result.search.dag
        score = float(self._evaluator.evaluate_one(dag[np.ix_(order, order)]).scores[0])
        return Edited(score, dag, self._class(dag, self._result.constraints))

    def __call__(self, knowledge: Knowledge, start: Bools) -> Edited:
        """Return the best graph found under the knowledge, which is refused where it contradicts itself."""
        from drbo.claims.refits.warm import searched, warm_search
        from drbo.search.bayes.first_design import repaired
        from drbo.settings import Settings

        result, order = self._result, self._job.columns
        known = Constraints.of(knowledge, result.names)
        limits = known.permuted(order)
        begin = repaired(start[np.ix_(order, order)], limits)
        settings = Settings.from_dict(result.settings)
        best = searched(warm_search(self._evaluator.score, settings, limits, begin, result.seed)).best
        dag = self._job.restored(best.dags[0])
        return Edited(float(best.scores[0]), dag, self._class(dag, known))

    def _class(self, dag: Bools, known: Constraints) -> Bools:
        from drbo.claims.why import mpdag

        return mpdag(dag, known) if self._result.score_equivalent else dag


def price_words(price: float, evidence_scale: float | None) -> str:
    """Return what an edit costs, in words; ``evidence_scale``: the score per unit of log-evidence.

    Examples
    --------
    >>> price_words(12.4, 2.0)
    'costs 12.4: very strong evidence against it'
    >>> price_words(-3.0, 2.0), price_words(0.0, 2.0)
    ('gains 3: the search found a better graph', 'costs nothing: the data do not mind')
    """
    if abs(price) < FREE:
        return "costs nothing: the data do not mind"
    if price < 0:
        return f"gains {-price:.3g}: the search found a better graph"
    if evidence_scale is None:
        return f"costs {price:.3g} of the score"
    size = 2 * price / evidence_scale
    grade = next((f"{word} evidence against it" for least, word in GRADES if size > least), "hardly worth a mention")
    return f"costs {price:.3g}: {grade}"


def outvoted(price: float, evidence_scale: float | None, sure: float) -> bool:
    """Tell whether the data outvote a statement that is right with a probability: an edge prior with these odds.

    The best graph under the statement then has a lower posterior than the best one without it.

    Examples
    --------
    >>> outvoted(12.4, 2.0, 0.8), outvoted(2.0, 2.0, 0.8), outvoted(12.4, 2.0, 1.0)
    (True, False, False)
    """
    if evidence_scale is None or sure >= 1:
        return False
    return price / evidence_scale > math.log(sure / (1 - sure))


def moved(before: Bools, after: Bools, names: tuple[str, ...]) -> list[dict[str, str]]:
    """Return the links in which two graphs differ: what they are now, and in words what happened.

    Examples
    --------
    >>> one, two = np.array([[0, 1], [1, 0]], bool), np.array([[0, 1], [0, 0]], bool)
    >>> moved(one, two, ("a", "b"))
    [{'kind': 'directed', 'source': 'a', 'target': 'b', 'words': 'a → b is now directed'}]
    """
    found = []
    for i, j in np.argwhere(np.triu((before != after) | (before != after).T, 1)).tolist():
        was, now = (before[i, j], before[j, i]), (after[i, j], after[j, i])
        a, b = (names[j], names[i]) if now == (False, True) else (names[i], names[j])
        sign = "—" if all(now) else "→"
        if not any(now):
            kind, words = "removed", f"{a} and {b} are no longer linked"
        elif not any(was):
            kind, words = "added", f"{a} {sign} {b} is new"
        elif all(was):
            kind, words = "directed", f"{a} → {b} is now directed"
        elif all(now):
            kind, words = "opened", f"the direction of {a} — {b} is now open"
        else:
            kind, words = "turned", f"{a} → {b} was turned round"
        found.append({"kind": kind, "source": a, "target": b, "words": words})
    return found
