"""Search over sets of nodes that come first in an order, adding one node at a time.

A layer holds the sets of one size that can still lead to a better DAG, each with the best score of a DAG on it
(Malone, Yuan, Hansen & Bridges 2011). What the other nodes can add at most comes from tables over groups of nodes.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drbo import _core
from drbo._core import Bounds, ParentIndex, SetTable
from drbo.arrays import Floats, Ints, Masks

__all__ = ["Bounds", "Layer", "ParentIndex", "SetTable", "expand", "pack"]


@dataclass(frozen=True, eq=False)
class Layer:
    """Sets of one size, in rising order, with the best score on each and the node that comes last."""

    sets: Masks
    scores: Floats
    last: npt.NDArray[np.int8]

    @classmethod
    def of(cls, table: SetTable) -> "Layer":
        """Return the content of a table."""
        return cls(*table.layer())


def expand(
    layer: Layer, first: int, count: int, parents: ParentIndex, bounds: Bounds, known: float, table: SetTable
) -> int:
    """Put what follows from some sets of a layer into the table; return the first set that is left to do."""
    end = min(first + count, len(layer.sets))
    return _core.expand_sets(layer.sets, layer.scores, first, end, parents, bounds, known, table)


def pack(masks: Masks, members: Ints) -> Masks:
    """Return the bits of some members, in their order, as small sets."""
    packed = np.zeros_like(masks)
    for bit, member in enumerate(members.astype(np.uint64)):
        packed |= ((masks >> member) & np.uint64(1)) << np.uint64(bit)
    return packed
