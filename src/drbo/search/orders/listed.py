"""The best DAG of listed parent sets: what greedy choices of parents along an order cannot find.

Along an order, a climb adds one parent at a time. Two parents that say nothing alone but much together are missed that
way, from whatever order it starts. Here every small set of a few candidate parents is scored, and the pairs of columns
that explain most together, so that each node has the best of its listed sets along any order.
"""

from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from drbo.arrays import Bools, Floats, Indices, Ints
from drbo.constraints import Constraints
from drbo.graph.dag import topological_order
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.search.known_orders import OrderedFamilies

#: Scores closer than this share count as equal.
SAME = 1e-9
#: Candidate parents of a node, at most; the largest set of them that is listed; and listed sets of all nodes, at most.
CANDIDATES, LARGEST, SETS = 11, 4, 30_000
#: Pairs of columns that are listed for each node, at most: those that explain most beyond the better one of both.
PAIRS = 100
#: Nodes that are moved to random places before a climb, at most.
MOVED = 10
#: Climbs without a better DAG before the end: so many per node, at most, and fewer where d nodes make climbs long.
CLIMBS, WORK = 8, 10**9
#: A correlation matrix is inverted with this much added to its diagonal.
RIDGE = 1e-3


class _Sets(NamedTuple):
    """Parent sets of every node that may have parents, as many of each."""

    parents: Bools  # (f, m, d)
    shares: Floats  # (f, m)


