"""The global optimum, proved: no DAG that obeys the knowledge scores higher.

The module is long because scores that are not sums of local scores need a sweep over levels in both ways of proving.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.constraints import Constraints
from drbo.errors import SettingsError
from drbo.graph.dag import topological_order
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.scores.forms import CountForm, GramForm
from drbo.search import subset_kernels
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.astar import solve
from drbo.search.exact.family_tables import FamilyTables, rounding
from drbo.search.exact.useful_parents import Effort, enumerable, useful_sets
from drbo.search.outcome import Evaluated

#: Scores closer than this share of themselves are equal.
EQUAL = 1e-10
#: Tables of all families held at once: local values, prices, shares and the best inside each set.
TABLES = 4
#: Numbers that are held at once for each set of nodes.
SETS = 4
#: Bytes of a local score in the evaluator's cache: its key, its value and their places.
CACHED_BYTES = 250
#: Components too large for a dynamic program that there can be; what rounding does to each adds up.
LARGE_COMPONENTS = 4
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


def certify(tables: FamilyTables, evaluator: Evaluator, constraints: Constraints, start: Evaluated) -> Certificate:
    """Return the best DAG made of the families of complete tables.

    Parameters
    ----------
    tables : all legal families (:func:`drbo.search.exact.family_tables.all_tables`).
    start : the best DAG known so far; a good one makes the sweep of an equal-variance score shorter.

    Examples
    --------
    >>> from drbo.data.statistics.statistics import Statistics
    >>> from drbo.scores.linear import BicNV
    >>> from drbo.search.exact.family_tables import all_tables
    >>> from drbo.settings import Settings
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> x[:, 1] += 2 * x[:, 0]
    >>> evaluator, free = Evaluator(BicNV(Statistics.from_array(x)), Settings()), Constraints.none(3)
    >>> start = evaluator.evaluate(np.zeros((1, 3, 3), dtype=bool))
    >>> proof = certify(all_tables(evaluator, free), evaluator, free, start)
    >>> bool(proof.upper_bound == proof.best.scores[0] > start.scores[0]), proof.valid_for
    (True, 'all DAGs on 3 columns')
    """
    if not tables.complete:
        raise ValueError("a certificate requires all families that the knowledge allows")
    return _swept(_ByTables(tables, evaluator), evaluator, constraints, start)


def certify_large(
    evaluator: Evaluator, constraints: Constraints, start: Evaluated, effort: Effort
) -> Certificate | None:
    """Return a bound on all DAGs from the parent sets that a best DAG can have; None: too many, or not to be found.

    Parameters
    ----------
    start : the best DAG known so far: what cannot lead to a better one is not looked at.
    effort : what may be spent. Where it does not suffice the bound lies above the best score.
    """
    form = enumerable(evaluator.score)
    if form is None:
        return None
    solver = _BySets(evaluator, form, constraints, effort)
    try:
        return _swept(solver, evaluator, constraints, start)
    except _TooManyError:
        return None
    finally:
        evaluator.charge(effort.n_looked_at)


def _swept(
    solver: "_ByTables | _BySets", evaluator: Evaluator, constraints: Constraints, start: Evaluated
) -> Certificate:
    """Return the certificate of a solver of additive scores."""
    sweep = _Sweep(solver, evaluator, start)
    level = evaluator.score.level_of(start.local[0])
    bound = sweep.additive() if level is None else sweep.over_levels(level)
    best = sweep.best
    score = float(best.scores[0])
    slack = tolerance(solver.rounding, best)
    upper = score if bound <= score + slack else bound
    final = evaluator.score.level_of(best.local[0])
    return Certificate(best, upper, slack, valid_for(constraints), final)


def tolerance(rounding: float, best: Evaluated) -> float:
    """Return how far above a score a bound may lie and be the score: kernels and evaluator add up in different ways."""
    return float(rounding + EQUAL * (1.0 + abs(best.scores[0])))


def valid_for(constraints: Constraints) -> str:
    """Return in words which DAGs a bound speaks of."""
    d, knowledge = len(constraints.names), constraints.knowledge
    words = f"all DAGs on {d} columns"
    given = Constraints.of(knowledge, constraints.names) if knowledge.to_mapping() else Constraints.none(d)
    if constraints.lags:
        past = constraints.past
        words = f"all DAGs on {int((~past).sum())} columns and their past, which obey the knowledge if there is any"
    elif not given.is_trivial:
        words += " that satisfy the knowledge"
    limits = np.unique(constraints.max_parents)
    if limits[-1] < d - 1:
        most = str(limits[0]) if len(limits) == 1 else f"{limits[0]} to {limits[-1]}"
        words += f", with at most {most} parents"
    if (given.allowed & ~constraints.allowed).any():  # a screening came between
        words += f", with parents among {int(constraints.allowed.sum(axis=0).max())} candidates"
    return words


def fits(score: Score, max_memory: float) -> bool:
    """Tell whether tables of all families fit into the memory (GiB) allowed."""
    return _gib(score) <= max_memory


def check_size(score: Score, max_memory: float) -> None:
    """Refuse, before anything is spent, a certificate that nothing here can give."""
    if not fits(score, max_memory) and enumerable(score) is None:
        need = f"{_gib(score):.1f}" if score.n_nodes <= 30 else "thousands of"
        raise SettingsError(
            f"exact needs {need} GiB for {score.n_nodes} columns with score '{score.name}', but max_memory is "
            f"{max_memory:g} GiB",
            hint="use exact='auto' or False, or raise max_memory; up to 18 columns need less than 1 GiB, and up to "
            "64 columns can need less if they are not collinear and the score is bic-nv, bic-ev, bge, bdeu or "
            "bic-discrete",
        )


def _gib(score: Score) -> float:
    """Return the memory of all families: their tables and, where no kernel makes these, the evaluator's cache."""
    d, form = score.n_nodes, score.compiled()
    each = TABLES * 8 + (0 if form is not None and form.tabled else CACHED_BYTES)
    return 2.0 ** (d - 1) * (d * each + 2 * SETS * 8) / 2**30


