"""Compiled order search for linear scores: a node goes to its best place, its parents are grown and shrunk.

For scores that come from a covariance matrix a local score costs a microsecond: no network can pay for itself there.
Given an order, every node takes parents from those before it, greedily: add the best until none pays, then drop those
that no longer pay. A node is moved to the place where the whole order scores best (Andrews et al. 2023 call this the
best order score search), until no move helps.
"""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from drbo.scores.linear import COLLINEAR_PIVOT, RESIDUAL_FLOOR

#: A conditional variance below this share of the variable's own makes it collinear with those already chosen.
COLLINEAR = COLLINEAR_PIVOT
#: Residual shares under this count as a perfect fit.
FLOOR = RESIDUAL_FLOOR


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """What the kernels need: maximise ``sum_i -fit_i - sum of prices`` over orders.

    ``fit_i`` is ``rows_i ln r`` for unequal variances, and ``weight_i r`` for an additive bound of an equal-variance
    score, with r the share of the node's variance that its parents leave.
    """

    correlations: npt.NDArray[np.float64]  # (G, d, d)
    group: npt.NDArray[np.int64]  # (d,) the correlation matrix of each node's rows
    rows: npt.NDArray[np.float64]  # (d,)
    weights: npt.NDArray[np.float64]  # (d,) zero: unequal variances
    prices: npt.NDArray[np.float64]  # (d, d) prices[i, j]: what the edge i -> j costs
    allowed: npt.NDArray[np.bool_]  # (d, d)
    required: npt.NDArray[np.bool_]  # (d, d)
    max_parents: npt.NDArray[np.int64]  # (d,)
    before: npt.NDArray[np.bool_]  # (d, d) before[i, j]: i must come before j

    def climb(
        self, order: npt.NDArray[np.int64], visits: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], int]:
        """Return the climbed order, its DAG (d, d) and how many local scores were computed."""
        order, dag, count = _climb(order.copy(), visits, self.before, self._arrays())
        return order, dag, int(count)

    def parents(self, node: int, prefix: npt.NDArray[np.int64]) -> tuple[float, list[int]]:
        """Return the value and the parents that a node takes from those before it."""
        work, chosen = _workspace(len(self.group))
        value, size, _ = _grow_shrink(node, prefix, len(prefix), -1, self._arrays(), work, chosen)
        return float(value), sorted(chosen[:size].tolist())

    def _arrays(self) -> tuple[Any, ...]:
        return (
            self.correlations,
            self.group,
            self.rows,
            self.weights,
            self.prices,
            self.allowed,
            self.required,
            self.max_parents,
        )


@numba.njit(cache=True)
def _workspace(d: int) -> Any:
    return np.empty((d + 1, d + 2)), np.empty(d, dtype=np.int64)


@numba.njit(cache=True)
def _fit(residual: float, rows: float, weight: float) -> float:
    r = max(residual, FLOOR)
    return weight * r if weight > 0 else rows * np.log(r)


@numba.njit(cache=True)
def _add(member: int, node: int, prefix: Any, size: int, extra: int, k: int, corr: Any, work: Any) -> None:
    """Project candidates and node on the part of a new member that the k chosen ones do not explain.

    ``work[v, :k]`` are the coordinates of v on the chosen ones, ``work[v, -1]`` the variance they leave.
    """
    last = work.shape[1] - 1
    scale = 1.0 / np.sqrt(work[member, last])
    for index in range(size + 2):
        v = prefix[index] if index < size else (extra if index == size else node)
        if v < 0 or v == member:
            continue
        product = corr[v, member]
        for j in range(k):
            product -= work[v, j] * work[member, j]
        product *= scale
        work[v, k] = product
        work[v, last] -= product * product
    work[member, last] = 0.0


@numba.njit(cache=True)
def _grow_shrink(node: int, prefix: Any, size: int, extra: int, problem: Any, work: Any, chosen: Any) -> Any:
    """Choose parents of a node among ``prefix[:size]`` and ``extra``; return value, number of parents, local scores."""
    correlations, group, rows, weights, prices, allowed, required, max_parents = problem
    corr = correlations[group[node]]
    n, weight, last = rows[node], weights[node], work.shape[1] - 1
    most = min(max_parents[node], int(n) - 2)
    k, price, count = 0, 0.0, 1
    for index in range(size + 2):
        v = prefix[index] if index < size else (extra if index == size else node)
        if v >= 0:
            work[v, last] = 1.0
    for index in range(size + 1):
        v = prefix[index] if index < size else extra
        if v >= 0 and required[v, node] and work[v, last] > COLLINEAR:
            _add(v, node, prefix, size, extra, k, corr, work)
            chosen[k], price, k = v, price + prices[v, node], k + 1
    forced = k
    fit = _fit(work[node, last], n, weight)
    while k < most:
        best, best_gain = -1, 1e-9
        for index in range(size + 1):
            v = prefix[index] if index < size else extra
            if v < 0 or not allowed[v, node] or work[v, last] <= COLLINEAR:
                continue
            product = corr[v, node]
            for j in range(k):
                product -= work[v, j] * work[node, j]
            gain = fit - _fit(work[node, last] - product * product / work[v, last], n, weight) - prices[v, node]
            count += 1
            if gain > best_gain:
                best, best_gain = v, gain
        if best < 0:
            break
        _add(best, node, prefix, size, extra, k, corr, work)
        chosen[k], price, k = best, price + prices[best, node], k + 1
        fit = _fit(work[node, last], n, weight)
    if k > forced + 1:  # the last one added pays; an earlier one may not any more
        k, fit, price, more = _shrink(node, k, forced, fit, price, corr, n, weight, prices, chosen)
        count += more
    return -fit - price, k, count


