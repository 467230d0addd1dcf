"""Families are tried by cheaper versions of the score first; those that could matter are promoted to the true score.

What a family is worth is predicted from its cheaper value v by a Gaussian process over parent sets and fidelities:

    true(node, x) = level(node) + slope(node) v(node, x) + rest(node, x),

with slopes that vary around a common one, and a rest that is alike for parent sets x of one node that differ little:
its covariance is (1 + |x|) (1 + |x'|) exp(-theta |x - x'|), larger for larger sets (after Kennedy & O'Hagan 2000,
"Predicting the output from a complex computer code when fast approximations are available"). The common slope, theta,
the scale and how far slopes vary follow from the families of which both values are known, so under a version of the
score that says little, everything may matter and is promoted. Nothing here has a state: what is predicted follows from
what the evaluator knows.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from drbo.arrays import Bools, Floats
from drbo.machine.threads import one_blas_thread
from drbo.scores.families import Families
from drbo.search.evaluation.evaluator import Evaluator, Level

#: Returns how much each family promises, given the values of all of them, some of them predicted; -inf: nothing.
Promise = Callable[[Floats], Floats]

#: A family may be worth so many standard deviations more than what is predicted.
HOPE = 2.0
#: The choices of theta, and of the variance of the slopes of single nodes; the noise, and the variance of their levels.
THETAS = (0.1, 0.3, 1.0)
BENDS = (0.1, 1.0, 10.0)
NOISE, LEVEL_VARIANCE = 1e-2, 10.0
#: Families with both values without which nothing is predicted; and the newest ones of a node, of which so many count.
LEAST_PAIRS, MOST_PAIRS = 10, 150
#: A node has at least so many pairs, if it has so many families whose true value is known.
OWN_PAIRS = 3
#: Families that are promoted at a time, one of a node, and at least one for each worker: the next ones are chosen with
#: what these teach.
AT_ONCE = 8
#: A level that was asked for so many families per node, and saved less than it cost, is not asked any more.
TRIAL = 4


class _Node:
    """The families of one node whose true and cheaper values are known."""

    def __init__(self, sets: Floats, true: Floats, cheap: Floats) -> None:  # (n, d), (n,), (n,)
        self.sets, self.mean, self.cheap_mean = sets, float(true.mean()), float(cheap.mean())
        self.true, self.cheap = true - self.mean, cheap - self.cheap_mean
        self.rest = {theta: self._rest(sets, theta) for theta in THETAS}

    def _rest(self, others: Floats, theta: float) -> Floats:
        """Return the covariance of the rests (n, m): they are larger for larger sets."""
        apart = self.sets @ (1 - others).T + (1 - self.sets) @ others.T
        sizes = np.outer(1 + self.sets.sum(axis=1), 1 + others.sum(axis=1))
        return np.asarray(sizes * np.exp(-theta * apart))

    def factor(self, shape: "_Shape") -> Floats:
        """Return the Cholesky factor of the prior covariance of the true values."""
        matrix = shape.covariance(self.rest[shape.theta], self.cheap, self.cheap)
        return np.asarray(np.linalg.cholesky(matrix + NOISE * np.eye(len(matrix))))

    def products(self, shape: "_Shape") -> Floats:
        """Return what it adds to the sums of a fit: cheap with cheap, with true, true with true, log determinant."""
        factor = self.factor(shape)
        white = solve_triangular(factor, np.column_stack([self.cheap, self.true]), lower=True)
        products: Floats = white.T @ white
        return np.array([products[0, 0], products[0, 1], products[1, 1], np.log(np.diag(factor)).sum()])

    def predict(self, sets: Floats, cheap: Floats, fit: "_Fit") -> tuple[Floats, Floats]:
        """Return mean and standard deviation (m,) of the true values of other sets."""
        away = cheap - self.cheap_mean
        across = fit.shape.covariance(self._rest(sets, fit.shape.theta), self.cheap, away)  # (n, m)
        weights = cho_solve((self.factor(fit.shape), True), across)
        mean = self.mean + fit.slope * away + weights.T @ (self.true - fit.slope * self.cheap)
        prior = LEVEL_VARIANCE + (1 + sets.sum(axis=1)) ** 2 + fit.shape.bend * away**2
        left = prior - (across * weights).sum(axis=0) + (away - weights.T @ self.cheap) ** 2 / fit.precision
        return mean, np.sqrt(fit.variance * np.maximum(left, 0.0))


class _Shape(NamedTuple):
    """Hyperparameters of the covariance, in units of its scale."""

    theta: float
    bend: float  # the variance of the slopes of single nodes

    def covariance(self, rest: Floats, left: Floats, right: Floats) -> Floats:
        """Return the covariance of true values (n, m), given that of the rests and the cheaper values (n,) and (m,)."""
        return np.asarray(LEVEL_VARIANCE + rest + self.bend * np.outer(left, right))


class _Fit(NamedTuple):
    """The most likely parameters."""

    shape: _Shape
    slope: float
    precision: float  # of the slope, over that of the scale
    variance: float  # the scale


def _fitted(nodes: list[_Node]) -> _Fit | None:
    """Return how the true score follows a cheaper version of it; None: too little is known."""
    count = sum(len(node.true) for node in nodes)
    spread = sum(float(node.cheap @ node.cheap) for node in nodes) / max(1, count)
    if count < LEAST_PAIRS or spread == 0:
        return None
    best, found, free = -np.inf, None, max(1, count - 1 - len(nodes))
    for theta in THETAS:
        for bend in BENDS:
            shape = _Shape(theta, bend / spread)
            precision, along, total, determinant = np.sum([node.products(shape) for node in nodes], axis=0)
            variance = max(total - along**2 / precision, 1e-12 * total, 1e-300) / free
            likelihood = -0.5 * count * np.log(variance) - determinant
            if likelihood > best:
                best, found = likelihood, _Fit(shape, along / precision, precision, variance)
    return found


class Promotion:
    """Chooses which families are worth their true local scores; without cheaper versions, all are."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.hope = HOPE  # standard deviations above what is predicted; infinite: everything is promoted
        self._counts: dict[int, tuple[int, int]] = {}  # families when the model of each level was made
        self._models: dict[int, tuple[dict[int, _Node], _Fit | None]] = {}

    @property
    def levels(self) -> list[int]:
        """The levels that saved more true local scores than they cost, or are still on trial; none at endless hope."""
        if self.hope == np.inf:
            return []
        return [number for number, level in enumerate(self.evaluator.levels) if self._pays(level)]

    def _pays(self, level: Level) -> bool:
        asked = len(level.known)
        if asked < TRIAL * self.evaluator.score.n_nodes:
            return True
        keys = level.known.since(0)[0].keys()
        return asked - sum(self.evaluator.is_known(keys)) >= level.cost * asked

    def values(self, families: Families, promise: Promise) -> Floats:
        """Return the true local scores of the families that matter; NaN for all others, and where the budget ends.

        ``promise`` judges families by their true values and, where these are not known, by what they may be worth. The
        most promising ones are promoted first.
        """
        evaluator, levels = self.evaluator, self.levels
        if not levels:
            values, rows = np.full(len(families), np.nan), evaluator.affordable(families)
            values[rows] = evaluator.families(families[rows])
            return values
        for number in levels:
            known = self._known(families)
            wanted = ~known & (promise(self.hoped(families)) > -np.inf)
            wanted |= known & self._lacks_pairs(families, number)
            evaluator.preview(families[wanted], number)
        while True:
            hoped, known = self.hoped(families), self._known(families)
            promises = np.where(known, -np.inf, promise(hoped))
            order = np.argsort(-promises, kind="stable")
            order = order[promises[order] > -np.inf]
            first = np.sort(np.unique(families.nodes[order], return_index=True)[1])
            rows = order[first][: max(AT_ONCE, evaluator.n_workers)]
            rows = rows[evaluator.affordable(families[rows])]
            if len(rows) == 0:
                return np.where(known, hoped, np.nan)
            evaluator.families(families[rows])

    def hoped(self, families: Families) -> Floats:
        """Return true values where they are known, else what a family may be worth; infinite if it was not tried."""
        known, values = self._known(families), np.empty(len(families))
        values[known] = self.evaluator.families(families[known])
        mean, deviation = self.predicted(families[~known])
        values[~known] = mean + self.hope * deviation
        return values

    def predicted(self, families: Families) -> tuple[Floats, Floats]:
        """Return mean and standard deviation (m,) of true values, by the highest level at which each was tried."""
        mean, deviation = np.zeros(len(families)), np.full(len(families), np.inf)
        keys = families.keys()
        for number, level in enumerate(self.evaluator.levels):
            nodes, fit = self._model(number)
            asked = np.array([key in level.known for key in keys], dtype=bool)
            for node in np.unique(families.nodes[asked]).tolist():
                if fit is None or node not in nodes:
                    continue
                rows = np.flatnonzero(asked & (families.nodes == node))
                cheap = level.known.of([keys[row] for row in rows])
                with one_blas_thread():
                    mean[rows], deviation[rows] = nodes[node].predict(
                        families.parents[rows].astype(np.float64), cheap, fit
                    )
        return mean, deviation

    def tried(self) -> tuple[Families, Floats]:
        """Return all families that were tried but not promoted, with the values that are predicted for them."""
        d = self.evaluator.score.n_nodes
        keys = list[bytes]()
        for level in self.evaluator.levels:
            keys += level.known.since(0)[0].keys()
        keys = [key for key in dict.fromkeys(keys) if not self.evaluator.is_known([key])[0]]
        families = Families.from_keys(keys, d)
        mean, deviation = self.predicted(families)
        rows = np.flatnonzero(deviation < np.inf)
        return families[rows], mean[rows]

    def _known(self, families: Families) -> Bools:
        return np.array(self.evaluator.is_known(families.keys()), dtype=bool)

    def _lacks_pairs(self, families: Families, number: int) -> Bools:
        nodes, _ = self._model(number)
        few = np.array([node not in nodes or len(nodes[node].true) < OWN_PAIRS for node in range(families.n_nodes)])
        return few[families.nodes]

    def _model(self, number: int) -> tuple[dict[int, _Node], _Fit | None]:
        """Return the pairs of each node, and the fit; nodes without new pairs stay as they are."""
        level = self.evaluator.levels[number]
        count = (self.evaluator.n_local, len(level.known))
        if self._counts.get(number) == count:
            return self._models[number]
        families, cheap = level.known.since(0)
        pairs = np.flatnonzero(self._known(families))
        nodes = dict[int, _Node]()
        for node in np.unique(families.nodes[pairs]).tolist():
            rows = pairs[families.nodes[pairs] == node][-MOST_PAIRS:]
            true = self.evaluator.families(families[rows])
            nodes[node] = _Node(families.parents[rows].astype(np.float64), true, cheap[rows])
        with one_blas_thread():
            self._counts[number], self._models[number] = count, (nodes, _fitted(list(nodes.values())))
        return self._models[number]
