"""Which experiments changed a family: the worth of the best set of all, found by trying every set."""

from itertools import product

import numpy as np

from drbo.scores.by_experiment import SHARED, SOFT


def losses(score, families):
    """Return by how much the set found for each family falls short of the best of all sets."""
    n_experiments, d = score.states.shape
    best = np.full(len(families), -np.inf)
    for members in product([SHARED, SOFT], repeat=n_experiments - 1):
        fixed = np.repeat(np.array([[SHARED, *members]]).T, d, axis=1)
        price = 2 * np.log(d) * (np.array(members) == SOFT).sum()
        best = np.maximum(best, score.changes(families, fixed).worth - price)
    short = best - score.changes(families).worth
    assert (short >= -1e-8).all()
    return short
