"""Compiled sums over all DAGs: which share of the total weight goes through each family.

The weight of a DAG is the product of the weights of its families. ``inside[i, U]`` is the log of the summed weight of
all families of node i with parents inside U. The sums come back as ``passed[i, U]``: the derivative of the log of the
total by ``inside[i, U]``.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.jit import numba
from drbo.search.exact.subset_kernels import _column, _place, _set, best_inside, forward, on_threads

Floats = npt.NDArray[np.float64]


def sum_inside(
    logs: Floats,  # (d, 2^(d-1)) log weight of each family
) -> Floats:
    """Return the log of the summed weight of each node's families inside each set.

    Examples
    --------
    >>> sum_inside(np.log([[1.0, 3.0], [1.0, 1.0]])).round(6).tolist()
    [[0.0, 1.386294], [0.0, 0.693147]]
    """
    total = logs.copy()
    on_threads(lambda node: _spread_sum(total[node]), len(total))
    return total


def over_orders(inside: Floats) -> Floats:
    """Return ``passed`` when every order of the nodes counts once (Koivisto & Sood 2004): a DAG has its orders' weight.

    Examples
    --------
    >>> over_orders(np.zeros((2, 2))).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    before, after = _orders_forward(inside), _orders_backward(inside)
    passed = np.empty_like(inside)
    on_threads(lambda node: _passed(node, inside[node], before, after, passed[node]), len(inside))
    return passed


def over_dags(inside: Floats, logs: Floats) -> Floats:
    """Return ``passed`` when every DAG counts once (Tian & He 2009), in 3^d steps.

    The sum over DAGs on S runs over the sets T of its sinks, by inclusion and exclusion:
    ``R(S) = sum over T of (-1)^(|T|+1) R(S - T) prod over j in T of A_j(S - T)``. What passes through each A_j is the
    derivative, by the same recursion backwards. Every term is scaled by the heaviest DAG on its set, so nothing
    overflows, and at most 2^d terms of alternating sign cancel.

    Examples
    --------
    >>> over_dags(np.log([[1.0, 2.0], [1.0, 2.0]]), np.zeros((2, 2))).round(6).tolist()
    [[0.333333, 0.666667], [0.333333, 0.666667]]
    """
    scale = forward(best_inside(logs))
    total: Floats = _dags_forward(inside, scale)
    passed: Floats = _dags_backward(inside, scale, total)
    return passed


def edge_sums(inside: Floats, passed: Floats) -> Floats:
    """Return the probability (d, d) of each edge."""
    d = len(inside)
    edges = np.zeros((d, d))
    on_threads(lambda node: _edge_sums(node, inside[node], passed[node], edges), d)
    clipped: Floats = np.clip(edges, 0.0, 1.0)
    return clipped


@numba.njit(cache=True, nogil=True, inline="always")
def _log_add(a: float, b: float) -> float:
    if a < b:
        a, b = b, a
    if b == -np.inf or a - b > 40.0:
        return a
    return a + math.log1p(math.exp(b - a))


@numba.njit(cache=True, nogil=True)
def _spread_sum(row: Any) -> None:
    size, step = len(row), 1
    while step < size:
        for start in range(0, size, 2 * step):
            for k in range(start, start + step):
                row[k + step] = _log_add(row[k], row[k + step])
        step *= 2


@numba.njit(cache=True, nogil=True)
def _orders_forward(inside: Any) -> Any:
    d = len(inside)
    value = np.full(1 << d, -np.inf)
    value[0] = 0.0
    for nodes in range(1, 1 << d):
        total, left = -np.inf, nodes
        while left:
            bit = left & -left
            left ^= bit
            node = _place(bit)
            total = _log_add(total, value[nodes ^ bit] + inside[node, _column(nodes ^ bit, node)])
        value[nodes] = total
    return value


@numba.njit(cache=True, nogil=True)
def _orders_backward(inside: Any) -> Any:
    d = len(inside)
    full = (1 << d) - 1
    value = np.full(1 << d, -np.inf)
    value[full] = 0.0
    for nodes in range(full - 1, -1, -1):
        total, left = -np.inf, full ^ nodes
        while left:
            bit = left & -left
            left ^= bit
            node = _place(bit)
            total = _log_add(total, value[nodes | bit] + inside[node, _column(nodes, node)])
        value[nodes] = total
    return value


