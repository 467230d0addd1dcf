"""What each parent adds to the price of a family: its penalty and edge prior."""

import numpy as np
import numpy.typing as npt

from drbo.arrays import Floats
from drbo.scores.base import Score
from drbo.scores.families import Families

#: Random families on which a price is compared with the sum of its parents'.
PRICE_CHECKS = 16


def additive_prices(
    score: Score,
    candidates: npt.NDArray[np.int32] | None = None,  # (d, m) possible parents of each node, -1: none; None: all nodes
) -> tuple[Floats, Floats] | None:
    """Return the price of no parents (d,) and what each candidate adds (d, m); None where prices do not add up.

    Whether they do is seen on random parent sets of all sizes.
    """
    d = score.n_nodes
    members = np.tile(np.arange(d, dtype=np.int32), (d, 1)) if candidates is None else candidates
    m, rng = members.shape[1], np.random.default_rng(0)
    empty, each = np.empty(d), np.empty((d, m))
    for node, own in enumerate(members):
        random = rng.random((PRICE_CHECKS, m)) < rng.random((PRICE_CHECKS, 1))
        sets = np.concatenate([np.zeros((1, m), bool), np.eye(m, dtype=bool), random])
        sets &= (own >= 0) & (own != node)
        parents = np.zeros((len(sets), d), bool)
        parents[:, own[own >= 0]] = sets[:, own >= 0]
        prices = score.family_price(Families(np.full(len(sets), node), parents))
        gains = prices[1 : m + 1] - prices[0]
        if not np.allclose(prices[0] + sets @ gains, prices, rtol=1e-6, atol=1e-6):
            return None
        empty[node], each[node] = prices[0], gains
    return empty, each
