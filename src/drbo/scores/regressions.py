"""Residual variances of many linear regressions from one correlation matrix, compiled."""

from typing import Any

import numpy as np

from drbo.jit import numba


@numba.njit(cache=True, nogil=True, fastmath=True)
def residuals(
    first: int,
    last: int,
    correlation: Any,  # (d, d)
    nodes: Any,  # (m,)
    starts: Any,  # (m + 1,): where the parents of a family begin
    members: Any,  # (total,): parents, one family after the other
    smallest: float,
    residual: Any,  # (m,): set to the share of variance left; NaN where parents are collinear
) -> None:
    """Factorise the correlation matrix of (parents, node) row by row; its last pivot is the residual variance."""
    most = 0
    for row in range(first, last):
        most = max(most, starts[row + 1] - starts[row])
    factor = np.empty((most + 1, most + 1))
    inverse = np.empty(most + 1)  # of the pivots' roots
    for row in range(first, last):
        parents = members[starts[row] : starts[row + 1]]
        p = parents.shape[0]
        collinear = False
        for i in range(p + 1):
            source = correlation[parents[i] if i < p else nodes[row]]
            mine = factor[i]
            pivot = 1.0
            for j in range(i):
                other = factor[j]
                total = source[parents[j]]
                for k in range(j):
                    total -= mine[k] * other[k]
                total *= inverse[j]
                mine[j] = total
                pivot -= total * total
            if i == p:
                residual[row] = pivot
            elif pivot >= smallest:
                inverse[i] = 1.0 / np.sqrt(pivot)
            else:
                collinear = True
                break
        if collinear:
            residual[row] = np.nan