@numba.njit(cache=True, nogil=True)
def _passed(node: int, inside: Any, before: Any, after: Any, passed: Any) -> None:
    total = after[0]
    for k in range(len(inside)):
        nodes = _set(k, node)
        passed[k] = np.exp(before[nodes] + inside[k] + after[nodes | (1 << node)] - total)


@numba.njit(cache=True, nogil=True)
def _products(nodes: int, inside: Any, members: Any, logs: Any) -> int:
    """Fill in the log of the product over each set of sinks outside ``nodes``; return how many nodes are outside."""
    d, count = len(inside), 0
    for node in range(d):
        if not (nodes >> node) & 1:
            members[count] = node
            count += 1
    logs[0] = 0.0
    for k in range(count):
        value = inside[members[k], _column(nodes, members[k])]
        for low in range(1 << k):
            logs[(1 << k) | low] = logs[low] + value
    return count


@numba.njit(cache=True, nogil=True)
def _expand(nodes: int, members: Any, count: int, unions: Any, signs: Any) -> None:
    """Fill in the union of ``nodes`` with each set of sinks, and the sign of its term."""
    unions[0], signs[0] = nodes, -1.0
    for k in range(count):
        for low in range(1 << k):
            unions[(1 << k) | low] = unions[low] | (1 << members[k])
            signs[(1 << k) | low] = -signs[low]


@numba.njit(cache=True, nogil=True)
def _dags_forward(inside: Any, scale: Any) -> Any:
    d = len(inside)
    value = np.zeros(1 << d)
    value[0] = 1.0
    members = np.empty(d, dtype=np.int64)
    logs, unions, signs = np.empty(1 << d), np.empty(1 << d, dtype=np.int64), np.empty(1 << d)
    for nodes in range((1 << d) - 1):
        if scale[nodes] == -np.inf:
            continue
        count = _products(nodes, inside, members, logs)
        _expand(nodes, members, count, unions, signs)
        for k in range(1, 1 << count):
            exponent = scale[nodes] + logs[k] - scale[unions[k]]
            if exponent > -700.0:
                value[unions[k]] += signs[k] * value[nodes] * np.exp(exponent)
    return value


@numba.njit(cache=True, nogil=True)
def _dags_backward(inside: Any, scale: Any, value: Any) -> Any:
    d = len(inside)
    full = (1 << d) - 1
    slope = np.zeros(1 << d)  # of the log of the total by each scaled value
    slope[full] = 1.0 / value[full]
    passed = np.zeros_like(inside)
    members = np.empty(d, dtype=np.int64)
    logs, unions, signs = np.empty(1 << d), np.empty(1 << d, dtype=np.int64), np.empty(1 << d)
    for nodes in range(full - 1, -1, -1):
        if scale[nodes] == -np.inf:
            continue
        count = _products(nodes, inside, members, logs)
        _expand(nodes, members, count, unions, signs)
        total, logs[0] = 0.0, 0.0
        for k in range(1, 1 << count):  # logs: from here on what goes through the term
            exponent = scale[nodes] + logs[k] - scale[unions[k]]
            term = slope[unions[k]] * signs[k] * np.exp(exponent) if exponent > -700.0 else 0.0
            total += term
            logs[k] = term * value[nodes]
        slope[nodes] = total
        for k in range(count - 1, -1, -1):  # the upper half holds the terms with member k; then forget the member
            through = 0.0
            for low in range(1 << k):
                through += logs[(1 << k) | low]
                logs[low] += logs[(1 << k) | low]
            passed[members[k], _column(nodes, members[k])] = through
    return passed


@numba.njit(cache=True, nogil=True)
def _edge_sums(node: int, inside: Any, passed: Any, edges: Any) -> None:
    """An edge has the share of ``inside[U]`` that falls away when its parent leaves U."""
    for k in range(len(inside)):
        if passed[k] == 0.0:
            continue
        nodes = _set(k, node)
        left = nodes
        while left:
            bit = left & -left
            left ^= bit
            lost = inside[_column(nodes ^ bit, node)] - inside[k]
            edges[_place(bit), node] -= passed[k] * np.expm1(lost)