class Listed:
    """The useful parent sets of all nodes, near a DAG.

    Parameters
    ----------
    score : of linear effects.
    correlation : (d, d) of the columns.
    dag : (d, d) where the candidates of a node are its neighbours and their other parents, then the nodes that are
        correlated most with it, alone or given all others.
    constraints : the knowledge.

    Examples
    --------
    >>> from drbo.data.statistics.statistics import Statistics
    >>> from drbo.scores.linear import BicNV
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 3))
    >>> x[:, 1] = x[:, 0] + 0.1 * x[:, 1]
    >>> x[:, 2] += 8 * (x[:, 1] - x[:, 0])
    >>> score, dag = BicNV(Statistics.from_array(x)), np.zeros((3, 3), dtype=bool)
    >>> listed = Listed(score, np.corrcoef(x.T), dag, Constraints.none(3))
    >>> (listed.best(dag, rng) | np.eye(3, dtype=bool)).any(axis=0).tolist()
    [True, True, True]
    """

    def __init__(self, score: Score, correlation: Floats, dag: Bools, constraints: Constraints) -> None:
        d = len(dag)
        self._free = np.flatnonzero((constraints.allowed | constraints.required).any(axis=0))  # nodes with parents
        f = len(self._free)
        count = max(k for k in range(min(CANDIDATES, d - 1) + 1) if k < 2 or f * len(_subsets(k, LARGEST)[0]) <= SETS)
        sets, smaller = _subsets(count, LARGEST)
        candidates = _candidates(correlation, dag, constraints)[self._free, :count]
        parents = np.zeros((f, len(sets), d + 1), dtype=bool)  # the last column takes the place of no candidate
        for member in sets.T:
            chosen = np.where(member < 0, d, candidates[:, member])
            parents[np.arange(f)[:, None], np.arange(len(sets))[None], chosen] = True
        self._score, self._constraints, self.n_local = score, constraints, 0
        listed = [self._scored(parents[:, :, :d])]
        useful = [_useful(listed[0].shares, (sets >= 0).sum(axis=1), smaller)]
        if d > 2:
            one = np.eye(d, dtype=bool)
            single = self._scored(np.broadcast_to(one, (f, d, d))).shares  # the node itself stands for no parent
            first, second = _pairs(correlation, self._free)
            listed.append(self._scored(one[first] | one[second]))
            rows = np.arange(f)[:, None]
            alone = np.maximum(single[rows, first], single[rows, second])
            useful.append(listed[1].shares > np.maximum(alone, single[np.arange(f), self._free][:, None]))
        own = Families.from_dags(dag[None])
        self._nodes = np.concatenate([*(self._free[np.nonzero(kept)[0]] for kept in useful), own.nodes])
        self._parents = np.concatenate(
            [*(part.parents[kept] for part, kept in zip(listed, useful, strict=True)), own.parents]
        )
        self._shares = np.concatenate(
            [*(part.shares[kept] for part, kept in zip(listed, useful, strict=True)), self._shares_of(own)]
        )

    def _scored(self, parents: Bools) -> "_Sets":
        """Score sets (f, m, d) of nodes that may have parents, without what is forbidden and with what is required."""
        limits, d = self._constraints, parents.shape[-1]
        parents = (parents & limits.allowed.T[self._free, None]) | limits.required.T[self._free, None]
        families = Families(np.repeat(self._free, parents.shape[1]), parents.reshape(-1, d))
        self.n_local += len(families)
        most = np.maximum(limits.max_parents, limits.required.sum(axis=0))[families.nodes]
        shares = np.where(families.sizes > most, -np.inf, self._shares_of(families))
        return _Sets(parents, shares.reshape(parents.shape[:2]))

    def _shares_of(self, families: Families) -> Floats:
        score = self._score
        return score.share(score.local(families), score.family_price(families), None, families.nodes)

    def best(self, dag: Bools, rng: np.random.Generator) -> Bools:
        """Return the best DAG of climbs over orders: the first from a DAG, the others with a few nodes moved."""
        families, d = OrderedFamilies(self._nodes, self._parents, self._shares), len(dag)
        free, fixed = self._free, np.setdiff1d(np.arange(d), self._free)
        along = topological_order(dag)
        start = np.concatenate([fixed, along[np.isin(along, free)]])
        order, chosen, best = families.climb(start, rng.permutation(free))
        waited, patience = 0, min(CLIMBS * len(free), WORK // d**4)
        while waited < patience:
            waited += 1
            moved = np.concatenate([fixed, _moved(order[len(fixed) :], rng)])
            found = families.climb(moved, rng.permutation(free))
            if found[2] > best + SAME * abs(best):
                waited = 0
            if found[2] >= best - SAME * abs(best):  # a tie is an order of the same kind: go on
                order, chosen, best = found[0], found[1], max(best, found[2])
        return families.dag(chosen)


def _moved(order: Ints, rng: np.random.Generator) -> Ints:
    """Return the order with a few nodes at random places."""
    d = len(order)
    moved = rng.choice(d, size=min(d, 2 + int(rng.integers(MOVED - 1))), replace=False)
    key = np.arange(d, dtype=np.float64)
    key[moved] = rng.uniform(-1, d, size=len(moved))
    return order[np.argsort(key, kind="stable")]


def _candidates(correlation: Floats, dag: Bools, constraints: Constraints) -> Indices:
    """Return the candidate parents (d, d) of every node, best first; forbidden ones come last."""
    inverse = np.linalg.inv(correlation + RIDGE * np.eye(len(dag)))
    partial = inverse / np.sqrt(np.outer(np.diag(inverse), np.diag(inverse)))
    near = dag | dag.T
    married = (dag.astype(np.float32) @ dag.T.astype(np.float32)) > 0
    ranks = [np.argsort(np.argsort(-np.abs(part), axis=0, kind="stable"), axis=0) for part in (correlation, partial)]
    key = np.minimum(*ranks).astype(np.float64)
    key[married] -= len(dag)
    key[near] -= 2 * len(dag)
    key[~constraints.allowed] = np.inf
    np.fill_diagonal(key, np.inf)
    return np.argsort(key, axis=0, kind="stable").T


def _pairs(correlation: Floats, nodes: Indices) -> tuple[Indices, Indices]:
    """Return both members (m, k) of the pairs that explain most of each of m nodes beyond the better one."""
    d = len(correlation)
    low, high = np.triu_indices(d, 1)
    between = correlation[low, high]
    count = min(PAIRS, len(low))
    found = np.empty((len(nodes), count), dtype=np.intp)
    for row, node in enumerate(nodes.tolist()):
        column = correlation[node]
        a, b = column[low], column[high]
        explained = (a * a + b * b - 2 * a * b * between) / np.maximum(1 - between * between, RIDGE)
        left = np.maximum(1 - explained, RIDGE) / np.maximum(1 - np.maximum(a * a, b * b), RIDGE)
        left[(low == node) | (high == node)] = np.inf
        found[row] = np.sort(np.argpartition(left, count - 1)[:count])
    return low[found], high[found]


@cache
def _subsets(k: int, largest: int) -> tuple[Indices, Indices]:
    """Return all sets (m, largest) of up to so many of k members, filled up with -1, and each one's sets of one less.

    A set of fewer than ``largest`` members repeats the number of one of its smaller sets; the empty set is its own.
    """
    found = [chosen for size in range(min(largest, k) + 1) for chosen in combinations(range(k), size)]
    place = {chosen: number for number, chosen in enumerate(found)}
    sets = np.array([(*chosen, *[-1] * (largest - len(chosen))) for chosen in found], dtype=np.intp)
    smaller = np.zeros((len(found), largest), dtype=np.intp)
    for number, chosen in enumerate(found[1:], 1):
        less = [place[chosen[:i] + chosen[i + 1 :]] for i in range(len(chosen))]
        smaller[number] = [*less, *[less[0]] * (largest - len(less))]
    return sets, smaller


def _useful(shares: Floats, sizes: Indices, smaller: Indices) -> Bools:
    """Return which sets (d, m) have a larger share than each of their subsets."""
    best = shares.copy()  # of a set and its subsets
    useful = np.ones(shares.shape, dtype=bool)
    for size in range(1, int(sizes.max()) + 1):
        level = np.flatnonzero(sizes == size)
        below = best[:, smaller[level]].max(axis=2)
        useful[:, level] = shares[:, level] > below
        best[:, level] = np.maximum(best[:, level], below)
    return useful
