"""One search over node orders: climb from a first order, then perturb it and climb again.

What was computed on the way is kept in an :class:`~drbo.search.orders.climb.OrderClimb`, which is not part of the
state: :meth:`Ascent.stand` makes it again from the order and the DAG where the search stands.
"""

from contextlib import suppress

import numpy as np

from drbo.arrays import Bools, Ints
from drbo.constraints import Constraints
from drbo.deadline import Deadline, OutOfTimeError
from drbo.graph.dag import topological_order
from drbo.machine.threads import available, one_blas_thread
from drbo.scores.families import Families
from drbo.scores.forms import GramForm
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.climb import DRAWS, OrderClimb
from drbo.search.orders.gains import Expander, screened_steps, steps_of
from drbo.search.orders.listed import SAME, Listed
from drbo.search.orders.screening import Screening
from drbo.search.outcome import Evaluated
from drbo.search.recombine import LEVEL_ROUNDS
from drbo.search.state import Fields, State, generator_state

#: Change of an equal-variance score's level, as a share, that calls for a new additive bound.
LEVEL_CHANGE = 1e-4
#: Shakings of a round for each node, where nodes are few; and columns from which on there is one, as in brief searches.
SHAKINGS, MANY_COLUMNS = 3, 500
#: Nodes up to which small parent sets are listed when shaking no longer helps.
MAX_LISTED = 200
#: The level of a saved search is within this factor of that of its best DAG.
LEVEL_RANGE = 1e9

Order = Ints


