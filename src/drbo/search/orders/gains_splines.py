"""What adding or dropping a parent is worth for the spline score, compiled.

All families come from one Gram matrix of the columns and of all basis functions. A parent is a block of functions: the
parents' blocks are eliminated from the matrix one function after the other, and what a further block explains follows
from its own small part of what is left.
"""

from typing import Any, NamedTuple

import numpy as np

from drbo.jit import numba
from drbo.scores.linear import COLLINEAR_PIVOT, RESIDUAL_FLOOR
from drbo.search.orders.parent_memo import Expansion, Flags, Floats, Ints

#: A function with less than this share of its norm left, given those already chosen, adds nothing.
COLLINEAR = COLLINEAR_PIVOT
#: Residual shares under this count as a perfect fit.
FLOOR = RESIDUAL_FLOOR


class SplineSteps(NamedTuple):
    """Steps for the value ``-rows ln r - sum of prices`` of a family; r is the share of variance its parents leave."""

    grams: Floats  # (G, D, D) columns 0 to d - 1 are the variables, the others their basis functions
    firsts: Ints  # (G, d + 1) where the functions of each variable begin
    group: Ints  # (d,) the Gram matrix of each node's rows
    rows: Floats  # (d,)
    prices: Floats  # (d, d) prices[j, i]: what the edge i -> j costs
    allowed: Flags  # (d, d) allowed[j, i]: the edge i -> j may be
    required: Flags  # (d, d) required[j, i]: the edge i -> j must be
    max_parents: Ints  # (d,)

    @property
    def n_nodes(self) -> int:
        return len(self.group)

    @property
    def cost(self) -> int:
        return len(self.group)

    def expand(self, nodes: Ints, parents: Ints, sizes: Ints) -> Expansion:
        """Return the steps from the parent sets ``parents[b, :sizes[b]]`` of ``nodes[b]``."""
        count = len(nodes)
        found = Expansion(
            np.empty(count), np.zeros((count, self.n_nodes)), np.empty(count, dtype=np.int64), np.empty(count)
        )
        _expand_all(nodes, parents, sizes, self, found)
        return found


@numba.njit(cache=True)
def _expand_all(nodes: Any, parents: Any, sizes: Any, problem: Any, found: Any) -> None:
    for b in range(len(nodes)):
        found.values[b], found.drops[b], found.drop_gains[b] = _expand(
            nodes[b], parents[b, : sizes[b]], problem, found.additions[b]
        )


@numba.njit(cache=True)
def _expand(node: int, parents: Any, problem: Any, gains: Any) -> Any:
    """Write the gains of all additions to a parent set; return its value, the best drop and what that gains."""
    group = problem.group[node]
    gram, first = problem.grams[group], problem.firsts[group]
    count = 0
    for parent in parents:
        count += first[parent + 1] - first[parent]
    functions, place = np.empty(count, dtype=np.int64), 0
    for parent in parents:
        for f in range(first[parent], first[parent + 1]):
            functions[place] = f
            place += 1
    coordinates = _eliminate(functions, gram)
    residual = 1.0
    for k in range(count):
        residual -= coordinates[k, node] ** 2
    credited = count < problem.rows[node] - 1  # else any data are fitted perfectly: no credit
    cost = problem.rows[node] * np.log(max(residual, FLOOR)) if credited else 0.0
    price = 0.0
    for parent in parents:
        price += problem.prices[node, parent]
    if credited and len(parents) < problem.max_parents[node]:
        _additions(node, residual, coordinates, problem, gains)
        for parent in parents:
            gains[parent] = 0.0
    drop, gain = _best_drop(node, parents, functions, residual, coordinates, problem)
    return -cost - price, drop, gain


@numba.njit(cache=True)
def _eliminate(functions: Any, gram: Any) -> Any:
    """Return the coordinates (m, D) of every column on what each function adds to those before it.

    A function that adds nothing has no part.
    """
    coordinates = np.zeros((len(functions), len(gram)))
    for k in range(len(functions)):
        own, row = functions[k], coordinates[k]
        left = gram[own, own]
        for j in range(k):
            left -= coordinates[j, own] ** 2
        if left <= COLLINEAR:
            continue
        row[:] = gram[own]
        for j in range(k):
            factor, other = coordinates[j, own], coordinates[j]
            if factor != 0.0:
                for v in range(len(row)):
                    row[v] -= factor * other[v]
        row /= np.sqrt(left)
    return coordinates


