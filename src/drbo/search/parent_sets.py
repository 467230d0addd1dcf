"""Whole parent sets: the true score decides about columns that explain a node together.

Moves of single edges miss causes that act only together. Here a screen, which costs no evaluation, ranks the columns
that could be parents of a node, and its first ones are tried as parent sets of growing size; the best of them is then
reduced, one parent at a time. Recombination builds a graph from what is found.
"""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from drbo.constraints import Constraints
from drbo.graph import descendants
from drbo.scores.families import Families
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.outcome import Evaluated

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: The largest parent set that is taken from a ranking, and the most parents that are added to those of the best graph.
MOST_PARENTS, MOST_ADDED = 6, 3
#: A graph is dense if sets hold more than this share of the columns, which shows after so many nodes.
DENSE, PROBED = 0.25, 5


class Screen(Protocol):
    """Ranks the columns that could be parents of a node."""

    def importance(self, node: int, candidates: Bools, given: Bools | None = None) -> Floats:
        """Return (d,) how much each candidate helps to explain what the given columns leave of a node."""


def try_parent_sets(
    best: Evaluated, evaluator: Evaluator, constraints: Constraints, screen: Screen, ordered: bool
) -> bool:
    """Score new parent sets for every node, as far as the budget goes; return whether small sets were enough.

    ``ordered``: only columns that are no descendants of the node in the best DAG are candidates, and they are also
    tried as additions to the present parents. Otherwise all columns are, and the work ends early in a dense graph, for
    which such sets are too small.
    """
    dag, level = best.dags[0], evaluator.score.level_of(best.local[0])
    free = constraints.allowed & ~np.eye(len(dag), dtype=bool)
    if ordered:
        free &= ~descendants(dag).T
    chosen, dense = 0, min(MOST_PARENTS - 1, DENSE * (len(dag) - 1))
    for count, node in enumerate(_spread(len(dag)), start=1):
        candidates, must = free[:, node], constraints.required[:, node]
        most = int(constraints.max_parents[node])
        sets = _prefixes(must, screen.importance(node, candidates), min(most, int(must.sum()) + MOST_PARENTS))
        if ordered:
            present = dag[:, node]
            importance = screen.importance(node, candidates, present)
            size = min(most, int(present.sum()) + MOST_ADDED)
            sets = np.concatenate([sets, _prefixes(present, importance, size), _singles(present, importance, size)])
        chosen += _shrunk(node, sets, must, evaluator, level)
        if not ordered and count >= PROBED and chosen > dense * count:
            return False
    return True


def _spread(d: int) -> list[int]:
    """Return all nodes, the first ones spread over the columns."""
    return sorted(range(d), key=lambda node: (node % max(1, d // PROBED), node))


def _prefixes(base: Bools, importance: Floats, most: int) -> Bools:
    """Return (m, d) a parent set, and with it the most important other columns, one more in each row."""
    sets = np.tile(base, (_room(base, importance, most) + 1, 1))
    rank = np.argsort(-np.where(base, 0.0, importance), kind="stable")
    for row in range(1, len(sets)):
        sets[row:, rank[row - 1]] = True
    return sets


def _singles(base: Bools, importance: Floats, most: int) -> Bools:
    """Return (m, d) a parent set with each of the most important other columns."""
    count = _room(base, importance, most)
    rank = np.argsort(-np.where(base, 0.0, importance), kind="stable")[:count]
    sets = np.tile(base, (count, 1))
    sets[np.arange(count), rank] = True
    return sets


def _room(base: Bools, importance: Floats, most: int) -> int:
    return max(0, min(most - int(base.sum()), int(((importance > 0) & ~base).sum())))


def _shrunk(node: int, sets: Bools, must: Bools, evaluator: Evaluator, level: float | None) -> int:
    """Score parent sets (m, d) of a node; remove parents from the best one while that gains; return its size."""
    best, size = -np.inf, 0
    while len(sets):
        families = Families(np.full(len(sets), node), sets)
        families = families[evaluator.affordable(families)]
        if not len(families):
            break
        local, price = evaluator.families(families), evaluator.score.family_price(families)
        shares = evaluator.score.share(local, price, level, families.nodes)
        top = int(np.argmax(shares))
        if shares[top] <= best:
            break
        best, chosen = float(shares[top]), families.parents[top]
        size, loose = int(chosen.sum()), np.flatnonzero(chosen & ~must)
        sets = np.tile(chosen, (len(loose), 1))
        sets[np.arange(len(loose)), loose] = False
    return size
