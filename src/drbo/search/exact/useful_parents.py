"""The parent sets that a best DAG can have; all others are skipped under a valid bound.

A set of parents is of no use where a subset of it has at least its share (Teyssier & Koller 2005): the subset may stand
in for it in any DAG. Nor is it where even with the best sets of all other nodes, cycles allowed, the score would not
exceed that of a DAG that is known.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from drbo.arrays import Floats, Masks
from drbo.constraints import Constraints
from drbo.deadline import current
from drbo.scores.base import Score
from drbo.scores.bge import BGe
from drbo.scores.discrete import BDeu, DiscreteBIC
from drbo.scores.families import Families
from drbo.scores.linear import BicEV, BicNV
from drbo.search.exact import parents_counts, parents_linear
from drbo.search.exact.components import Piece
from drbo.search.exact.family_tables import COMPILED, LEAST_RESIDUAL, least_residual

#: A set of nodes is a word of bits.
MAX_NODES = 64
#: Parent sets of a linear score that are looked at in a second, about.
RATE = 30_000_000
#: What counting one row for a parent set costs beside that.
COUNTING = 0.2


@dataclass
class Effort:
    """What a proof may spend, and what it did."""

    until: float  # on the clock
    max_looked_at: int = 10**10  # parent sets of a linear score; of counts fewer
    max_kept: int = 4 * 10**6  # parent sets kept
    max_states: int = 5 * 10**7  # sets of nodes held at once
    max_followed: float = np.inf  # sets of nodes followed in all
    alone: int = 20  # nodes of a component that a dynamic program solves
    group: int = 20  # nodes whose cycles a bound rules out: tables of k 2^(k-1) numbers
    clock: Callable[[], float] = time.monotonic
    n_looked_at: int = 0
    n_kept: int = 0  # at one level
    n_states: int = 0  # that were followed

    @property
    def over(self) -> bool:
        """Whether the time is up, somebody asked to stop, or enough sets of nodes were followed."""
        return self.n_states >= self.max_followed or self.clock() >= self.until or current().over()

    def steps(self, score: Score) -> int:
        """Return how many parent sets of a score may be looked at."""
        cost = 1.0
        if isinstance(score, DiscreteBIC | BDeu):
            cost = max(1.0, COUNTING * max(columns.shape[1] for columns, _ in score.counted))
        left = 0.0 if self.over else self.until - self.clock()
        return int(min(self.max_looked_at, RATE * left) / cost)


def can_enumerate(score: Score) -> bool:
    """Tell whether the useful parent sets of a score can be found without looking at all sets."""
    if type(score) not in COMPILED or score.n_nodes > MAX_NODES:
        return False
    return not isinstance(score, BicNV) or (score.nested and least_residual(score) >= LEAST_RESIDUAL)


def useful_sets(
    score: Score,
    constraints: Constraints,
    known: float,  # score of a DAG, or its sum of shares at the level
    level: float | None,
    effort: Effort,
) -> Piece | None:
    """Return the parent sets that DAGs with a sum of shares of ``known`` or more can have; None: too many."""
    nodes = [_Node(score, constraints, node, level) for node in range(score.n_nodes)]
    looked, most, tops = 0, effort.steps(score), np.empty(score.n_nodes)
    for i, node in enumerate(nodes):
        best = node.walk(-np.inf, True, most - looked, effort.max_kept)
        if best is None:
            return None
        tops[i], looked = best[1][-1], looked + best[2]
        effort.n_looked_at += best[2]
    masks, shares, count = [], [], 0
    for i, node in enumerate(nodes):
        floor = known - (tops.sum() - tops[i])
        found = node.walk(floor, False, most - looked, effort.max_kept - count)
        if found is None or effort.over:
            return None
        rank = np.argsort(-found[1], kind="stable")
        rank = rank[found[1][rank] >= min(floor, tops[i])]
        masks.append(found[0][rank])
        shares.append(found[1][rank])
        looked, count = looked + found[2], count + len(rank)
        effort.n_looked_at += found[2]
    effort.n_kept = max(effort.n_kept, count)
    return Piece(np.arange(score.n_nodes), masks, shares)


class _Node:
    """One node with its candidate parents, in the order in which they are tried."""

    def __init__(self, score: Score, constraints: Constraints, node: int, level: float | None) -> None:
        self.score = score
        self.node = node
        self.level = level
        required = np.flatnonzero(constraints.required[:, node])
        others = np.flatnonzero(constraints.allowed[:, node] & ~constraints.required[:, node])
        self.n_required = len(required)
        self.most = min(int(constraints.max_parents[node]), len(required) + len(others))
        if isinstance(score, BicNV):  # with more parents than that there is no credit for any
            self.most = max(min(self.most, int(score.n_rows[node]) - 2), self.n_required)
        alone = Families(np.full(len(others), node), np.eye(score.n_nodes, dtype=bool)[others])
        if isinstance(score, DiscreteBIC | BDeu):
            others = others[np.argsort(-score.local(alone), kind="stable")]
        self.candidates = np.concatenate([required, others])
        alone = Families(np.full(len(self.candidates), node), np.eye(score.n_nodes, dtype=bool)[self.candidates])
        self.weights = score.family_price(alone)

    def walk(self, floor: float, best_only: bool, max_steps: int, max_sets: int) -> tuple[Masks, Floats, int] | None:
        """Return parent sets that no subset beats, with shares, and the sets looked at; None: too many of either."""
        if max_sets < 2:
            return None
        limits = {"floor": floor, "best_only": best_only, "max_steps": max_steps, "max_sets": max_sets}
        by_counts = isinstance(self.score, DiscreteBIC | BDeu)
        masks, shares, steps = self._by_counts(limits) if by_counts else self._by_matrix(limits)
        if steps < 0:
            return None
        places = np.zeros(len(masks), dtype=np.uint64)
        for position, candidate in enumerate(self.candidates):
            places |= ((masks >> np.uint64(position)) & np.uint64(1)) << np.uint64(candidate)
        return places, shares, steps

    def _by_matrix(self, limits: dict[str, Any]) -> tuple[Masks, Floats, int]:
        score, most, node = self.score, self.most, self.node
        assert isinstance(score, BicNV | BGe)
        logs, matrix = score.groups[score.group_of[node]]
        n, sizes = score.n_rows[node], np.arange(most + 1, dtype=np.float64)
        offset, slope, weights = np.zeros(most + 1), np.full(most + 1, n), self.weights
        half, logarithmic = 0.0, True
        if isinstance(score, BGe):
            offset = score.evidence(np.full(most + 1, n), sizes, np.full(most + 1, logs[node]), np.zeros(most + 1))
            slope = (n + score.alpha_w - score.n_nodes + sizes + 1) / 2
            weights, half = weights - logs[self.candidates] / 2, 0.5
        elif isinstance(score, BicEV):
            assert self.level is not None
            slope, logarithmic = slope / self.level * np.exp(logs[node]), False
        else:
            offset -= n * logs[node]
        place = np.append(self.candidates, node)
        form: dict[str, Any] = {"logarithmic": logarithmic, "half": half}
        return parents_linear.walk(
            matrix[np.ix_(place, place)], self.n_required, offset, slope, weights, **form, **limits
        )

    def _by_counts(self, limits: dict[str, Any]) -> tuple[Masks, Floats, int]:
        score, node = self.score, self.node
        assert isinstance(score, DiscreteBIC | BDeu)
        columns, repeats = score.counted[score.group_of[node]]
        place = np.append(self.candidates, node)
        levels = score.cardinalities[place]
        ess, unit, weights = 0.0, 0.0, self.weights
        if isinstance(score, BDeu):
            ess = score.ess
        else:
            unit = float(score.parameter_price[node]) * int(levels[-1] - 1)
            weights = weights + unit * levels[:-1]
        times = np.ones(columns.shape[1], dtype=np.int64) if repeats is None else repeats.astype(np.int64)
        form: dict[str, Any] = {"most": self.most, "unit": unit, "ess": ess}
        return parents_counts.walk(columns[place], levels, times, self.n_required, weights, **form, **limits)
