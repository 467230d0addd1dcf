"""Sortability: how well variances or explained variances alone reveal the causal order of a graph."""

import numpy as np
import numpy.typing as npt

from drbo.arrays import Floats
from drbo.graph.dag import check_dag

RIDGE = 1e-9  # a correlation matrix with exact copies in it still has an inverse


def sortability(dag: npt.ArrayLike, criterion: npt.ArrayLike) -> float | None:
    """Return the share of directed paths along which a criterion grows: 0.5 says nothing, 1 gives the order away.

    With the variances of the columns this is varsortability (Reisach, Seiler & Weichwald 2021), with
    :func:`explained` R2-sortability (Reisach et al. 2023). Counted once for every pair and path length; ties count
    half; None without edges.
    """
    from scipy.sparse import csr_array  # takes longer to load than a small table to fit

    edges = check_dag(dag)
    value = np.asarray(criterion, dtype=np.float64)
    grows = (value[:, None] < value[None, :]) + 0.5 * (value[:, None] == value[None, :])
    steps = csr_array(edges, dtype=np.float64)
    reach, total, sorted_ = steps, 0.0, 0.0
    while reach.nnz:
        source, target = reach.nonzero()
        total += len(source)
        sorted_ += float(grows[source, target].sum())
        reach = csr_array(reach @ steps)
        reach.data[:] = 1.0  # whether there is a path, not how many
    return sorted_ / total if total else None


def explained(values: npt.ArrayLike) -> Floats:
    """Return for each column the share of its variance that a linear regression on all others explains."""
    table = np.asarray(values, dtype=np.float64)
    if table.shape[1] == 1:
        return np.zeros(1)
    correlation: Floats = np.asarray(np.corrcoef(table, rowvar=False))
    inverse: Floats = np.linalg.inv(np.asarray(correlation + RIDGE * np.eye(table.shape[1]), dtype=np.float64))
    return np.asarray(np.clip(1.0 - 1.0 / np.maximum(np.diag(inverse), 1.0), 0.0, 1.0))
