"""Finds, from a covariance matrix, the parent sets that a node can have in a best DAG.

The share of a set S of parents is ``offset[k] + fit - half ln |R_S| + sum of weights``, k its size, with the residual
variance r of the node given S in ``fit = -slope[k] ln r``, or ``-slope[k] r``. Sets are walked depth first: each
candidate is left out first, then taken in. Sets below hold S and lie in S and all undecided candidates U, so none
leaves less than the residual given S and U. Where that, at the price of one more parent, does not beat a subset of S,
they are skipped: the subset may stand in for each of them in any DAG.
"""

import numpy as np

from drbo import _core
from drbo.arrays import Floats, Masks


def walk(
    matrix: Floats,  # (m + 1, m + 1) positive definite: candidates, required ones first, and the node itself last
    n_required: int,
    offset: Floats,  # (most + 1,)
    slope: Floats,  # (most + 1,)
    weights: Floats,  # (m,) what a candidate adds as a parent
    *,
    logarithmic: bool,
    half: float,
    floor: float,
    best_only: bool,
    max_steps: int,
    max_sets: int,
) -> tuple[Masks, Floats, int]:
    """Return the parent sets that no subset beats and their shares, and the steps taken; -1: too many of either.

    Parameters
    ----------
    floor : sets with a lower share are of no use.
    best_only : only the best set.
    """
    m = len(weights)
    values = weights.copy()
    if half:  # the determinant grows at least by what a candidate keeps given all others
        values -= half * np.log(1.0 / np.diag(np.linalg.inv(matrix[:m, :m]))) if m else 0.0
    ranked = np.sort(values[n_required:])[::-1]
    top = np.concatenate([[0.0], ranked.cumsum()])  # top[k]: the most that k candidates can add
    matrix = np.ascontiguousarray(matrix)
    inverse = np.ascontiguousarray(np.linalg.inv(matrix))
    form = (offset, slope, np.ascontiguousarray(weights), top, logarithmic, half)
    return _core.linear_parent_sets(matrix, inverse, n_required, *form, floor, best_only, max_steps, max_sets)
