"""Families of very different cost: how long each will take, and how they are cut into pieces of equal work.

What a family takes is predicted from what families of the same node, and families with as many parents, have taken. No
value depends on this, only the order of the work.
"""

from collections import defaultdict

import numpy as np

from drbo.arrays import Floats, Indices
from drbo.scores.families import Families


class Seconds:
    """The seconds of families, as far as they have been measured.

    Examples
    --------
    >>> families = Families.from_sets(3, [(0, ()), (1, (0,)), (2, (0, 1))])
    >>> seconds = Seconds()
    >>> seconds.note(families[2:], 6.0)
    >>> seconds.note(families[:1], 2.0)
    >>> shares = seconds.shares(families)
    >>> bool(shares[0] < shares[1] < shares[2])
    True
    """

    def __init__(self) -> None:
        self._sums: defaultdict[tuple[str, int], Floats] = defaultdict(lambda: np.zeros(2))  # families, seconds
        self._all = np.zeros(2)

    def note(self, families: Families, seconds: float) -> None:
        """Take in how long families took together."""
        each = np.array([1.0, seconds / len(families)])
        self._all += len(families) * each
        for node, size in zip(families.nodes.tolist(), families.sizes.tolist(), strict=True):
            self._sums["node", node] += each
            self._sums["size", size] += each

    def shares(self, families: Families) -> Floats:
        """Return how long families take, compared with the mean of all: 1 where nothing is known."""
        nodes, sizes = families.nodes.tolist(), families.sizes.tolist()
        return np.array([self._share("node", n) * self._share("size", s) for n, s in zip(nodes, sizes, strict=True)])

    def _share(self, kind: str, which: int) -> float:
        """Return the mean of a kind over that of all, with one more family of this mean."""
        if not self._all[1] or (kind, which) not in self._sums:
            return 1.0
        count, seconds = self._sums[kind, which]
        mean = self._all[1] / self._all[0]
        return float((seconds + mean) / (count + 1) / mean)


def cut(costs: Floats, count: int, cell: int = 1) -> list[Indices]:
    """Cut rows into at most so many pieces of about equal cost, between cells only; the dearest piece comes first.

    Examples
    --------
    >>> [rows.tolist() for rows in cut(np.array([1.0, 1.0, 1.0, 1.0, 4.0]), 2)]
    [[0, 1, 2, 3], [4]]
    """
    starts = np.arange(0, len(costs), cell)
    each = np.add.reduceat(costs, starts) if len(costs) else costs
    middles = np.cumsum(each) - each / 2
    pieces = np.minimum((middles * count / max(each.sum(), 1e-300)).astype(np.intp), count - 1)
    found = [np.flatnonzero(np.repeat(pieces, cell)[: len(costs)] == piece) for piece in np.unique(pieces)]
    return sorted(found, key=lambda rows: -float(costs[rows].sum()))
