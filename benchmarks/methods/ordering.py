"""What methods that first find an order of the nodes share: the complete DAG of the order, and its pruning."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from benchmarks.methods.base import Graph
from drbo.claims.answer.prune import prune


def complete_dag(order: Sequence[int]) -> Graph:
    """Return the DAG in which every node points to all nodes behind it."""
    place = np.argsort(np.asarray(order))
    dag: Graph = place[:, None] < place[None, :]
    return dag


def pruned(values: npt.NDArray[np.float64], order: Sequence[int], pruner: str) -> Graph:
    """Return the complete DAG of an order after one of drbo's pruners, at its usual threshold."""
    return prune(pruner, values, complete_dag(order))[0]
