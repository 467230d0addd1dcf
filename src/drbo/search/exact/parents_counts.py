"""Finds, from counts, the parent sets that a categorical node can have in a best DAG.

Sets are walked depth first, each reached from the one without its last candidate. What is skipped, with all supersets:

- BIC: a candidate that cannot pay. Beside any superset of S it adds at most ``n min(H(node | S), H(candidate | S))`` to
  the log-likelihood, and its price grows with the set (Correia, Cussens & de Campos 2020).
- BIC: sets whose price alone is above what a subset of them loses: the log-likelihood is at most 0 (de Campos & Ji
  2011).
- BDeu: sets with so many configurations in the data that a subset is better. Whatever comes first in a configuration
  has probability 1/r, so each costs at least ln r, and supersets have no fewer.
"""

import numpy as np
import numpy.typing as npt

from drbo import _core
from drbo.arrays import Floats, Ints, Masks


def walk(
    columns: npt.NDArray[np.int32],  # (m + 1, u) levels: candidates, required ones first, and the node itself last
    levels: Ints,  # (m + 1,) how many there are
    repeats: Ints,  # (u,) how often each row occurs
    n_required: int,
    weights: Floats,  # (m,) what a candidate adds as a parent
    *,
    most: int,
    unit: float,
    ess: float,
    floor: float,
    best_only: bool,
    max_steps: int,
    max_sets: int,
) -> tuple[Masks, Floats, int]:
    """Return parent sets with their shares and the sets that were scored; -1: too many of either.

    Parameters
    ----------
    most : parents at most.
    unit : price of a configuration of the parents; of the BIC.
    ess : equivalent sample size of the BDeu; 0: BIC.
    floor : sets with a lower share are of no use.
    best_only : only the best set.
    """
    limits = (floor, best_only, max_steps, max_sets)
    return _core.discrete_parent_sets(
        np.ascontiguousarray(columns), levels.astype(np.int64), repeats, n_required, weights, most, unit, ess, *limits
    )
