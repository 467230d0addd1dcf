"""Dynamic programming over all sets of nodes: best orders, the best DAG under one change, and its reconstruction.

A table has one row per node and one column per set of the other nodes. The column of a set drops the node's own bit:
the bits above it move down by one. Sets of all d nodes are plain bit masks. The recurrences are in ``src/core``.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo import _core

Floats = npt.NDArray[np.float64]


def cores() -> int:
    """Return how many threads exact computations use."""
    return os.cpu_count() or 1


def on_threads(work: Callable[[int], Any], count: int) -> list[Any]:
    """Return ``work(0), ..., work(count - 1)``, computed side by side, under the deadline that holds here."""
    with ThreadPoolExecutor(min(count, cores())) as pool:
        tasks = [pool.submit(copy_context().run, work, number) for number in range(count)]
        return [task.result() for task in tasks]


def best_inside(
    shares: Floats,  # (d, 2^(d-1)) what each family adds to the score
) -> Floats:
    """Return the best share of each node with parents inside each set.

    Examples
    --------
    >>> best_inside(np.array([[0.0, -1.0], [0.0, 2.0]])).tolist()
    [[0.0, 0.0], [0.0, 2.0]]
    """
    return _core.best_inside(np.ascontiguousarray(shares), cores())


def forward(best: Floats) -> Floats:
    """Return for each set of nodes the best score of a DAG on it (Silander & Myllymaki 2006)."""
    return _core.lattice_forward(best)


def backward(best: Floats) -> Floats:
    """Return for each set the best that the other nodes can add when the set comes first."""
    return _core.lattice_backward(best)


def trace(best: Floats, shares: Floats, before: Floats) -> npt.NDArray[np.bool_]:
    """Return the DAG behind ``forward`` of all nodes; of equally good families the smallest."""
    return _core.lattice_trace(shares, best, before)


def split(
    shares: Floats,
    best: Floats,
    node: int,
    before: Floats,
    after: Floats,
    *,
    needed: int = 0,
    banned: int = 0,
    must: int = 0,
) -> tuple[float, int]:
    """Return the best score under a condition on one node, and the set of nodes before it (-1: there is none).

    Parameters
    ----------
    shares, best : (d, 2^(d-1)) what each family adds to the score, and :func:`best_inside`.
    before, after : :func:`forward` and :func:`backward` without the condition.
    needed, banned : sets: parents that the node must and must not have; one of the two is empty.
    must : a set of nodes that come before it, parents or not.
    """
    return _core.lattice_split(shares, best, before, after, node, needed, banned, must)


def trace_split(
    best: Floats,
    shares: Floats,
    before: Floats,
    after: Floats,
    node: int,
    nodes: int,
    *,
    needed: int = 0,
    banned: int = 0,
) -> npt.NDArray[np.bool_]:
    """Return the DAG behind :func:`split`: the best one on a set, then the node, then the rest."""
    return _core.lattice_trace_split(shares, best, before, after, node, needed, banned, nodes)
