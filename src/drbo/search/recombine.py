"""Recombination: the best DAG all of whose families are already known; it costs no evaluation."""

import numpy as np

from drbo.arrays import Bools, Floats, Ints
from drbo.deadline import no_deadline
from drbo.graph.dag import topological_order
from drbo.scores.families import Families
from drbo.search import subset_kernels
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.known_orders import OrderedFamilies
from drbo.search.outcome import Evaluated
from drbo.search.state import LARGEST, Fields, State

#: Up to this many nodes the best recombination is found exactly after every batch.
EXACT_NODES = 12
#: Beyond twice as many families per node only this many are kept, the best ones: the cost then stays the same however
#: long the search goes on.
POOL = 500
#: Climbs from shuffled orders per recombination, beside the one from the incumbent.
RESTARTS = 4
#: Rounds of the level of a score that is additive only at a level; each round cannot lower the score.
LEVEL_ROUNDS = 10


class Recombiner:
    """Keeps the known families and finds the best DAG made of them."""

    def __init__(self, evaluator: Evaluator) -> None:
        d = evaluator.score.n_nodes
        self.evaluator = evaluator
        self._taken = 0  # families read from the evaluator
        self._rows = np.empty(0, dtype=np.int64)  # places of those that are kept among all that were read
        self._nodes = np.empty(0, dtype=np.intp)
        self._parents = np.empty((0, d), dtype=bool)
        self._local = np.empty(0)
        self._price = np.empty(0)

    def capture(self) -> State:
        """Return the state: which of the evaluator's families are kept, and their prices.

        A price that is computed again in another batch may differ in its last bit.
        """
        return {"taken": self._taken, "rows": self._rows, "price": self._price}

    def restore(self, fields: Fields) -> None:
        """Set the state; the evaluator has its own already."""
        families, local = self.evaluator.known()
        taken = fields.integer("taken", 0, len(families))
        rows = fields.array("rows", np.int64, (None,), 0, taken - 1)
        price = fields.array("price", np.float64, rows.shape, -LARGEST, LARGEST)
        if len(np.unique(rows)) < len(rows):
            fields.refuse("rows", "differ from each other", "the same family twice")
        self._taken, self._rows, self._price = taken, rows, price
        self._nodes, self._parents, self._local = families.nodes[rows], families.parents[rows], local[rows]

    def best(self, incumbent: Evaluated, rng: np.random.Generator) -> Evaluated:
        """Return the best DAG found among recombinations; never worse than the incumbent (one DAG)."""
        self._refresh(incumbent)
        score, best = self.evaluator.score, incumbent
        for _ in range(LEVEL_ROUNDS):
            level = score.level_of(best.local[0])
            found = self.evaluator.evaluate_one(self._best_additive(self._shares(level), best.dags[0], rng))
            if found.scores[0] <= best.scores[0]:
                break
            best = found
            if level is None:
                break
        return best

    def _shares(self, level: float | None) -> Floats:
        return self.evaluator.score.share(self._local, self._price, level, self._nodes)

    def _refresh(self, incumbent: Evaluated) -> None:
        """Take in what became known; where that is too much, keep the best families at the incumbent's level."""
        families, local = self.evaluator.known(since=self._taken)
        if len(families):
            self._add(families, local, self._taken + np.arange(len(families)))
            self._taken += len(families)
        if len(self._rows) < self._taken:
            self._recall(incumbent)
        d = self._parents.shape[1]
        if d > EXACT_NODES and len(self._nodes) > 2 * POOL * d:
            level = self.evaluator.score.level_of(incumbent.local[0])
            order = np.lexsort((-self._shares(level), self._nodes))
            starts = np.searchsorted(self._nodes[order], np.arange(d))
            kept = (self._parents == incumbent.dags[0].T[self._nodes]).all(axis=1)  # its order must stay possible
            kept[order[np.arange(len(order)) - starts[self._nodes[order]] < POOL]] = True
            self._nodes, self._parents = self._nodes[kept], self._parents[kept]
            self._local, self._price, self._rows = self._local[kept], self._price[kept], self._rows[kept]

    def _add(self, families: Families, local: Floats, rows: Ints) -> None:
        self._nodes = np.concatenate([self._nodes, families.nodes])
        self._parents = np.concatenate([self._parents, families.parents])
        self._local = np.concatenate([self._local, local])
        self._price = np.concatenate([self._price, self.evaluator.score.family_price(families)])
        self._rows = np.concatenate([self._rows, rows])

    def _recall(self, incumbent: Evaluated) -> None:
        """Take back families of the incumbent that were dropped before it was found."""
        present = (self._parents == incumbent.dags[0].T[self._nodes]).all(axis=1)
        dropped = np.setdiff1d(np.arange(self._parents.shape[1]), self._nodes[present])
        if len(dropped):
            families = Families.from_dags(incumbent.dags)[dropped]
            place = {key: row for row, key in enumerate(self.evaluator.known()[0].keys())}
            rows = np.array(list(map(place.__getitem__, families.keys())))
            self._add(families, incumbent.local[0][dropped], rows)

    def _best_additive(self, shares: Floats, incumbent: Bools, rng: np.random.Generator) -> Bools:
        d = incumbent.shape[0]
        if d <= EXACT_NODES:
            table = np.full((d, 1 << (d - 1)), -np.inf)
            columns = subset_kernels.column(self._parents @ (1 << np.arange(d)), self._nodes)
            np.maximum.at(table, (self._nodes, columns), shares)
            with no_deadline():  # it takes a moment
                return subset_kernels.best_dag(table)
        return self._climbed(shares, np.array(topological_order(incumbent)), rng)

    def _climbed(self, shares: Floats, order: Ints, rng: np.random.Generator) -> Bools:
        families, d = OrderedFamilies(self._nodes, self._parents, shares), len(order)
        best = families.climb(order, rng.permutation(d))
        for _ in range(RESTARTS):
            found = families.climb(_shuffled_part(best[0], rng), rng.permutation(d))
            best = found if found[2] > best[2] else best
        return families.dag(best[1])


def _shuffled_part(order: Ints, rng: np.random.Generator) -> Ints:
    """Return the order with a few nodes moved to random places."""
    moved = rng.choice(order, size=max(2, len(order) // 8), replace=False)
    rest = order[~np.isin(order, moved)]
    return np.insert(rest, np.sort(rng.integers(len(rest) + 1, size=len(moved))), moved)
