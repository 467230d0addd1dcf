"""Margins, other equivalence classes and posteriors for larger graphs, by climbs and chains over some families."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from drbo import _core
from drbo.arrays import Bools, Floats, Indices, Ints
from drbo.claims.margins import TOP, OtherClass, built_from
from drbo.claims.probabilities import order_sampling
from drbo.claims.probabilities.edge_prior import edge_log_odds
from drbo.claims.probabilities.posterior import expected_parents, words
from drbo.claims.record import Margins
from drbo.deadline import current
from drbo.graph.dag import pattern, topological_order
from drbo.scores.families import Families
from drbo.search import known_orders
from drbo.search.evaluation.evaluator import Evaluator

#: Edges times nodes up to which every change is followed by a climb; above, only the two nodes of an edge choose again.
MAX_CLIMBED = 10_000
#: Chains over orders for a posterior: one from the best order, the others from random ones.
CHAINS = 4
#: Steps of a chain, per node.
STEPS = 10_000
#: Chains whose probabilities of an edge differ by more than this have not mixed: no posterior is given.
MAX_SPREAD = 0.1
#: DAGs near the best one whose class is looked at; and nodes up to which there are any.
MAX_CLASSES, MAX_CLASS_NODES = 40, 500


@dataclass(frozen=True, eq=False)
class Chains:
    """What chains over orders of the nodes saw, and the families that they were weighed by."""

    edges: Floats  # (C, d, d) probability of each edge, for each chain
    orders: Ints  # (C, K, d)
    families: Families
    logs: Floats  # log weight of each family

    @property
    def spread(self) -> float:
        """The largest difference between the chains in the probability of an edge."""
        return float(np.ptp(self.edges, axis=0).max())


class _Change(NamedTuple):
    score: float
    rows: list[int]  # the families of the nodes that choose again


class KnownAlternatives:
    """The best DAGs found under one change, made of some families; where none are given, of all that are known.

    Examples
    --------
    >>> from drbo.data.statistics.statistics import Statistics
    >>> from drbo.scores.linear import BicNV
    >>> from drbo.settings import Settings
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> x[:, 1] += 2 * x[:, 0]
    >>> evaluator = Evaluator(BicNV(Statistics.from_array(x)), Settings())
    >>> dag = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool)
    >>> best = evaluator.evaluate(dag[None])
    >>> others = KnownAlternatives(evaluator, dag, None)
    >>> np.isnan(others.margins.removed[0, 1]).item()  # nothing else is known
    True
    >>> near = Families.from_sets(3, [(0, ()), (0, (1,)), (1, ()), (1, (0,)), (2, ())])
    >>> _ = evaluator.families(near)
    >>> margins = KnownAlternatives(evaluator, dag, None, near).margins
    >>> bool(margins.removed[0, 1] > 100), margins.reversed[0, 1].round(6).item()
    (True, 0.0)
    """

    def __init__(self, evaluator: Evaluator, dag: Bools, level: float | None, families: Families | None = None) -> None:
        self.evaluator = evaluator
        self.dag = dag
        families = evaluator.known()[0] if families is None else families
        local = evaluator.families(families)
        price = evaluator.score.family_price(families)
        share = evaluator.score.share(local, price, level, families.nodes)
        rows = np.lexsort((-share, families.nodes))
        self._nodes, self._parents, self._share = families.nodes[rows], families.parents[rows], share[rows]
        self._words = known_orders.pack(self._parents)
        self._order = topological_order(dag)
        self._parents_in_dag = [np.flatnonzero(column).tolist() for column in dag.T]
        self._found: list[OtherClass] = []
        self._changed: list[_Change] = []
        self._last: tuple[int, set[int]] = -1, set()
        self._starts = np.searchsorted(self._nodes, np.arange(len(dag) + 1))
        self.over = built_from(len(rows))

    @cached_property
    def margins(self) -> Margins:
        """Upper bounds of the margins of the edges."""
        top = self._score(self.dag)
        removed, turned = np.full(self.dag.shape, np.nan), np.full(self.dag.shape, np.nan)
        deadline = current()
        climbed = int(self.dag.sum()) * len(self.dag) <= MAX_CLIMBED
        place = np.argsort(self._order)
        for a, b in np.argwhere(self.dag).tolist():
            deadline.check()
            if not climbed:
                removed[a, b], turned[a, b] = self._locally(a, b, place, top)
                continue
            joined = (self._nodes == b) & self._parents[:, a] | (self._nodes == a) & self._parents[:, b]
            removed[a, b] = top - self._best(~joined, self._order)
            kept = ((self._nodes != a) | self._parents[:, b]) & ~((self._nodes == b) & self._parents[:, a])
            turned[a, b] = top - self._best(kept, self._turned_order(a, b))
        for values in (removed, turned):
            values[np.isinf(values)] = np.nan
            values[np.abs(values) < 1e-9 * (1.0 + abs(top))] = 0.0
        return Margins(removed, turned, exact=False)

    @cached_property
    def classes(self) -> list[OtherClass]:
        """The best DAG and the best of other classes that :attr:`margins` met."""
        _ = self.margins
        found = [OtherClass(self.dag.copy(), self._score(self.dag))]
        if len(self.dag) > MAX_CLASS_NODES:
            return found
        seen, deadline = {pattern(self.dag).tobytes()}, current()  # it tells classes apart as their CPDAGs do
        nearest = sorted(self._changed, key=lambda change: -change.score)[:MAX_CLASSES]
        for other in sorted([*self._found, *map(self._with, nearest)], key=lambda other: -other.score)[:MAX_CLASSES]:
            deadline.check()
            if len(found) == TOP:
                break
            key = pattern(other.dag).tobytes()
            if key not in seen:
                seen.add(key)
                found.append(other)
        return found

    def posterior(self, parents: float | None) -> tuple[Floats | None, str]:
        """Return the probability (d, d) of each edge by chains over orders, and the prior; None where they disagree."""
        mean, why = expected_parents(self.dag, parents)
        found = self.chains(edge_log_odds(len(self.dag), mean, "orders"), seed=0)
        if found is None or found.spread > MAX_SPREAD:
            return None, ""
        return found.edges.mean(axis=0), words(mean, why, "orders of the columns, sampled by MCMC")

    def chains(self, log_odds: float, seed: int) -> "Chains | None":
        """Return what chains over orders saw; None: some order has no DAG of these families."""
        d, score = len(self.dag), self.evaluator.score
        assert score.evidence_scale is not None
        rng = np.random.default_rng(seed)
        starts = np.array([self._order, *(rng.permutation(d) for _ in range(CHAINS - 1))])
        bounds = np.searchsorted(self._nodes, np.arange(d + 1))
        if not (self._base_is_known() and np.diff(bounds).all()):
            return None
        families = Families(self._nodes, self._parents)
        free = np.bincount(families.nodes, families.sizes, minlength=d) > 0
        moved = np.flatnonzero(free)  # those that never have parents come first
        starts = np.take_along_axis(starts, np.argsort(free[starts], axis=1, kind="stable"), axis=1)
        logs = (self._share + score.sparsity_price(families)) / score.evidence_scale + log_odds * families.sizes
        heaviest = np.lexsort((-logs, self._nodes))
        lists = self._words[heaviest], logs[heaviest], bounds
        edges, orders = order_sampling.order_chains(
            starts, *lists, steps=STEPS * max(1, len(moved)), seed=seed, moved=moved
        )
        return Chains(edges, orders, families[heaviest], logs[heaviest])

    def _base_is_known(self) -> bool:
        """Tell whether every order has a DAG: each node's family without parents is known."""
        alone = ~self._parents.any(axis=1)
        return bool(np.isin(np.arange(len(self.dag)), self._nodes[alone]).all())

    def _best(self, kept: Bools, order: Indices) -> float:
        """Return the score of the best DAG found among some of the families; minus infinity: there is none."""
        d, rows = len(self.dag), np.flatnonzero(kept)
        starts = np.searchsorted(self._nodes[rows], np.arange(d + 1))
        _, chosen, total = _core.climb_known(order, self._words[rows], self._share[rows], starts, np.arange(d))
        if not np.isfinite(total):
            return -np.inf
        dag = np.ascontiguousarray(self._parents[rows[chosen]].T)
        self._found.append(OtherClass(dag, self._score(dag)))
        return self._found[-1].score

    def _locally(self, a: int, b: int, place: Indices, top: float) -> tuple[float, float]:
        """Return upper bounds of the margins of a -> b where all other nodes keep their parents.

        If the edge is turned, b must not have a parent that a leads to, or there would be a cycle.
        """
        before_a, before_b = place < place[a], place < place[b]
        without = self._first(b, before_b, {a})
        before_a[b] = True
        beside, turned = self._first(b, before_b, self._led_to(a)), self._first(a, before_a, set(), b)
        return self._loss([without], top), self._loss([beside, turned], top)

    def _first(self, node: int, open_: Bools, closed: set[int], needed: int | None = None) -> int | None:
        """Return the row of the best family of a node with parents among some nodes; None: none is known."""
        start, end = self._starts[node], self._starts[node + 1]
        shut = ~open_
        shut[list(closed)] = True
        fits = ~(self._words[start:end] & known_orders.pack(shut[None])).any(axis=1)
        if needed is not None:
            fits &= self._parents[start:end, needed]
        return int(start + fits.argmax()) if fits.any() else None  # best first

    def _loss(self, rows: list[int | None], top: float) -> float:
        """Return what the score loses if some nodes have other families, and keep the change for the classes."""
        loss = 0.0
        for row in rows:
            if row is None:
                return np.nan
            loss += self._now[self._nodes[row]] - self._share[row]
        self._changed.append(_Change(top - loss, [row for row in rows if row is not None]))
        return loss

    def _with(self, change: _Change) -> OtherClass:
        """Return the DAG with other families."""
        dag = self.dag.copy()
        for row in change.rows:
            dag[:, self._nodes[row]] = self._parents[row]
        return OtherClass(dag, self._score(dag))

    @cached_property
    def _now(self) -> Floats:
        """What the family of each node in the DAG adds (d,)."""
        same = (self._parents == self.dag.T[self._nodes]).all(axis=1)
        now = np.full(len(self.dag), np.nan)
        now[self._nodes[same]] = self._share[same]
        return now

    def _led_to(self, node: int) -> set[int]:
        """Return a node and its descendants; those of the last node are known, because edges come sorted by nodes."""
        if self._last[0] == node:
            return self._last[1]
        found, waiting = {node}, [node]
        self._last = node, found
        while waiting:
            more = [child for child in np.flatnonzero(self.dag[waiting.pop()]).tolist() if child not in found]
            found.update(more)
            waiting += more
        return found

    def _turned_order(self, a: int, b: int) -> Indices:
        """Return an order of the DAG with a -> b turned; where that has a cycle, b is moved to just before a.

        Only nodes between the two change places: what a leads to goes behind all else.
        """
        first, last = (int(np.flatnonzero(self._order == node)[0]) for node in (a, b))
        led_to = {a}
        for node in self._order[first + 1 : last].tolist():
            if not led_to.isdisjoint(self._parents_in_dag[node]):
                led_to.add(node)
        if (led_to - {a}).isdisjoint(self._parents_in_dag[b]):
            window = self._order[first:last].tolist()
            between = [
                *(node for node in window if node not in led_to),
                b,
                *(node for node in window if node in led_to),
            ]
        else:
            between = [b, *self._order[first:last].tolist()]
        return np.concatenate([self._order[:first], between, self._order[last + 1 :]]).astype(np.intp)

    def _score(self, dag: Bools) -> float:
        local = self.evaluator.families(Families.from_dags(dag[None]))[None]
        return float(self.evaluator.scores(dag[None], local)[0])
