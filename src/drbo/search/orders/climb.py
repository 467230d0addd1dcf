"""Climbs over node orders: each node moves to its best position until no move gains.

The climb itself is compiled (``src/core/order_climb.cpp``); what single steps are worth comes from
:func:`drbo.search.orders.gains.steps_of`.
"""

from contextlib import suppress

import numpy as np
import numpy.typing as npt

from drbo import _core
from drbo.arrays import Bools, Floats, Ints
from drbo.deadline import Deadline, OutOfTimeError
from drbo.search.orders.gains import Expander

#: Random numbers that one shaking takes.
DRAWS = 7


class OrderClimb:
    """An order, the parents chosen along it, and moves that improve it.

    Parent sets that were met are remembered with the steps between them.

    Parameters
    ----------
    steps : says what adding or dropping a parent is worth.
    required : (d, d) edges that every graph holds.
    before : (d, d) pairs that must keep their order; (0, 0) where there are none.
    threads : that expand parent sets, at most; the result does not depend on them.
    """

    def __init__(self, steps: Expander, required: Bools, before: Bools, threads: int = 1) -> None:
        self.threads = threads
        self.compiled = isinstance(steps, _core.Steps)  # compiled steps let other threads run
        self._cost = steps.n_nodes if self.compiled else 0  # an Evaluator counts the others
        self._counted = 0
        compiled = steps if isinstance(steps, _core.Steps) else _core.ScoreSteps(steps.n_nodes, steps.expand)
        pairs = np.ascontiguousarray(before) if len(before) else None
        self._climb = _core.OrderClimb(compiled, np.ascontiguousarray(required), pairs, threads)

    @property
    def order(self) -> Ints:
        """The nodes (d,), first to last."""
        return self._climb.order

    @property
    def value(self) -> float:
        """Sum of the values of the chosen families."""
        return float(self._climb.values.sum())

    @property
    def dag(self) -> Bools:
        """The chosen parents as a DAG (d, d)."""
        return self._climb.dag

    @property
    def n_local(self) -> int:
        """Local scores computed so far, beside those that an Evaluator counts."""
        return self._climb.n_sets * self._cost

    @property
    def bytes(self) -> int:
        """Memory held."""
        return self._climb.bytes

    @property
    def repaired(self) -> bool:
        """Every chosen parent comes before its child: the DAG follows the order."""
        return self._climb.repaired

    def near(self, node: int) -> npt.NDArray[np.int32]:
        """Return the parents of a node, and the nodes that it would add, best first."""
        return self._climb.near(node)

    def take_count(self) -> int:
        """Return how many local scores were computed since the last call, beside those that an Evaluator counts."""
        counted, self._counted = self._counted, self.n_local
        return self._counted - counted

    def put(self, order: Ints, chosen: Ints | None = None) -> None:
        """Set an order, with its chosen sets or, where they are not given, with parents to be chosen from scratch."""
        self._climb.put(order, chosen)

    def stand(self, order: Ints, dag: Bools) -> None:
        """Set an order and a DAG along it."""
        self.put(order, self._climb.adopt(np.ascontiguousarray(dag), self.threads))

    def climb(self, visits: Ints, deadline: Deadline | None = None) -> None:
        """Move nodes to their best places until no move gains, or the deadline has come."""
        deadline = deadline or Deadline()
        with suppress(OutOfTimeError):  # a score of Python's looked at the deadline
            self._climb.climb(visits, self.threads, deadline.flag)

    def shake(self, draws: Floats, tolerance: float, deadline: Deadline | None = None) -> None:
        """Move a few related nodes to random places, climb near them, and keep what is at most so much worse.

        Once for each row of ``draws`` (m, DRAWS) from [0, 1), or until the deadline has come. What a shaking costs does
        not grow with the number of nodes.
        """
        deadline = deadline or Deadline()
        with suppress(OutOfTimeError):
            self._climb.shake(draws, tolerance, self.threads, deadline.flag)
