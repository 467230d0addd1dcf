"""Compiled sums over all sets of columns: log determinants, and sums over the cells of contingency tables.

The local scores of a covariance or of counts are differences of such a function h: ``h(parents + node) - h(parents)``.
So 2^d values serve all d 2^(d-1) families. A set is reached from the one without its lowest member, which is still at
hand when sets come in the order of their bit masks.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.jit import numba
from drbo.search.exact.subset_kernels import on_threads

Floats = npt.NDArray[np.float64]
#: Members of a set that make a piece of work of their own.
SPLIT = 5


def log_determinants(
    matrix: Floats,  # (d, d) positive definite
) -> Floats:
    """Return ``ln det matrix[S, S]`` for all sets S, as bit masks.

    Examples
    --------
    >>> log_determinants(np.array([[2.0, 1.0], [1.0, 1.0]])).round(6).tolist()
    [0.0, 0.693147, 0.0, 0.0]
    """
    values: Floats = _log_determinants(np.ascontiguousarray(matrix))
    return values


def cell_sums(
    columns: npt.NDArray[np.int32],  # (d, u) levels 0, 1, ... of the distinct rows
    cardinalities: npt.NDArray[np.int64],  # (d,)
    repeats: npt.NDArray[np.int64],  # (u,) how often each distinct row occurs
    ess: float | None,
    limit: float = np.inf,
) -> Floats:
    """Return for all sets S of columns the sum over the cells N of their table.

    Without ``ess`` a cell adds ``N ln N``; with it ``lnG(N + a) - lnG(a)``, a = ess / number of cells. Sets with more
    than ``limit`` cells are left out (NaN).

    Examples
    --------
    >>> rows = np.array([[0, 0, 1], [0, 1, 1]], dtype=np.int32)
    >>> cell_sums(rows, np.array([2, 2]), np.ones(3, dtype=np.int64), None).round(6).tolist()
    [3.295837, 1.386294, 1.386294, 0.0]
    """
    d = len(columns)
    total = int(repeats.sum())
    weights, kind = np.unique(repeats, return_inverse=True)
    x_log_x = np.arange(total + 1, dtype=np.float64)
    x_log_x[1:] *= np.log(x_log_x[1:])
    values = np.full(1 << d, np.nan)
    split = min(SPLIT, d - 1)
    data = (np.ascontiguousarray(columns), cardinalities, repeats, weights, kind.astype(np.int64), x_log_x)

    def piece(task: int) -> None:
        _cell_sums(task << (d - split), d - split, *data, -1.0 if ess is None else ess, limit, values)

    on_threads(piece, 1 << split)
    return values


@numba.njit(cache=True, nogil=True)
def _log_determinants(matrix: Any) -> Any:
    d = len(matrix)
    values = np.zeros(1 << d)
    left = np.empty((d + 1, d, d))  # left[k]: what k members leave of the covariance of the columns below them
    left[0] = matrix
    for nodes in range(1, 1 << d):
        low, rest, size = 0, nodes & (nodes - 1), 0
        while not (nodes >> low) & 1:
            low += 1
        parent = rest
        while parent:
            parent &= parent - 1
            size += 1
        before, after = left[size], left[size + 1]
        pivot = before[low, low]
        values[nodes] = values[rest] + np.log(pivot)
        for i in range(low):
            factor = before[low, i] / pivot
            for j in range(i + 1):
                after[i, j] = before[i, j] - factor * before[low, j]
    return values


@numba.njit(cache=True, nogil=True)
def _cell_sums(
    prefix: int, n_low: int, columns: Any, cardinalities: Any, repeats: Any, weights: Any, kind: Any, x_log_x: Any,
    ess: float, limit: float, values: Any,
) -> None:  # fmt: skip
    """Fill in the sets with the given high members and any of the lowest ``n_low``."""
    d, u = columns.shape
    rows, cells = np.empty((d + 1, u), dtype=np.int32), np.empty((d + 1, u), dtype=np.int32)
    n_rows, n_cells = np.zeros(d + 1, dtype=np.int64), np.zeros(d + 1, dtype=np.int64)
    alone = np.zeros((d + 1, len(weights)), dtype=np.int64)  # cells of one distinct row, by its weight
    log_span = np.zeros(d + 1)
    most = u * max(2, cardinalities.max())
    work = (np.zeros(most, dtype=np.int32), np.zeros(most, dtype=np.int64), np.zeros(len(x_log_x), dtype=np.int64))
    touched = np.empty(len(x_log_x), dtype=np.int64)
    rows[0], cells[0], n_rows[0], n_cells[0] = np.arange(u), 0, u, 1
    state = (rows, cells, n_rows, n_cells, alone, log_span)
    log_limit = np.log(limit) + 1e-9
    size = 0
    value = _value(state, 0, work, touched, weights, x_log_x, ess)
    for column in range(d - 1, n_low - 1, -1):
        if (prefix >> column) & 1:
            value = _refine(state, size, column, columns, cardinalities, repeats, kind, work, touched, weights,
                            x_log_x, ess)  # fmt: skip
            size += 1
    if log_span[size] > log_limit:
        return
    values[prefix] = value
    for low in range(1, 1 << n_low):
        column, rest, depth = 0, low & (low - 1), size
        while not (low >> column) & 1:
            column += 1
        while rest:
            rest &= rest - 1
            depth += 1
        log_span[depth + 1] = log_span[depth] + np.log(cardinalities[column])
        if log_span[depth + 1] <= log_limit:
            values[prefix | low] = _refine(state, depth, column, columns, cardinalities, repeats, kind, work, touched,
                                           weights, x_log_x, ess)  # fmt: skip


@numba.njit(cache=True, nogil=True)
def _refine(
    state: Any, depth: int, column: int, columns: Any, cardinalities: Any, repeats: Any, kind: Any, work: Any,
    touched: Any, weights: Any, x_log_x: Any, ess: float,
) -> float:  # fmt: skip
    """Split the cells of one depth by a column into those of the next; return the sum over the new ones.

    Rows that are alone in their cell leave the game: no column can split them.
    """
    rows, cells, n_rows, n_cells, alone, log_span = state
    number, weight, _ = work
    levels, r = columns[column], cardinalities[column]
    log_span[depth + 1] = log_span[depth] + np.log(r)
    keys = n_cells[depth] * r
    number[:keys] = 0
    weight[:keys] = 0
    for t in range(n_rows[depth]):
        row = rows[depth, t]
        key = cells[depth, t] * r + levels[row]
        number[key] += 1
        weight[key] += repeats[row]
    alone[depth + 1] = alone[depth]
    if column == 0:  # nothing comes below: only the counts are wanted
        new = 0
        for key in range(keys):
            if number[key]:
                weight[new] = weight[key]
                new += 1
        n_cells[depth + 1] = new
        return _value(state, depth + 1, work, touched, weights, x_log_x, ess)
    new, kept = 0, 0
    for key in range(keys):  # number: from here on the new name of the cell, or -1
        if number[key] > 1:
            number[key] = new
            weight[new] = weight[key]
            new += 1
        else:
            number[key] = -1
    for t in range(n_rows[depth]):
        row = rows[depth, t]
        name = number[cells[depth, t] * r + levels[row]]
        if name >= 0:
            rows[depth + 1, kept], cells[depth + 1, kept] = row, name
            kept += 1
        else:
            alone[depth + 1, kind[row]] += 1
    n_rows[depth + 1], n_cells[depth + 1] = kept, new
    return _value(state, depth + 1, work, touched, weights, x_log_x, ess)


@numba.njit(cache=True, nogil=True)
def _value(state: Any, depth: int, work: Any, touched: Any, weights: Any, x_log_x: Any, ess: float) -> float:
    """Return the sum over the cells of a depth; ``work[1]`` holds the counts of those with several distinct rows."""
    _, _, _, n_cells, alone, log_span = state
    _, weight, tally = work
    if depth == 0:
        weight[0] = len(x_log_x) - 1
    total, new = 0.0, n_cells[depth]
    if ess <= 0:
        for k in range(len(weights)):
            total += alone[depth, k] * x_log_x[weights[k]]
        for cell in range(new):
            total += x_log_x[weight[cell]]
        return total
    log_a = np.log(ess) - log_span[depth]
    a = np.exp(log_a)
    offset = log_a - _lgamma(1.0 + a)
    for k in range(len(weights)):
        if alone[depth, k]:
            total += alone[depth, k] * (_lgamma(weights[k] + a) + offset)
    distinct = 0
    for cell in range(new):
        if tally[weight[cell]] == 0:
            touched[distinct] = weight[cell]
            distinct += 1
        tally[weight[cell]] += 1
    for k in range(distinct):
        total += tally[touched[k]] * (_lgamma(touched[k] + a) + offset)
        tally[touched[k]] = 0
    return total


@numba.njit(cache=True, nogil=True)
def _lgamma(x: float) -> float:
    return math.lgamma(x)
