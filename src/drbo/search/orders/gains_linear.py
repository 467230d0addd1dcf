"""What adding or dropping a parent is worth for scores that come from a covariance matrix, compiled.

For these a local score costs well under a microsecond: no network can pay for itself there. What all additions to a
parent set are worth follows from the residuals of all columns on that set, found by eliminating the parents from the
correlation matrix one after the other.
"""

from typing import Any, NamedTuple

import numpy as np

from drbo.jit import numba
from drbo.scores.linear import COLLINEAR_PIVOT, RESIDUAL_FLOOR
from drbo.search.orders.parent_memo import Expansion, Flags, Floats, Ints, Whole

#: A conditional variance below this share of the variable's own makes it collinear with those already chosen.
COLLINEAR = COLLINEAR_PIVOT
#: Residual shares under this count as a perfect fit.
FLOOR = RESIDUAL_FLOOR


class LinearSteps(NamedTuple):
    """Steps for the value ``-cost - sum of prices`` of a family.

    With r the share of the node's variance that its parents leave, the cost is ``rows ln r`` for unequal variances,
    ``weight r`` for an additive bound of an equal-variance score, and for an evidence with k parents of determinant D
    ``factors[k] ln r + ln D / 2 - constants[k]``.
    """

    correlations: Floats  # (G, d, d)
    group: Ints  # (d,) the correlation matrix of each node's rows
    rows: Floats  # (d,)
    weights: Floats  # (d,) zero: unequal variances
    constants: Floats  # (d, K + 1) of an evidence; (0, 0): the score is none
    factors: Floats  # (d, K + 1)
    prices: Floats  # (d, d) prices[j, i]: what the edge i -> j costs
    allowed: Flags  # (d, d) allowed[j, i]: the edge i -> j may be
    required: Flags  # (d, d) required[j, i]: the edge i -> j must be
    max_parents: Ints  # (d,)

    @property
    def n_nodes(self) -> int:
        return len(self.group)

    @property
    def cost(self) -> int:
        """Local scores computed for one set."""
        return self.n_nodes

    def expand(self, nodes: Ints, parents: Ints, sizes: Ints) -> Expansion:
        """Return the steps from the parent sets ``parents[b, :sizes[b]]`` of ``nodes[b]``."""
        count, d = len(nodes), self.n_nodes
        values, gains = np.empty(count), np.empty((count, d))
        drops, drop_gains = np.empty(count, dtype=np.int64), np.empty(count)
        for b in range(count):
            values[b], drops[b], drop_gains[b] = expand(nodes[b], parents[b], sizes[b], self, gains[b])
        return Expansion(values, gains, drops, drop_gains)


@numba.njit(cache=True)
def expand(node: Whole, parents: Any, size: Whole, problem: Any, gains: Any) -> Any:
    """Write the gains of all additions to a parent set; return its value, the best drop and what that gains."""
    d = len(gains)
    corr, prices = problem.correlations[problem.group[node]], problem.prices[node]
    coordinates, left, joint = np.empty((size, d)), np.empty(d), np.empty(d)
    log_det = _eliminate(node, parents, size, corr, coordinates, left, joint)
    cost, price = _cost(node, size, left[node], log_det, problem), 0.0
    for k in range(size):
        price += prices[parents[k]]
    for v in range(d):
        gains[v] = 0.0
    if size < problem.max_parents[node]:
        _additions(node, size, cost, log_det, left, joint, problem, gains)
        for k in range(size):
            gains[parents[k]] = 0.0
    drop, gain = _best_drop(node, parents, size, cost, log_det, left[node], coordinates, problem)
    return -cost - price, drop, gain


@numba.njit(cache=True)
def _cost(node: Whole, size: Whole, residual: float, log_det: float, problem: Any) -> float:
    r = max(residual, FLOOR)
    if problem.weights[node] > 0:
        return float(problem.weights[node] * r)
    if len(problem.factors) > 0:
        return float(problem.factors[node, size] * np.log(r) + log_det / 2 - problem.constants[node, size])
    return float(problem.rows[node] * np.log(r))


