"""The global optimum, proved: no DAG that obeys the knowledge scores higher."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from drbo.errors import SettingsError
from drbo.knowledge import Constraints
from drbo.scores.base import Families
from drbo.search.evaluate import Evaluated, Evaluator
from drbo.search.tables import FamilyTables

#: Scores closer than this share of themselves are equal.
EQUAL = 1e-10
#: Tables of all families held at once: local values, prices, shares and the best inside each set.
TABLES = 4
#: Levels tried before a sweep is given up; about twenty are needed.
MAX_LEVELS = 1_000


@dataclass(frozen=True, eq=False)
class Certificate:
    """The best DAG before pruning, and what is proved about it."""

    best: Evaluated  # one DAG
    upper_bound: float
    tolerance: float  # rounding: scores closer than this count as equal
    valid_for: str
    level: float | None = None  # where the additive form of the score is exact for the best DAG

    def to_dict(self) -> dict[str, Any]:
        """Return the statement in plain values."""
        return {"upper_bound": self.upper_bound, "tolerance": self.tolerance, "valid_for": self.valid_for}


def certify(tables: FamilyTables, evaluator: Evaluator, constraints: Constraints, start: Evaluated) -> Certificate:
    """Return the best DAG made of the families of complete tables.

    Parameters
    ----------
    tables : all legal families (:func:`drbo.search.tables.all_tables`).
    start : the best DAG known so far; a good one makes the sweep of an equal-variance score shorter.

    Examples
    --------
    >>> from drbo.data.table import Table
    >>> from drbo.scores.linear import BicNV
    >>> from drbo.search.tables import all_tables
    >>> from drbo.settings import Settings
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> x[:, 1] += 2 * x[:, 0]
    >>> evaluator, free = Evaluator(BicNV(Table.from_array(x)), Settings()), Constraints.none(3)
    >>> start = evaluator.evaluate(np.zeros((1, 3, 3), dtype=bool))
    >>> proof = certify(all_tables(evaluator, free), evaluator, free, start)
    >>> bool(proof.upper_bound == proof.best.scores[0] > start.scores[0]), proof.valid_for
    (True, 'all DAGs on 3 columns')
    """
    if not tables.complete:
        raise ValueError("a certificate needs all families that the knowledge allows")
    sweep = _Sweep(tables, evaluator, start)
    level = evaluator.score.level_of(torch.as_tensor(start.local[0]))
    bound = sweep.additive() if level is None else sweep.over_levels(level)
    best = sweep.best
    score = float(best.scores[0])
    slack = tolerance(tables, best)
    upper = score if bound <= score + slack else bound
    final = evaluator.score.level_of(torch.as_tensor(best.local[0]))
    return Certificate(best, upper, slack, valid_for(constraints), final)


def tolerance(tables: FamilyTables, best: Evaluated) -> float:
    """Return how far above a score a bound may lie and be the score: kernels and evaluator add up in different ways."""
    return float(tables.rounding + EQUAL * (1.0 + abs(best.scores[0])))


def valid_for(constraints: Constraints) -> str:
    """Return in words which DAGs a bound speaks of."""
    d, knowledge = len(constraints.names), constraints.knowledge
    words = f"all DAGs on {d} columns"
    given = knowledge.compile(constraints.names) if knowledge.to_mapping() else Constraints.none(d)
    if not given.is_trivial:
        words += " that obey the knowledge"
    limits = np.unique(constraints.max_parents)
    if limits[-1] < d - 1:
        most = str(limits[0]) if len(limits) == 1 else f"{limits[0]} to {limits[-1]}"
        words += f", with at most {most} parents"
    if (given.allowed & ~constraints.allowed).any():  # a screening came between
        words += f", parents among {int(constraints.allowed.sum(axis=0).max())} candidates"
    return words


def check_size(n_nodes: int, max_memory: float) -> None:
    """Refuse, before anything is spent, a certificate whose tables do not fit into the memory (GiB) allowed."""
    need = TABLES * n_nodes * 2.0 ** (n_nodes - 1) * 8 / 2**30
    if need > max_memory:
        raise SettingsError(
            f"exact needs {need:.1f} GiB for {n_nodes} columns, max_memory is {max_memory:g}",
            hint="use exact='auto' or False, or raise max_memory; up to 20 columns need under 1 GiB",
        )


class _Sweep:
    """Dynamic programs over the sets of nodes, and the best DAG they met."""

    def __init__(self, tables: FamilyTables, evaluator: Evaluator, start: Evaluated) -> None:
        self.tables = tables
        self.evaluator = evaluator
        self.best = start

    def additive(self) -> float:
        """Return the highest sum of shares; its DAG is kept if it is better than the best."""
        return self._solve(None)[0]

    def over_levels(self, level: float) -> float:
        """Return an upper bound of an equal-variance score: the sweep of the price over the lower hull.

        With t = 1 / level, A(t) = max over DAGs of ``-t sum n MSE - price`` is convex, and the score is the highest
        ``N (1 + ln t) + A(t)`` over all t. Between two levels A lies below its chord, so the best score there lies
        below a concave function with a known maximum. An interval is split, where the tangents at its ends meet,
        until this maximum is not above the best score.
        """
        rows = float(self.evaluator.score.n_rows.sum())
        low, high = self._levels()
        ends = sorted({1.0 / high, min(max(1.0 / level, 1.0 / high), 1.0 / low), 1.0 / low})
        points = [(t, *self._solve(1.0 / t)) for t in ends]
        stack = list(pairwise(points))
        bound = max(_at(t, value, rows) for t, value, _ in points)
        for _ in range(MAX_LEVELS):
            if not stack:
                return max(bound, float(self.best.scores[0]))
            left, right = stack.pop()
            most = _chord_bound(left, right, rows)
            if most <= self.best.scores[0] + tolerance(self.tables, self.best):
                bound = max(bound, min(most, float(self.best.scores[0])))
                continue
            t = _meeting(left, right)
            middle = (t, *self._solve(1.0 / t))
            stack += [(left, middle), (middle, right)]
        return max(bound, *(_chord_bound(left, right, rows) for left, right in stack))

    def _solve(self, level: float | None) -> tuple[float, float]:
        """Return the highest sum of shares and, where there is a level, the sum of n MSE of its DAG."""
        from drbo.search import lattice  # compiled: only where it is used

        shares = self.tables.shares(self.evaluator.score, level)
        inside = lattice.best_inside(shares)
        value = lattice.forward(inside)
        found = self._evaluated(lattice.trace(inside, shares, value))
        if found.scores[0] > self.best.scores[0]:
            self.best = found
        if level is None:
            return float(value[-1]), 0.0
        return float(value[-1]), float((self.evaluator.score.n_rows * np.exp(found.local[0])).sum())

    def _evaluated(self, dag: npt.NDArray[np.bool_]) -> Evaluated:
        local = self.evaluator.families(Families.from_dags(dag[None]))[None]
        return Evaluated(dag[None], local, self.evaluator.scores(dag[None], local))

    def _levels(self) -> tuple[float, float]:
        """Return bounds on the mean MSE of any DAG."""
        weights = self.evaluator.score.n_rows
        usable = self.tables.price > -np.inf
        low = np.where(usable, self.tables.local, np.inf).min(axis=1)
        high = np.where(usable, self.tables.local, -np.inf).max(axis=1)
        mean = [float((weights * np.exp(part)).sum() / weights.sum()) for part in (low, high)]
        return mean[0] * (1 - 1e-9), mean[1] * (1 + 1e-9)


Point = tuple[float, float, float]  # t, A(t) and minus the slope of A at t


def _at(t: float, value: float, rows: float) -> float:
    return float(rows * (1.0 + np.log(t)) + value)


def _chord_bound(left: Point, right: Point, rows: float) -> float:
    """Return the maximum over an interval of ``N (1 + ln t)`` plus the chord of A."""
    slope = (right[1] - left[1]) / (right[0] - left[0])
    t = np.inf if slope >= 0 else -rows / slope
    t = min(max(t, left[0]), right[0])
    return _at(t, left[1] + slope * (t - left[0]), rows)


def _meeting(left: Point, right: Point) -> float:
    """Return where the tangents at the ends of an interval meet; its middle where they are the same."""
    middle = (left[0] + right[0]) / 2
    turn = left[2] - right[2]
    if turn <= 0:
        return middle
    t = (left[1] + left[2] * left[0] - right[1] - right[2] * right[0]) / turn
    inside = left[0] < t < right[0]
    return t if inside else middle