class Ascent:
    """A search from one order, and where it stands.

    Parameters
    ----------
    evaluator : scores the DAGs, and counts.
    constraints : the knowledge.
    order : the first order.
    rng : of this search alone.
    deadline : ends climbs where they stand.
    memory : bytes of what was computed before it is forgotten.
    screening : the candidate parents, where there are too many columns to consider all of them.
    brief : shake once for each node in a round.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        constraints: Constraints,
        order: Order,
        rng: np.random.Generator,
        deadline: Deadline,
        memory: float,
        screening: Screening | None = None,
        brief: bool = False,
    ) -> None:
        self.evaluator, self.constraints = evaluator, constraints
        self.rng, self.deadline, self.memory, self.screening = rng, deadline, memory, screening
        self._shakings = len(order) if brief else max(len(order), min(SHAKINGS * len(order), MANY_COLUMNS))
        self.order, self.dag = consistent(order, constraints), constraints.required
        self.found: Evaluated | None = None
        self.waited = 0  # rounds without a better score
        self._checks = 0  # of the screening when the climb was made
        self._bound_level: float | None = None

    def capture(self) -> State:
        """Return the state between two rounds, when the first climb has ended."""
        assert self.found is not None
        places = {"order": self.order, "dag": self.dag[None], "level": self._bound_level}
        return {**places, "found": self.found.capture(), "waited": self.waited, "rng": generator_state(self.rng)}

    def restore(self, fields: Fields) -> None:
        """Set the state; the evaluator has its own already."""
        d = len(self.order)
        self.order = fields.array("order", np.int64, (d,), 0, d - 1)
        self.dag = fields.dags("dag", 1, self.constraints)[0]
        place = np.full(d, -1)
        place[self.order] = np.arange(d)
        if (place < 0).any() or (self.dag & (place[:, None] > place)).any():
            fields.refuse("order", "be a node order that is consistent with the DAG", "another order")
        self.found = self.evaluator.restored(fields.part("found"), self.constraints)
        self.waited = fields.integer("waited")
        fields.generator("rng", self.rng)
        level = self._level(self.found)
        self._bound_level = None
        if fields.expect("level", level is not None) and level:
            self._bound_level = fields.number("level", level / LEVEL_RANGE, level * LEVEL_RANGE)

    @property
    def score(self) -> float:
        """The best score so far."""
        return -np.inf if self.found is None else float(self.found.scores[0])

    @property
    def is_outdated(self) -> bool:
        """Whether another search found candidate parents that the climb does not know."""
        return self.screening is not None and any(self.screening.checks[self._checks :])

    def stand(self) -> OrderClimb:
        """Return a climb that stands where the search does, with nothing remembered."""
        return self._at(self._bound_level, self.order, self.dag)

    def start(self) -> OrderClimb:
        """Return a climb at the first order, with parents to be chosen."""
        climb = self._start(self._first_level())
        climb.put(self.order)
        return climb

    def rise(self, climb: OrderClimb) -> None:
        """Climb; it only computes, like :meth:`shake`."""
        climb.climb(self._visits(), self.deadline)

    def begin(self, climb: OrderClimb) -> OrderClimb:
        """Take note of the first climb; return the one to go on with.

        An equal-variance score is climbed through additive bounds: the first at the level of the order with all its
        edges, then each at the level where the last one ended, so that the score cannot fall from round to round.
        """
        found, kept_level = self._evaluate(climb), self._bound_level
        for _ in range(LEVEL_ROUNDS):
            if (level := self._level(found)) is None or self.deadline.over():
                break
            nearer = self._at(level, climb.order, found.dags[0])
            nearer.climb(self._visits(), self.deadline)
            again = self._evaluate(nearer)
            if again.scores[0] <= found.scores[0]:
                break
            climb, found, kept_level = nearer, again, level
        self.found, self._bound_level = found, kept_level
        self._stay(climb)
        while (wider := self.look_wider(climb)) is not None:
            climb = wider
        return climb

    def shake(self, climb: OrderClimb) -> bool:
        """Shake one to three times as often as there are nodes, keeping what is no worse; tell whether the value rose.

        It only computes: with compiled steps it may run beside the shaking of another search.
        """
        value = climb.value
        climb.shake(self.rng.random((self._shakings, DRAWS)), SAME * abs(value), self.deadline)
        rose = climb.value > value + SAME * abs(value)
        if rose:
            climb.climb(self._visits(), self.deadline)
        return rose

    def settle(self, climb: OrderClimb, rose: bool) -> OrderClimb:
        """Take note of a shaking; return the climb to go on with."""
        assert self.found is not None
        self.waited += 1
        if rose:
            again, before = self._evaluate(climb), self.score
            if again.scores[0] > before + SAME * abs(before):  # rounding must not choose among equivalent DAGs
                self.waited, self.found = 0, again
            climb = self._levelled(climb, self.found)
        self._stay(climb)
        return climb

    def look_wider(self, climb: OrderClimb) -> OrderClimb | None:
        """Check what is left unexplained against all columns; return a climb with the candidates found, if any."""
        screening, form = self.screening, self.evaluator.form
        if screening is None or not isinstance(form, GramForm) or self.deadline.over():
            return None
        dag, steps = climb.dag, screened_steps(form, self.constraints, self._bound_level)
        with suppress(OutOfTimeError):
            if screening.check(climb.order, lambda nodes: [np.flatnonzero(dag[:, node]) for node in nodes], steps):
                wider = self._at(self._bound_level, climb.order, dag)
                wider.climb(self._visits(), self.deadline)
                return self.settle(wider, True)
        return None

    def combine(self, climb: OrderClimb) -> bool:
        """Move to the best DAG of listed parent sets, and climb from there, if that is better; tell whether it is."""
        form, before = self.evaluator.form, self.score
        if not isinstance(form, GramForm) or not form.is_bic:
            return False
        if len(self.order) > MAX_LISTED or self.found is None or self.deadline.over():
            return False
        with one_blas_thread():
            listed = Listed(self.evaluator.score, form.grams[0], self.found.dags[0], self.constraints)
        self.evaluator.charge(listed.n_local)
        dag = listed.best(self.found.dags[0], self.rng)
        found = self.evaluator.evaluate(dag[None])
        if found.scores[0] <= before + SAME * abs(before):
            return False
        climb.stand(topological_order(dag), dag)
        climb.climb(self._visits(), self.deadline)
        again = self._evaluate(climb)
        better = again.scores[0] > found.scores[0] + SAME * abs(before)
        self.found, self.waited = again if better else found, 0
        self._stay(climb)
        return True

    def _stay(self, climb: OrderClimb) -> None:
        self.order, self.dag = climb.order, climb.dag

    def _visits(self) -> Order:
        return self.rng.permutation(len(self.order))

    def _start(self, level: float | None) -> OrderClimb:
        self._bound_level, form = level, self.evaluator.form
        if self.screening is not None and isinstance(form, GramForm):
            self._checks = len(self.screening.checks)
            steps: Expander = screened_steps(form, self.constraints, level)(self.screening.lists)
        else:
            steps = steps_of(self.evaluator, self.constraints, level)
        return OrderClimb(steps, self.constraints.required, self.constraints.before, available())

    def _at(self, level: float | None, order: Order, dag: Bools) -> OrderClimb:
        """Return a climb that stands at an order and a DAG along it."""
        climb = self._start(level)
        climb.stand(order, dag)
        return climb

    def _levelled(self, climb: OrderClimb, found: Evaluated) -> OrderClimb:
        """Return the climb at the level of what was found, if that changed; free memory where it is used up."""
        level = self._level(found)
        if climb.bytes <= self.memory and (
            level is None or self._bound_level is None or abs(level / self._bound_level - 1) < LEVEL_CHANGE
        ):
            return climb
        return self._at(level, climb.order, climb.dag)

    def _evaluate(self, climb: OrderClimb) -> Evaluated:
        """Score the DAG of a climb by the score itself, and count what the climb computed."""
        self.evaluator.charge(climb.take_count())
        return self.evaluator.evaluate(climb.dag[None])

    def _first_level(self) -> float | None:
        """Return the level of the complete DAG of the order, near that of a good sparse one, or of the required edges.

        None: the score is additive.
        """
        score, form, limits = self.evaluator.score, self.evaluator.form, self.constraints
        dag = limits.required
        if isinstance(form, GramForm) and form.equal_variance:
            place = np.argsort(self.order)
            dag = (place[:, None] < place[None, :]) & limits.allowed
            for node in np.flatnonzero(dag.sum(axis=0) > limits.max_parents):  # required ones, then near ones
                parents = np.flatnonzero(dag[:, node])
                ranked = parents[np.lexsort((-place[parents], ~limits.required[parents, node]))]
                dag[ranked[limits.max_parents[node] :], node] = False
        elif score.level_of(np.zeros(score.n_nodes)) is None:
            return None
        return score.level_of(self.evaluator.families(Families.from_dags(dag[None])))

    def _level(self, found: Evaluated) -> float | None:
        return self.evaluator.score.level_of(found.local[0])


def consistent(order: Order, constraints: Constraints) -> Order:
    """Return the order with required parents put before their children and all else as it was."""
    if not len(constraints.before):
        return order
    place = np.empty(len(order))
    place[order] = np.arange(len(order))
    for node in topological_order(constraints.required):
        parents = constraints.required[:, node]
        place[node] = max(place[node], place[parents].max(initial=-1) + 1e-6)
    return np.argsort(place, kind="stable")