@numba.njit(cache=True)
def _eliminate(node: Whole, parents: Any, size: Whole, corr: Any, coordinates: Any, left: Any, joint: Any) -> float:
    """Project every column on the parents; return the log determinant of the parents.

    ``coordinates[k]`` are those on the part of parent k that the parents before it leave, ``left`` the variance that
    all parents leave, ``joint`` the covariance with the node that they leave. A collinear parent has no part.
    """
    log_det, d = 0.0, len(left)
    for v in range(d):
        left[v], joint[v] = 1.0, corr[node, v]
    for k in range(size):
        parent, row = parents[k], coordinates[k]
        if left[parent] <= COLLINEAR:
            for v in range(d):
                row[v] = 0.0
            continue
        log_det += np.log(left[parent])
        scale = 1.0 / np.sqrt(left[parent])
        for v in range(d):
            row[v] = corr[parent, v]
        for j in range(k):
            factor, other = coordinates[j, parent], coordinates[j]
            for v in range(d):
                row[v] -= factor * other[v]
        own = row[node] * scale
        for v in range(d):
            row[v] *= scale
            left[v] -= row[v] * row[v]
            joint[v] -= own * row[v]
    return log_det


@numba.njit(cache=True)
def _additions(
    node: Whole, size: Whole, cost: float, log_det: float, left: Any, joint: Any, problem: Any, gains: Any
) -> None:
    """Write what each allowed addition gains, where it gains."""
    residual, prices, allowed, rows = left[node], problem.prices[node], problem.allowed[node], problem.rows[node]
    bic = problem.weights[node] == 0 and len(problem.factors) == 0
    for v in range(len(left)):
        if not allowed[v] or left[v] <= COLLINEAR:
            continue
        less = joint[v] * joint[v] / left[v]
        if bic and rows * less <= prices[v] * (residual - less):  # -ln(1 - x) <= x / (1 - x): it cannot pay
            continue
        more = 0.0 if bic else np.log(left[v])
        gains[v] = cost - _cost(node, size + 1, residual - less, log_det + more, problem) - prices[v]


@numba.njit(cache=True)
def _best_drop(
    node: Whole, parents: Any, size: Whole, cost: float, log_det: float, residual: float, coordinates: Any, problem: Any
) -> Any:
    """Return the parent whose drop gains most, and the gain; -1 where none does.

    Without parent i the residual grows by slope_i^2 / inverse_ii. Both come from the Cholesky factor: an explicit
    inverse loses the residual in rounding where parents are strongly correlated.
    """
    slopes, column = np.empty(size), np.empty(size)
    best, best_gain = -1, 0.0
    for i in range(size - 1, -1, -1):
        pivot, grown, inverse = coordinates[i, parents[i]], residual, 1.0
        slopes[i] = 0.0
        if pivot > 0:  # else collinear with those before it
            slopes[i] = coordinates[i, node]
            for m in range(i + 1, size):
                slopes[i] -= coordinates[i, parents[m]] * slopes[m]
            slopes[i] /= pivot
            inverse = 0.0  # squared length of column i of the factor's inverse
            for m in range(i, size):
                product = 1.0 if m == i else 0.0
                for j in range(i, m):
                    product -= coordinates[j, parents[m]] * column[j]
                below = coordinates[m, parents[m]]
                column[m] = product / below if below > 0 else 0.0
                inverse += column[m] * column[m]
            grown = residual + slopes[i] * slopes[i] / inverse
        if problem.required[node, parents[i]]:
            continue
        without = _cost(node, size - 1, grown, log_det + np.log(inverse), problem)
        gain = cost - without + problem.prices[node, parents[i]]
        if gain > best_gain:
            best, best_gain = parents[i], gain
    return best, best_gain
