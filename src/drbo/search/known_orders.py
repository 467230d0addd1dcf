"""Climbs over node orders: a node is moved to its best place while its parents come from listed families."""

import numpy as np

from drbo import _core
from drbo.arrays import Bools, Floats, Indices, Ints, Masks


def pack(parents: Bools) -> Masks:
    """Return parent sets (m, d) as 64-bit words (m, w); bit i % 64 of word i // 64 is node i."""
    m, d = parents.shape
    padded = np.zeros((m, -(-d // 64) * 64), dtype=bool)
    padded[:, :d] = parents
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


class OrderedFamilies:
    """Families with their shares, sorted once for many climbs.

    Examples
    --------
    >>> parents = np.array([[False, False], [False, False], [True, False]])
    >>> families = OrderedFamilies(np.array([0, 1, 1]), parents, np.array([0.0, 0.0, 2.0]))
    >>> order, chosen, total = families.climb(np.array([1, 0]), np.arange(2))
    >>> order.tolist(), families.dag(chosen).tolist(), total
    ([0, 1], [[False, True], [False, False]], 2.0)
    """

    def __init__(
        self,
        nodes: Indices,  # (m,)
        parents: Bools,  # (m, d)
        shares: Floats,  # (m,)
    ) -> None:
        rows = np.lexsort((-shares, nodes))
        self._parents, self._shares = parents[rows], shares[rows]
        self._words = pack(self._parents)
        self._starts = np.searchsorted(nodes[rows], np.arange(parents.shape[1] + 1))

    def climb(self, order: Ints, visits: Ints) -> tuple[Ints, Ints, float]:
        """Move nodes to their best places until none gains; return order, each node's family and the sum of shares.

        Nodes are tried in the order of ``visits``. One without a family inside its predecessors counts minus infinity.
        """
        return _core.climb_known(order, self._words, self._shares, self._starts, visits)

    def dag(self, chosen: Ints) -> Bools:
        """Return the DAG (d, d) made of each node's family at the end of a climb."""
        return np.ascontiguousarray(self._parents[chosen].T)