@numba.njit(cache=True)
def _shrink(
    node: int, k: int, forced: int, fit: float, price: float, corr: Any, n: float, weight: float, prices: Any,
    chosen: Any,
) -> Any:  # fmt: skip
    """Drop parents that no longer pay, the worst first.

    Without parent i the residual grows by slope_i^2 / inverse_ii. Both come from the Cholesky factor: an explicit
    inverse loses the residual in rounding where parents are strongly correlated.
    """
    count = 0
    factor, slopes, column = np.empty((k, k)), np.empty(k), np.empty(k)
    while k > forced:
        residual = 1.0
        for i in range(k):  # rows of the factor, then the node's own coordinates in slopes
            for j in range(i + 1):
                product = corr[chosen[i], chosen[j]]
                for m in range(j):
                    product -= factor[i, m] * factor[j, m]
                factor[i, j] = np.sqrt(max(product, COLLINEAR)) if i == j else product / factor[j, j]
            product = corr[chosen[i], node]
            for m in range(i):
                product -= factor[i, m] * slopes[m]
            slopes[i] = product / factor[i, i]
            residual -= slopes[i] * slopes[i]
        for i in range(k - 1, -1, -1):
            for m in range(i + 1, k):
                slopes[i] -= factor[m, i] * slopes[m]
            slopes[i] /= factor[i, i]
        worst, best_gain, best_residual = -1, 1e-9, residual
        for i in range(forced, k):
            inverse = 0.0  # squared length of column i of the factor's inverse
            for m in range(i, k):
                product = 1.0 if m == i else 0.0
                for j in range(i, m):
                    product -= factor[m, j] * column[j]
                column[m] = product / factor[m, m]
                inverse += column[m] * column[m]
            without = residual + slopes[i] * slopes[i] / inverse
            gain = fit - _fit(without, n, weight) + prices[chosen[i], node]
            count += 1
            if gain > best_gain:
                worst, best_gain, best_residual = i, gain, without
        if worst < 0:
            break
        price -= prices[chosen[worst], node]
        fit = _fit(best_residual, n, weight)
        for i in range(worst, k - 1):
            chosen[i] = chosen[i + 1]
        k -= 1
    return k, fit, price, count


@numba.njit(cache=True)
def _climb(order: Any, visits: Any, before: Any, problem: Any) -> Any:
    """Move nodes to their best places until a whole round changes nothing."""
    d, count = len(order), 0
    work, chosen = _workspace(d)
    value = np.empty(d)
    for place in range(d):
        value[order[place]], _, more = _grow_shrink(order[place], order, place, -1, problem, work, chosen)
        count += more
    rest = np.empty(d - 1, dtype=np.int64)
    with_, without, own = np.empty(d - 1), np.empty(d - 1), np.empty(d)
    improved = True
    while improved:
        improved = False
        for node in visits:
            here, low, high = 0, 0, d - 1
            index = 0
            for place in range(d):
                if order[place] == node:
                    here = place
                else:
                    rest[index] = order[place]
                    index += 1
            for index in range(d - 1):
                other = rest[index]
                if before[other, node]:
                    low = max(low, index + 1)
                if before[node, other]:
                    high = min(high, index)
            for index in range(d - 1):
                other = rest[index]
                with_[index] = without[index] = value[other]
                if index < here and index >= low:
                    with_[index], _, more = _grow_shrink(other, rest, index, node, problem, work, chosen)
                    count += more
                if index >= here and index < high:
                    without[index], _, more = _grow_shrink(other, rest, index, -1, problem, work, chosen)
                    count += more
            for place in range(low, high + 1):
                own[place] = value[node]
                if place != here:
                    own[place], _, more = _grow_shrink(node, rest, place, -1, problem, work, chosen)
                    count += more
            best, best_gain, gain_here = here, 1e-7, 0.0
            for place in range(here - 1, low - 1, -1):  # to the front: those passed get the node as a candidate
                gain_here += with_[place] - without[place]
                gain = gain_here + own[place] - value[node]
                if gain > best_gain:
                    best, best_gain = place, gain
            gain_here = 0.0
            for place in range(here + 1, high + 1):  # to the back: those passed lose it
                gain_here += without[place - 1] - with_[place - 1]
                gain = gain_here + own[place] - value[node]
                if gain > best_gain:
                    best, best_gain = place, gain
            if best != here:
                improved = True
                value[node] = own[best]
                for index in range(min(here, best), max(here, best)):
                    value[rest[index]] = with_[index] if best < here else without[index]
                order[:best] = rest[:best]
                order[best] = node
                order[best + 1 :] = rest[best:]
    dag = np.zeros((d, d), dtype=np.bool_)
    for place in range(d):
        _, size, _ = _grow_shrink(order[place], order, place, -1, problem, work, chosen)
        for index in range(size):
            dag[chosen[index], order[place]] = True
    return order, dag, count