class _TooManyError(Exception):
    """There are more parent sets of use than may be looked at."""


class _ByTables:
    """Solves an additive form of the score by dynamic programming over all sets of nodes."""

    exact = True

    def __init__(self, tables: FamilyTables, evaluator: Evaluator) -> None:
        self.tables = tables
        self.score = evaluator.score
        self.rounding = tables.rounding

    def solve(self, level: float | None, best: Evaluated) -> tuple[float, Bools]:
        """Return the highest sum of shares and its DAG."""
        shares = self.tables.shares(self.score, level)
        inside = subset_kernels.best_inside(shares)
        value = subset_kernels.forward(inside)
        return float(value[-1]), subset_kernels.trace(inside, shares, value)

    def levels(self, best: Evaluated) -> tuple[float, float]:
        """Return bounds on the mean MSE of any DAG."""
        usable = self.tables.price > -np.inf
        highest = np.where(usable, self.tables.local, -np.inf).max(axis=1)
        lowest = np.where(usable, self.tables.local, np.inf).min(axis=1)
        return _mean(self.score, highest) * (1 - 1e-9), _mean(self.score, lowest) * (1 + 1e-9)


class _BySets:
    """Bounds an additive form of the score by a search over the parent sets of use."""

    def __init__(
        self, evaluator: Evaluator, form: GramForm | CountForm, constraints: Constraints, effort: Effort
    ) -> None:
        self.evaluator = evaluator
        self.score = evaluator.score
        self.form = form
        self.constraints = constraints
        self.effort = effort
        self.rounding = LARGE_COMPONENTS * rounding(self.score, form)
        self.exact = True  # all levels so far were solved to the end

    def solve(self, level: float | None, best: Evaluated) -> tuple[float, Bools]:
        """Return a bound on the sum of shares of any DAG, and the best DAG met."""
        price = self.score.family_price(Families.from_dags(best.dags))
        known = self.score.share(best.local[0], price, level)
        slack = (self.rounding + EQUAL * (1.0 + abs(float(known.sum())))) / LARGE_COMPONENTS
        least = float(known.sum()) - slack
        found = useful_sets(self.score, self.form, self.constraints, least, level, self.effort)
        if found is None:
            raise _TooManyError
        order = np.array(topological_order(best.dags[0]), dtype=np.intp)
        solved = solve(found, order, known, self.effort, slack)
        self.exact &= solved.exact
        return solved.upper, found.best_dag(solved.order)

    def levels(self, best: Evaluated) -> tuple[float, float]:
        """Return bounds on the mean MSE of any DAG that is better than the best known."""
        score = self.score
        full = Families(np.arange(score.n_nodes), np.ascontiguousarray(self.constraints.allowed.T))
        low = _mean(score, self.evaluator.families(full)) * (1 - 1e-9)
        prior = (
            0.0 if score._prior is None else (score.evidence_scale or 1.0) * float(np.maximum(score._prior, 0.0).sum())
        )
        high = float(np.exp((prior - float(best.scores[0])) / score.n_rows.sum()))  # all prices are at most the prior's
        return low, high * (1 + 1e-9)


def _mean(score: Score, local: Floats) -> float:
    """Return the mean MSE of a DAG with these local values ``-ln MSE`` (d,)."""
    return float((score.n_rows * np.exp(-local)).sum() / score.n_rows.sum())


class _Sweep:
    """Solutions of additive forms of a score, and the best DAG they met."""

    def __init__(self, solver: _ByTables | _BySets, evaluator: Evaluator, start: Evaluated) -> None:
        self.solver = solver
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
        low, high = self.solver.levels(self.best)
        ends = sorted({1.0 / high, min(max(1.0 / level, 1.0 / high), 1.0 / low), 1.0 / low})
        points = [(t, *self._solve(1.0 / t)) for t in ends]
        stack = list(pairwise(points))
        bound = max(_at(t, value, rows) for t, value, _ in points)
        for _ in range(MAX_LEVELS):
            if not stack:
                break
            left, right = stack.pop()
            most = _chord_bound(left, right, rows)
            if most <= self.best.scores[0] + tolerance(self.solver.rounding, self.best):
                bound = max(bound, min(most, float(self.best.scores[0])))
                continue
            if not self.solver.exact:  # a level was not solved to the end: more of them would not be either
                bound = max(bound, most)
                continue
            t = _meeting(left, right)
            middle = (t, *self._solve(1.0 / t))
            stack += [(left, middle), (middle, right)]
        return max(bound, float(self.best.scores[0]), *(_chord_bound(left, right, rows) for left, right in stack))

    def _solve(self, level: float | None) -> tuple[float, float]:
        """Return the highest sum of shares and, where there is a level, the sum of n MSE of its DAG."""
        value, dag = self.solver.solve(level, self.best)
        found = self._evaluated(dag)
        if found.scores[0] > self.best.scores[0]:
            self.best = found
        if level is None:
            return value, 0.0
        return value, float((self.evaluator.score.n_rows * np.exp(-found.local[0])).sum())

    def _evaluated(self, dag: Bools) -> Evaluated:
        local = self.evaluator.families(Families.from_dags(dag[None]))[None]
        return Evaluated(dag[None], local, self.evaluator.scores(dag[None], local))


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
