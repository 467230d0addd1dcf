"""The parent sets that a best DAG can have; all others are skipped under a valid bound.

A set of parents is of no use where a subset of it has at least its share (Teyssier & Koller 2005): the subset may stand
in for it in any DAG. Nor is it where even with the best sets of all other nodes, cycles allowed, the score would not
exceed that of a DAG that is known.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from drbo import _core
from drbo.arrays import Floats, Masks
from drbo.constraints import Constraints
from drbo.deadline import current
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.scores.forms import CountForm, Form, GramForm
from drbo.search.exact.components import Piece
from drbo.search.exact.family_tables import LEAST_RESIDUAL, least_residual

#: A set of nodes is a word of bits.
MAX_NODES = 64
#: Parent sets of a linear score that are looked at in a second, about.
RATE = 30_000_000
#: What counting one row for a parent set costs beside that.
COUNTING = 0.2
#: Sets with a lower share are of no use; whether only the best is wanted; steps and sets at most.
WalkLimits = tuple[float, bool, int, int]


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

    def steps(self, form: Form) -> int:
        """Return how many parent sets of a score may be looked at."""
        cost = 1.0
        if isinstance(form, CountForm):
            cost = max(1.0, COUNTING * max(columns.shape[1] for columns in form.codes))
        left = 0.0 if self.over else self.until - self.clock()
        return int(min(self.max_looked_at, RATE * left) / cost)


def enumerable(score: Score) -> GramForm | CountForm | None:
    """Return the form by which useful parent sets are found without looking at all sets; None: they are not."""
    form = score.compiled()
    if score.n_nodes > MAX_NODES or not isinstance(form, GramForm | CountForm) or not form.tabled:
        return None
    return form if not form.has_logs or (score.nested and least_residual(form) >= LEAST_RESIDUAL) else None


def useful_sets(
    score: Score,
    form: GramForm | CountForm,
    constraints: Constraints,
    known: float,  # score of a DAG, or its sum of shares at the level
    level: float | None,
    effort: Effort,
) -> Piece | None:
    """Return the parent sets that DAGs with a sum of shares of ``known`` or more can have; None: too many."""
    nodes = [_Node(score, form, constraints, node, level) for node in range(score.n_nodes)]
    looked, most, tops = 0, effort.steps(form), np.empty(score.n_nodes)
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

    def __init__(
        self, score: Score, form: GramForm | CountForm, constraints: Constraints, node: int, level: float | None
    ) -> None:
        self.form = form
        self.node = node
        self.level = level
        required = np.flatnonzero(constraints.required[:, node])
        others = np.flatnonzero(constraints.allowed[:, node] & ~constraints.required[:, node])
        self.n_required = len(required)
        self.most = min(int(constraints.max_parents[node]), len(required) + len(others))
        if isinstance(form, GramForm):  # with more parents than that there is no credit for any
            self.most = max(min(self.most, int(form.most_parents[node])), self.n_required)
        else:
            alone = Families(np.full(len(others), node), np.eye(score.n_nodes, dtype=bool)[others])
            others = others[np.argsort(-score.local(alone), kind="stable")]
        self.candidates = np.concatenate([required, others])
        self.weights = -np.broadcast_to(form.prices[node], score.n_nodes)[self.candidates]

    def walk(self, floor: float, best_only: bool, max_steps: int, max_sets: int) -> tuple[Masks, Floats, int] | None:
        """Return parent sets that no subset beats, with shares, and the sets looked at; None: too many of either."""
        if max_sets < 2:
            return None
        limits = floor, best_only, max_steps, max_sets
        if isinstance(self.form, CountForm):
            masks, shares, steps = self._by_counts(self.form, limits)
        else:
            masks, shares, steps = self._by_matrix(self.form, limits)
        if steps < 0:
            return None
        places = np.zeros(len(masks), dtype=np.uint64)
        for position, candidate in enumerate(self.candidates):
            places |= ((masks >> np.uint64(position)) & np.uint64(1)) << np.uint64(candidate)
        return places, shares, steps

    def _by_matrix(self, form: GramForm, limits: WalkLimits) -> tuple[Masks, Floats, int]:
        node, sizes = self.node, slice(self.most + 1)
        logs, matrix = form.log_scales[form.group_of[node]], form.grams[form.group_of[node]]
        offset, slope = np.zeros(self.most + 1), np.full(self.most + 1, form.rows[node])
        weights, half, logarithmic = self.weights, 0.0, True
        if form.constants is not None and form.factors is not None:
            slope = form.factors[node, sizes]
            offset = form.constants[node, sizes] - slope * logs[node]
            weights, half = weights - logs[self.candidates] / 2, 0.5
        elif form.equal_variance:
            assert self.level is not None
            slope, logarithmic = np.full(self.most + 1, form.bound_weights(self.level)[node]), False
        else:
            offset -= form.rows[node] * logs[node]
        place = np.append(self.candidates, node)
        kind = logarithmic, half
        return sets_by_matrix(matrix[np.ix_(place, place)], self.n_required, offset, slope, weights, kind, limits)

    def _by_counts(self, form: CountForm, limits: WalkLimits) -> tuple[Masks, Floats, int]:
        group, place = form.group_of[self.node], np.append(self.candidates, self.node)
        levels, repeats = form.cardinalities[place].astype(np.int64), form.repeats[group]
        codes, unit = np.ascontiguousarray(form.codes[group][place]), float(form.parameter_prices[self.node])
        price = self.weights, self.most, unit, form.ess
        return _core.discrete_parent_sets(codes, levels, repeats, self.n_required, *price, *limits)


def sets_by_matrix(
    matrix: Floats,  # (m + 1, m + 1) positive definite: candidates, required ones first, and the node itself last
    n_required: int,
    offset: Floats,  # (most + 1,)
    slope: Floats,  # (most + 1,)
    weights: Floats,  # (m,) what a candidate adds as a parent
    kind: tuple[bool, float],  # whether the fit is logarithmic, and how much of the log determinant is taken off
    limits: WalkLimits,
) -> tuple[Masks, Floats, int]:
    """Return the parent sets that no subset beats, with shares, and the steps taken; -1: too many of either.

    What a share is, and which sets are skipped, stands in ``src/core/linear_parents.cpp``.
    """
    m = len(weights)
    values = weights.copy()
    if kind[1] and m:  # the determinant grows at least by what a candidate keeps given all others
        values -= kind[1] * np.log(1.0 / np.diag(np.linalg.inv(matrix[:m, :m])))
    top = np.concatenate([[0.0], np.sort(values[n_required:])[::-1].cumsum()])  # the most that k candidates can add
    matrix = np.ascontiguousarray(matrix)
    inverse = np.ascontiguousarray(np.linalg.inv(matrix))
    form = offset, slope, np.ascontiguousarray(weights), top, *kind
    return _core.linear_parent_sets(matrix, inverse, n_required, *form, *limits)
