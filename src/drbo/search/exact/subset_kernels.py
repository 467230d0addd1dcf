"""Compiled passes over all sets of nodes: best orders, what is best under one change, and the way back to a DAG.

A table has one row per node and one column per set of the other nodes. The column of a set drops the node's own bit:
the bits above it move down by one. Sets of all d nodes are plain bit masks.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.jit import numba

Floats = npt.NDArray[np.float64]


def on_threads(work: Callable[[int], Any], count: int) -> list[Any]:
    """Return ``work(0), ..., work(count - 1)``, computed side by side; the kernels release the interpreter's lock."""
    with ThreadPoolExecutor(min(count, os.cpu_count() or 1)) as pool:
        return list(pool.map(work, range(count)))


def best_inside(
    shares: Floats,  # (d, 2^(d-1)) what each family adds to the score
) -> Floats:
    """Return the best share of each node with parents inside each set.

    Examples
    --------
    >>> best_inside(np.array([[0.0, -1.0], [0.0, 2.0]])).tolist()
    [[0.0, 0.0], [0.0, 2.0]]
    """
    best = shares.copy()
    on_threads(lambda node: _spread_max(best[node]), len(best))
    return best


def forward(best: Floats) -> Floats:
    """Return for each set of nodes the best score of a DAG on it (Silander & Myllymaki 2006)."""
    found: Floats = _forward(best)
    return found


def backward(best: Floats) -> Floats:
    """Return for each set the best that the other nodes can add when the set comes first."""
    found: Floats = _backward(best)
    return found


def trace(best: Floats, shares: Floats, before: Floats) -> npt.NDArray[np.bool_]:
    """Return the DAG behind ``forward`` of all nodes; of equally good families the smallest."""
    dag: npt.NDArray[np.bool_] = _trace(best, shares, before)
    return dag


@numba.njit(cache=True, nogil=True, inline="always")
def _column(nodes: int, node: int) -> int:
    """Return the column of a set of nodes in the row of a node that is not in it."""
    low = nodes & ((1 << node) - 1)
    return low | ((nodes >> (node + 1)) << node)


@numba.njit(cache=True, nogil=True, inline="always")
def _set(column: int, node: int) -> int:
    low = column & ((1 << node) - 1)
    return low | ((column >> node) << (node + 1))


@numba.njit(cache=True, nogil=True)
def _spread_max(row: Any) -> None:
    """Replace each value by the highest over all subsets."""
    size, step = len(row), 1
    while step < size:
        for start in range(0, size, 2 * step):
            for k in range(start, start + step):
                row[k + step] = max(row[k], row[k + step])
        step *= 2


@numba.njit(cache=True, nogil=True)
def _forward(best: Any) -> Any:
    d = len(best)
    value = np.full(1 << d, -np.inf)
    value[0] = 0.0
    for nodes in range(1, 1 << d):
        top, left = -np.inf, nodes
        while left:
            bit = left & -left
            left ^= bit
            node = _place(bit)
            rest = nodes ^ bit
            total = value[rest] + best[node, _column(rest, node)]
            if total > top:
                top = total
        value[nodes] = top
    return value


@numba.njit(cache=True, nogil=True)
def _backward(best: Any) -> Any:
    d = len(best)
    full = (1 << d) - 1
    value = np.full(1 << d, -np.inf)
    value[full] = 0.0
    for nodes in range(full - 1, -1, -1):
        top, left = -np.inf, full ^ nodes
        while left:
            bit = left & -left
            left ^= bit
            node = _place(bit)
            total = value[nodes | bit] + best[node, _column(nodes, node)]
            if total > top:
                top = total
        value[nodes] = top
    return value


@numba.njit(cache=True, nogil=True, inline="always")
def _place(bit: int) -> int:
    """Return the index of a bit."""
    place = 0
    if bit >= 1 << 16:
        place, bit = 16, bit >> 16
    while bit > 1:
        bit >>= 1
        place += 1
    return place


@numba.njit(cache=True, nogil=True)
def _count(nodes: int) -> int:
    count = 0
    while nodes:
        nodes &= nodes - 1
        count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _smallest_family(row: Any, inside: int, wanted: float, needed: int) -> int:
    """Return the column of the smallest set with a value, inside one set and holding another."""
    found, size = -1, 1 << 30
    part = inside
    while True:
        if part & needed == needed and row[part] == wanted:
            count = _count(part)
            if count < size or (count == size and part < found):
                found, size = part, count
        if part == 0:
            break
        part = (part - 1) & inside
    return found


