"""Whole parent sets: the true score decides about columns that explain a node together.

Moves of single edges miss causes that act only together. Here a screen, which costs no evaluation, ranks the columns
that could be parents of a node, and its first ones are tried as parent sets of growing size; the best of them is then
reduced, one parent at a time. Recombination builds a graph from what is found.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Protocol

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.constraints import Constraints
from drbo.graph.dag import descendants
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.evaluation.promotion import Promotion
from drbo.search.outcome import Evaluated

#: The largest parent set that is taken from a ranking, and the most parents that are added to those of the best graph.
MOST_PARENTS, MOST_ADDED = 6, 3
#: With at most so many nodes a random design holds most parent sets, and with the second number it serves as well where
#: a cheap score guides the search from there.
FEW_NODES, FEW_GUIDED_NODES = 6, 12
#: A graph is dense if sets hold more than this share of the columns, which shows after so many nodes, or if those of
#: the best graph hold more than the second share.
DENSE, PROBED, DENSE_BEST = 0.25, 5, 1 / 3


class Screen(Protocol):
    """Ranks the columns that could be parents of a node."""

    def work(self) -> float:
        """Return about how many simple steps, a nanosecond of one core each, the ranking of a node takes."""
        return 0.0

    def prepare(self, asked: Sequence[tuple[int, Bools]]) -> None:
        """Be told for which nodes, and all columns in question (d,), :meth:`importance` will be asked next."""
        return  # what is ranked node by node needs no preparation

    def importance(self, node: int, candidates: Bools, given: Bools | None = None) -> Floats:
        """Return (d,) how much each candidate helps to explain what the given columns leave of a node."""


def try_parent_sets(
    best: Evaluated, promotion: Promotion, constraints: Constraints, screen: Screen, ordered: bool
) -> bool:
    """Score new parent sets for every node, as far as the budget goes; return whether small sets were enough.

    ``ordered``: only columns that are no descendants of the node in the best DAG are candidates, and they are also
    tried as additions to the present parents. Otherwise all columns are. In a dense graph, for which such sets are too
    small, the work ends early, or does not begin where the best DAG is dense.
    """
    dag, level = best.dags[0], promotion.evaluator.score.level_of(best.local[0])
    free = constraints.allowed & ~np.eye(len(dag), dtype=bool)
    possible = 2.0 ** np.minimum(free.sum(axis=0), 60)  # parent sets of each node
    if ordered:
        free &= ~descendants(dag).T
    chosen, count = 0, 0
    dense = min(MOST_PARENTS - 1, (DENSE_BEST if ordered else DENSE) * (len(dag) - 1))
    if ordered and dag.sum() > dense * len(dag):
        return False
    known = np.bincount(promotion.evaluator.known()[0].nodes, minlength=len(dag))
    evaluator = promotion.evaluator
    shared = bool(promotion.levels) or evaluator.n_workers > 1 or evaluator.score.batches
    for group in _groups(len(dag)):
        screen.prepare(
            [(node, free[:, node] | (ordered & dag[:, node])) for node in group if known[node] < possible[node]]
        )
        for nodes in [group] if shared else [[node] for node in group]:
            asked = [node for node in nodes if known[node] < possible[node]]  # of the others every parent set is known
            sets = {node: _ranked(node, dag, free[:, node], constraints, screen, ordered) for node in asked}
            chosen, count = chosen + _shrunk(sets, constraints.required, promotion, level), count + len(nodes)
            if not ordered and count >= PROBED and chosen > dense * count:
                return False
    return True


def worth_a_pass(screen: Screen, evaluator: Evaluator, screened: float) -> float | None:
    """Return the steps that screens have taken after one more pass over all nodes; None: it is not worth them.

    Screens take at most as long as local scores: those so far, or those of a random design, which they replace.
    """
    d, each = evaluator.score.n_nodes, evaluator.score.local_work()
    after = screened + d * screen.work()
    return after if each is None or after <= each * max(d * d, evaluator.n_local) else None


def few_nodes(score: Score) -> bool:
    """Tell whether a search need not begin with whole parent sets."""
    guided = score.cheap or any(each.cost == 0 for each in score.relatives())
    return score.n_nodes <= (FEW_GUIDED_NODES if guided else FEW_NODES)


def every_family(constraints: Constraints, most: int) -> Families | None:
    """Return all families that the knowledge allows; None: there are more than so many."""
    d, families = len(constraints.names), list[tuple[int, tuple[int, ...]]]()
    for node in range(d):
        must = np.flatnonzero(constraints.required[:, node]).tolist()
        free = [i for i in np.flatnonzero(constraints.allowed[:, node]).tolist() if i != node and i not in must]
        sizes = range(min(int(constraints.max_parents[node]) - len(must), len(free)) + 1)
        if sum(comb(len(free), size) for size in sizes) > most - len(families):
            return None
        families += [(node, (*must, *more)) for size in sizes for more in combinations(free, size)]
    return Families.from_sets(d, families)


def _ranked(node: int, dag: Bools, candidates: Bools, constraints: Constraints, screen: Screen, ordered: bool) -> Bools:
    """Return the parent sets (m, d) of a node that are worth a try."""
    must, most = constraints.required[:, node], int(constraints.max_parents[node])
    sets = _prefixes(must, screen.importance(node, candidates), min(most, int(must.sum()) + MOST_PARENTS))
    if not ordered:
        return sets
    present = dag[:, node]
    importance = screen.importance(node, candidates, present)
    size = min(most, int(present.sum()) + MOST_ADDED)
    return np.concatenate([sets, _prefixes(present, importance, size), _singles(present, importance, size)])


def _groups(d: int) -> list[list[int]]:
    """Return groups of nodes, the first ones spread over the columns.

    Where sets are tried by cheaper versions of the score, the nodes of a group share what is learned about these, and
    where there are workers or a GPU, these share the sets; else each node has its turn.
    """
    nodes = sorted(range(d), key=lambda node: (node % max(1, d // PROBED), node))
    return [nodes[:PROBED], nodes[PROBED:]]


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


def _shrunk(sets: dict[int, Bools], required: Bools, promotion: Promotion, level: float | None) -> int:
    """Score parent sets (m, d) of nodes; remove parents from each best one while that gains; return their sizes."""
    best, sizes = np.full(len(required), -np.inf), dict.fromkeys(sets, 0)
    while sets:
        nodes = np.repeat(list(sets), [len(each) for each in sets.values()])
        tried = _Tried(promotion, Families(nodes, np.concatenate([*sets.values()])), best.copy(), level)
        shares, sets = tried.shares(promotion.values(tried.families, tried.gains)), {}
        for node in np.unique(nodes).tolist():
            own = np.flatnonzero((nodes == node) & ~np.isnan(shares))
            top = own[np.argmax(shares[own])] if len(own) else -1
            if top < 0 or shares[top] <= best[node]:
                continue
            best[node], chosen = shares[top], tried.families.parents[top]
            sizes[node], loose = int(chosen.sum()), np.flatnonzero(chosen & ~required[:, node])
            if len(loose):
                sets[node] = np.tile(chosen, (len(loose), 1))
                sets[node][np.arange(len(loose)), loose] = False
    return sum(sizes.values())


@dataclass(frozen=True, eq=False)
class _Tried:
    """Parent sets that are compared with the best ones of their nodes so far."""

    promotion: Promotion
    families: Families
    best: Floats  # (d,) shares of the score
    level: float | None

    def shares(self, values: Floats) -> Floats:
        """Return what each set adds to the score."""
        score = self.promotion.evaluator.score
        return score.share(values, score.family_price(self.families), self.level, self.families.nodes)

    def gains(self, values: Floats) -> Floats:
        """Return what each set may gain over the best one that is known of its node; -inf: nothing."""
        shares, goal = self.shares(values), self.best.copy()
        known = np.array(self.promotion.evaluator.is_known(self.families.keys()), dtype=bool)
        np.maximum.at(goal, self.families.nodes[known], shares[known])
        goal[goal == -np.inf] = np.finfo(float).min  # anything is better than nothing
        gains = shares - goal[self.families.nodes]
        return np.where(gains > 0, gains, -np.inf)
