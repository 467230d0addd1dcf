"""Set functions over all subsets of columns: log determinants, and sums over the cells of contingency tables.

The local scores of a covariance or of counts are differences of such a function h: ``h(parents + node) - h(parents)``.
So 2^d values serve all d 2^(d-1) families.
"""

import numpy as np
import numpy.typing as npt

from drbo import _core
from drbo.arrays import Floats, Ints
from drbo.search.exact.subset_kernels import cores


def log_determinants(
    matrix: Floats,  # (d, d) positive definite
) -> Floats:
    """Return ``ln det matrix[S, S]`` for all sets S, as bit masks.

    Examples
    --------
    >>> log_determinants(np.array([[2.0, 1.0], [1.0, 1.0]])).round(6).tolist()
    [0.0, 0.693147, 0.0, 0.0]
    """
    return _core.log_determinants(np.ascontiguousarray(matrix))


def cell_sums(
    columns: npt.NDArray[np.int32],  # (d, u) levels 0, 1, ... of the distinct rows
    cardinalities: Ints,  # (d,)
    repeats: Ints,  # (u,) how often each distinct row occurs
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
    return _core.cell_sums(
        np.ascontiguousarray(columns),
        cardinalities.astype(np.int64),
        np.ascontiguousarray(repeats),
        0.0 if ess is None else ess,
        limit,
        cores(),
    )
