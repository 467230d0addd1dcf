"""Margins: the best score without an edge, with the edge reversed, and in the best other equivalence classes.

All of it is re-optimised over the families of the tables, without a further local score: one pass over the sets of
nodes forward and one backward give the best DAG under any condition on one node.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Protocol

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.claims.probabilities.posterior import by_sums, evidence
from drbo.claims.record import Margins
from drbo.deadline import current
from drbo.graph.dag import dag_to_cpdag, skeleton, v_structures
from drbo.scores.base import Score
from drbo.search import subset_kernels
from drbo.search.exact.family_tables import FamilyTables

#: Equivalence classes listed.
TOP = 10


@dataclass(frozen=True, eq=False)
class OtherClass:
    """The best DAG of a Markov equivalence class."""

    dag: Bools  # (d, d)
    score: float


class OtherGraphs(Protocol):
    """The best graphs beside one, among those that can be made of some families."""

    dag: Bools  # (d, d) the one

    @property
    def over(self) -> str:
        """The DAGs that the rest speaks of, in words."""

    @property
    def margins(self) -> Margins:
        """What the score loses when an edge goes or turns."""

    @property
    def classes(self) -> list[OtherClass]:
        """The best DAG of each of the best equivalence classes that were found; the first is that of the graph."""

    def posterior(self, parents: float | None) -> tuple[Floats | None, str]:
        """Return the probability (d, d) of each edge, None where it is not known, and the prior in words."""


def built_from(n_families: int) -> str:
    """Return the DAGs that claims speak of where they are over some families."""
    return f"DAGs built from {n_families:,} families"


class Alternatives:
    """The best DAGs under one change, found by dynamic programming.

    Examples
    --------
    >>> tables = FamilyTables(np.array([[0.0, 1.0], [0.0, 3.0]]), np.zeros((2, 2)), True, 4)
    >>> from drbo.data.statistics.statistics import Statistics
    >>> score = Score(Statistics.from_array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]))
    >>> best = np.array([[0, 1], [0, 0]], dtype=bool)
    >>> margins = Alternatives(tables, score, best).margins
    >>> margins.removed[0, 1].item(), margins.reversed[0, 1].item()
    (3.0, 2.0)
    """

    def __init__(self, tables: FamilyTables, score: Score, dag: Bools, level: float | None = None) -> None:
        self.dag = dag
        self.tables = tables
        self.score = score
        self.level = level
        self.shares = tables.shares(score, level)
        self._deadline = current()  # threads see no deadline by themselves
        self._best = subset_kernels.best_inside(self.shares)
        self._deadline.check()
        self._before = subset_kernels.forward(self._best)
        self._deadline.check()
        self._after = subset_kernels.backward(self._best)

    @property
    def over(self) -> str:
        return "all DAGs" if self.tables.complete else built_from(self.tables.n_families)

    @cached_property
    def margins(self) -> Margins:
        """The margins of the edges of the best DAG."""
        dag = self.dag
        top = self._score_of(dag)
        removed, turned = np.full(dag.shape, np.nan), np.full(dag.shape, np.nan)
        edges = np.argwhere(dag).tolist()

        def work(k: int) -> None:
            a, b = edges[k]
            removed[a, b] = top - max(self._value(change) for change in _apart(a, b))
            turned[a, b] = top - self._value(_with_edge(b, a))

        subset_kernels.on_threads(work, len(edges)) if edges else None
        for values in (removed, turned):
            values[np.isinf(values)] = np.nan
        # Rounding, and the bound of a score that is not additive, can leave a margin a hair below zero.
        small = 1e-9 * (1.0 + abs(top)) + self.tables.rounding
        for values in (removed, turned):
            values[np.abs(values) < small] = 0.0
        return Margins(removed, turned, self.tables.complete and self.level is None)

    @cached_property
    def classes(self) -> list[OtherClass]:
        """The best DAG and the best of other equivalence classes, best first.

        Each is the best DAG under one change: a pair not joined, joined, an edge turned, a new collider. The second
        best class differs from the best one by such a change, so it is exact where the tables are; the others are the
        best found.
        """
        dag, count = self.dag, TOP
        changes = list(_changes(dag))
        values = np.array(subset_kernels.on_threads(lambda k: self._value(changes[k]), len(changes)) or [0.0])
        seen = {dag_to_cpdag(dag).tobytes()}
        found = [OtherClass(dag.copy(), self._score_of(dag))]
        for k in np.argsort(-values, kind="stable") if changes else []:
            if len(found) > 2 * count or values[k] == -np.inf:
                break
            other = self._dag(changes[k])
            key = dag_to_cpdag(other).tobytes()
            if key not in seen:
                seen.add(key)
                found.append(OtherClass(other, self._score_of(other)))
        best, *others = found
        return [best, *sorted(others, key=lambda other: -other.score)][:count]

    def posterior(self, parents: float | None) -> tuple[Floats, str]:
        """Return the probability (d, d) of each edge, and the prior in words."""
        return by_sums(evidence(self.shares, self.score), self.dag, parents)

    def _value(self, change: "Change") -> float:
        """Return the best score under a change: exact for an additive score, else that of the DAG found."""
        self._deadline.check()
        value, nodes = self._split(change)
        if self.level is None or nodes < 0:
            return value
        return self._score_of(self._dag(change, nodes))

    def _split(self, change: "Change") -> tuple[float, int]:
        return subset_kernels.split(
            self.shares, self._best, change.node, self._before, self._after,
            needed=change.needed, banned=change.banned, must=change.must,
        )  # fmt: skip

    def _dag(self, change: "Change", nodes: int | None = None) -> Bools:
        if nodes is None:
            _, nodes = self._split(change)
        parts = self._best, self.shares, self._before, self._after
        return subset_kernels.trace_split(*parts, change.node, nodes, needed=change.needed, banned=change.banned)

    def _score_of(self, dag: Bools) -> float:
        d = len(dag)
        columns = subset_kernels.column(dag.T @ (1 << np.arange(d)), np.arange(d))
        local, price = (part[np.arange(d), columns] for part in (self.tables.local, self.tables.price))
        return float(self.score.combine(local, price))


@dataclass(frozen=True)
class Change:
    """A condition on one node: parents it must have, must not have, nodes that must come before it; as bit masks."""

    node: int
    needed: int = 0
    banned: int = 0
    must: int = 0


def _with_edge(a: int, b: int) -> Change:
    return Change(b, needed=1 << a, must=1 << a)


def _apart(a: int, b: int) -> tuple[Change, Change]:
    """Return the two ways for a pair not to be joined: one of them comes first and is no parent of the other."""
    return Change(b, banned=1 << a, must=1 << a), Change(a, banned=1 << b, must=1 << b)


def _changes(dag: Bools) -> Iterator[Change]:
    """Yield changes of which every DAG outside the class of this one shows at least one."""
    adjacent, cpdag = skeleton(dag), dag_to_cpdag(dag)
    colliders = set(v_structures(dag))
    for a, b in combinations(range(len(dag)), 2):
        if adjacent[a, b]:
            yield from _apart(a, b)
        else:
            yield _with_edge(a, b)
            yield _with_edge(b, a)
    for a, b in np.argwhere(cpdag & ~cpdag.T).tolist():
        yield _with_edge(b, a)
    for middle in range(len(dag)):
        for a, b in combinations(np.flatnonzero(adjacent[middle]).tolist(), 2):
            if not adjacent[a, b] and (a, middle, b) not in colliders:
                both = 1 << a | 1 << b
                yield Change(middle, needed=both, must=both)
