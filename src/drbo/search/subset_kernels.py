"""Dynamic programming over all sets of nodes: best orders, the best DAG under one change, and its reconstruction.

A table has one row per node and one column per set of the other nodes. The column of a set drops the node's own bit:
the bits above it move down by one. Sets of all d nodes are plain bit masks. The recurrences are in ``src/core``.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import numpy as np

from drbo import _core
from drbo.arrays import Bools, Floats
from drbo.machine.threads import available


def on_threads(work: Callable[[int], Any], count: int) -> list[Any]:
    """Return ``work(0), ..., work(count - 1)``, computed side by side, under the deadline that holds here."""
    with ThreadPoolExecutor(min(count, available())) as pool:
        tasks = [pool.submit(copy_context().run, work, number) for number in range(count)]
        return [task.result() for task in tasks]


def best_inside(
    shares: Floats,  # (d, 2^(d-1)) what each family adds to the score
) -> Floats:
    """Return the best share of each node with parents inside each set."""
    return _core.best_inside(np.ascontiguousarray(shares), available())


def forward(best: Floats) -> Floats:
    """Return for each set of nodes the best score of a DAG on it (Silander & Myllymaki 2006)."""
    return _core.lattice_forward(best)


def backward(best: Floats) -> Floats:
    """Return for each set the best that the other nodes can add when the set comes first."""
    return _core.lattice_backward(best)


def trace(best: Floats, shares: Floats, before: Floats) -> Bools:
    """Return the DAG behind ``forward`` of all nodes; of equally good families the smallest."""
    dag = np.zeros((len(best), len(best)), dtype=bool)
    _trace(dag, best, shares, before, len(before) - 1, 0)
    return dag


def best_dag(shares: Floats) -> Bools:
    """Return the DAG with the highest sum of shares."""
    best = best_inside(shares)
    return trace(best, shares, forward(best))


def column(nodes: Any, node: Any) -> Any:
    """Return the columns of sets in the rows of nodes: of one, or of arrays of them."""
    low = (1 << node) - 1
    return nodes & low | nodes >> 1 & ~low


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
) -> Bools:
    """Return the DAG behind :func:`split`: the best one on a set, then the node, then the rest."""
    dag = np.zeros((len(best), len(best)), dtype=bool)
    within, has = column(nodes & ~banned, node), column(needed, node)
    _trace(dag, best, shares, before, nodes, 0)
    _write_family(dag, shares, node, within, _inside(shares[node], within, has).max(), has)
    _trace(dag, best, shares, after, nodes | 1 << node, len(after) - 1)
    return dag


def _trace(dag: Bools, best: Floats, shares: Floats, value: Floats, nodes: int, end: int) -> None:
    """Fill in the families on the way of a recurrence from a set to its end, the empty set or that of all nodes."""
    while nodes != end:
        for node in _members(nodes ^ end):
            before = nodes & ~(1 << node)
            within = column(before, node)
            if value[nodes] == value[nodes ^ 1 << node] + best[node, within]:
                break  # rounding is the same as in the recurrence: one of them fits exactly
        _write_family(dag, shares, node, within, best[node, within], 0)
        nodes ^= 1 << node


def _write_family(dag: Bools, shares: Floats, node: int, within: int, wanted: float, needed: int) -> None:
    """Fill in the smallest family with a share and some parents inside a column; of equally small ones the first."""
    places = np.flatnonzero(_inside(shares[node], within, needed) == wanted)
    place = min(places.tolist(), key=int.bit_count)  # a lower place is a lower set
    free = [parent for k, parent in enumerate(_members(within & ~needed)) if place >> k & 1]
    parents = np.array([*free, *_members(needed)], dtype=np.int64)
    dag[parents + (parents >= node), node] = True


def _inside(row: Floats, within: int, needed: int) -> Floats:
    """Return, in rising order, what a row over all sets holds for those that lie in one set and hold another."""
    n = len(row).bit_length() - 1
    at = (1 if needed >> bit & 1 else slice(None) if within >> bit & 1 else 0 for bit in reversed(range(n)))
    return row.reshape((2,) * n)[tuple(at)].ravel()


def _members(nodes: int) -> list[int]:
    return [node for node in range(nodes.bit_length()) if nodes >> node & 1]