@numba.njit(cache=True, nogil=True)
def _trace(best: Any, shares: Any, value: Any) -> Any:
    d = len(best)
    dag = np.zeros((d, d), dtype=np.bool_)
    _trace_down(dag, best, shares, value, (1 << d) - 1)
    return dag


@numba.njit(cache=True, nogil=True)
def _trace_down(dag: Any, best: Any, shares: Any, value: Any, nodes: int) -> None:
    """Fill in the families of a set of nodes, the last node of its best order first."""
    while nodes:
        for node in range(len(best)):
            rest = nodes & ~(1 << node)
            if rest != nodes and value[nodes] == value[rest] + best[node, _column(rest, node)]:
                break
        inside = _column(rest, node)
        _write(dag, node, _smallest_family(shares[node], inside, best[node, inside], 0))
        nodes = rest


@numba.njit(cache=True, nogil=True)
def _trace_up(dag: Any, best: Any, shares: Any, value: Any, nodes: int) -> None:
    """Fill in the families of all nodes outside a set that comes first."""
    full = (1 << len(best)) - 1
    while nodes != full:
        for node in range(len(best)):
            more = nodes | (1 << node)
            if more != nodes and value[nodes] == value[more] + best[node, _column(nodes, node)]:
                break
        inside = _column(nodes, node)
        _write(dag, node, _smallest_family(shares[node], inside, best[node, inside], 0))
        nodes = more


@numba.njit(cache=True, nogil=True)
def _write(dag: Any, node: int, column: int) -> None:
    parents = _set(column, node)
    for parent in range(len(dag)):
        dag[parent, node] = (parents >> parent) & 1


@numba.njit(cache=True, nogil=True)
def _split(row: Any, best: Any, node: int, needed: int, banned: int, must: int, before: Any, after: Any) -> Any:
    """Return the best score when a node's parents hold ``needed`` and none of ``banned``, and the set before it.

    Only sets that hold ``must`` come before the node. ``row`` are the shares of its families, ``best`` the best inside
    each set. Needed parents leave the lattice: what remains is half as large for each.
    """
    has, no = _column(needed, node), _column(banned, node)
    part, size = best, len(row)
    if has:
        part, size = row.copy(), len(row)
        place = 0
        while (1 << place) <= has:
            place += 1
        for bit in range(place - 1, -1, -1):
            if (has >> bit) & 1:
                size = _keep_with(part, size, bit)
        _spread_max(part[:size])
    top, found = -np.inf, -1
    for k in range(size):
        column = k
        for bit in range(len(after)):  # needed parents come back, the lowest first
            if (1 << bit) > has:
                break
            if (has >> bit) & 1:
                low = column & ((1 << bit) - 1)
                column = low | ((column >> bit) << (bit + 1)) | (1 << bit)
        nodes = _set(column, node)
        if nodes & must == must:
            inside = part[k] if has else part[k & ~no]
            value = before[nodes] + inside + after[nodes | (1 << node)]
            if value > top:
                top, found = value, nodes
    return top, found


@numba.njit(cache=True, nogil=True)
def _keep_with(row: Any, size: int, bit: int) -> int:
    """Keep the entries whose index has a bit, in front and in their order; return how many."""
    step, kept = 1 << bit, 0
    for start in range(step, size, 2 * step):
        for k in range(start, start + step):
            row[kept] = row[k]
            kept += 1
    return kept


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
    value, place = _split(shares[node], best[node], node, needed, banned, must, before, after)
    return float(value), int(place)


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
    dag: npt.NDArray[np.bool_] = _trace_split(best, shares, before, after, node, nodes, needed, banned)
    return dag


@numba.njit(cache=True, nogil=True)
def _trace_split(
    best: Any, shares: Any, before: Any, after: Any, node: int, nodes: int, needed: int, banned: int
) -> Any:
    d = len(best)
    dag = np.zeros((d, d), dtype=np.bool_)
    _trace_down(dag, best, shares, before, nodes)
    inside, has = _column(nodes & ~banned, node), _column(needed, node)
    top, part = -np.inf, inside
    while True:
        if part & has == has and shares[node, part] > top:
            top = shares[node, part]
        if part == 0:
            break
        part = (part - 1) & inside
    _write(dag, node, _smallest_family(shares[node], inside, top, has))
    _trace_up(dag, best, shares, after, nodes | (1 << node))
    return dag