@numba.njit(cache=True)
def _additions(node: int, residual: float, coordinates: Any, problem: Any, gains: Any) -> None:
    """Write what each allowed addition gains, where it gains."""
    group = problem.group[node]
    gram, first = problem.grams[group], problem.firsts[group]
    rows, count = problem.rows[node], len(coordinates)
    widest = np.max(first[1:] - first[:-1])
    left, factor = np.empty(widest), np.empty((widest, widest))
    for v in range(len(gains)):
        start, width = first[v], first[v + 1] - first[v]
        if not problem.allowed[node, v] or width == 0 or count + width >= rows - 1:
            continue
        less = 0.0
        for i in range(width):  # a Cholesky factorisation of what is left of the block, node's coordinates in left
            for j in range(i + 1):
                product = gram[start + i, start + j]
                for k in range(count):
                    product -= coordinates[k, start + i] * coordinates[k, start + j]
                for k in range(j):
                    product -= factor[i, k] * factor[j, k]
                if i == j:
                    factor[i, i] = np.sqrt(product) if product > COLLINEAR else 0.0
                else:
                    factor[i, j] = product / factor[j, j] if factor[j, j] > 0 else 0.0
            product = gram[node, start + i]
            for k in range(count):
                product -= coordinates[k, node] * coordinates[k, start + i]
            for k in range(i):
                product -= factor[i, k] * left[k]
            left[i] = product / factor[i, i] if factor[i, i] > 0 else 0.0
            less += left[i] * left[i]
        after = max(residual - less, FLOOR)
        gains[v] = rows * (np.log(max(residual, FLOOR)) - np.log(after)) - problem.prices[node, v]


@numba.njit(cache=True)
def _best_drop(node: int, parents: Any, functions: Any, residual: float, coordinates: Any, problem: Any) -> Any:
    """Return the parent whose drop gains most, and the gain; -1 where none does.

    Without the block i the residual grows by ``b_i' (inverse_ii)^-1 b_i``, with b the coefficients and the inverse that
    of the parents' Gram matrix, both from its Cholesky factor.
    """
    first, rows, m = problem.firsts[problem.group[node]], problem.rows[node], len(functions)
    inverse = np.zeros((m, m))  # of the factor; zero where a function adds nothing
    for k in range(m):
        if coordinates[k, functions[k]] == 0.0:
            continue
        inverse[k, k] = 1.0 / coordinates[k, functions[k]]
        for i in range(k + 1, m):
            pivot = coordinates[i, functions[i]]
            if pivot > 0.0:
                product = 0.0
                for j in range(k, i):
                    product -= coordinates[j, functions[i]] * inverse[j, k]
                inverse[i, k] = product / pivot
    best, best_gain, start = -1, 0.0, 0
    credited = m < rows - 1
    for parent in parents:
        width = first[parent + 1] - first[parent]
        if not problem.required[node, parent]:
            grown = residual + _explained(start, width, node, inverse, coordinates)
            after = rows * np.log(min(max(grown, FLOOR), 1.0)) if credited or m - width < rows - 1 else 0.0
            now = rows * np.log(max(residual, FLOOR)) if credited else 0.0
            gain = now - after + problem.prices[node, parent]
            if gain > best_gain:
                best, best_gain = parent, gain
        start += width
    return best, best_gain


@numba.njit(cache=True)
def _explained(start: int, width: int, node: int, inverse: Any, coordinates: Any) -> float:
    """Return the variance of the node that only this block of the parents' functions explains."""
    m = len(inverse)
    slopes, factor, total = np.zeros(width), np.zeros((width, width)), 0.0
    for i in range(width):
        for k in range(start + i, m):
            slopes[i] += inverse[k, start + i] * coordinates[k, node]
        for j in range(i + 1):
            product = 0.0
            for k in range(start + i, m):
                product += inverse[k, start + i] * inverse[k, start + j]
            for k in range(j):
                product -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = np.sqrt(product) if product > 0 else 0.0
            else:
                factor[i, j] = product / factor[j, j] if factor[j, j] > 0 else 0.0
        product = slopes[i]
        for k in range(i):
            product -= factor[i, k] * slopes[k]
        slopes[i] = product / factor[i, i] if factor[i, i] > 0 else 0.0
        total += slopes[i] * slopes[i]
    return total
