"""Compiled climbs over node orders: a node is moved to its best place while its parents come from listed families."""

from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.jit import numba


def pack(parents: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    """Return parent sets (m, d) as 64-bit words (m, w); bit i % 64 of word i // 64 is node i.

    Examples
    --------
    >>> pack(np.array([[True, False, True]])).tolist()
    [[5]]
    """
    m, d = parents.shape
    padded = np.zeros((m, -(-d // 64) * 64), dtype=bool)
    padded[:, :d] = parents
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def climb(
    order: npt.NDArray[np.int64],  # (d,) a start; node order[0] comes first
    words: npt.NDArray[np.uint64],  # (m, w) parent sets, node by node, best share first
    shares: npt.NDArray[np.float64],  # (m,)
    starts: npt.NDArray[np.int64],  # (d + 1,) where each node's families begin
    visits: npt.NDArray[np.int64],  # (d,) the order in which nodes are tried
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], float]:
    """Move nodes to their best places until none gains; return the order, each node's family and the sum of shares.

    A node that has no family inside its predecessors counts minus infinity.
    """
    order, total = _climb(order, words, shares, starts, visits)
    return order, _families(order, words, starts), float(total)


@numba.njit(cache=True)
def _first_inside(node: int, inside: Any, words: Any, starts: Any) -> int:
    """Return the best family of a node with all parents inside a set, or -1."""
    for row in range(starts[node], starts[node + 1]):
        fits = True
        for k in range(words.shape[1]):
            if words[row, k] & ~inside[k]:
                fits = False
                break
        if fits:
            return row
    return -1


@numba.njit(cache=True)
def _families(order: Any, words: Any, starts: Any) -> Any:
    chosen = np.empty(len(order), dtype=np.int64)
    inside = np.zeros(words.shape[1], dtype=np.uint64)
    for node in order:
        chosen[node] = _first_inside(node, inside, words, starts)
        inside[node // 64] |= np.uint64(1) << np.uint64(node % 64)
    return chosen


@numba.njit(cache=True)
def _share(row: int, shares: Any) -> float:
    return shares[row] if row >= 0 else -np.inf


@numba.njit(cache=True)
def _climb(order: Any, words: Any, shares: Any, starts: Any, visits: Any) -> Any:
    d, w = len(order), words.shape[1]
    order = order.copy()
    value = np.empty(d)
    chosen = _families(order, words, starts)
    for node in range(d):
        value[node] = _share(chosen[node], shares)
    total = value.sum()
    improved = True
    while improved:
        improved = False
        for node in visits:
            place, gain = _best_place(node, order, value, words, shares, starts)
            if gain > 1e-9 * (1.0 + abs(total)):
                _move(order, node, place)
                inside = np.zeros(w, dtype=np.uint64)
                for other in order:
                    value[other] = _share(_first_inside(other, inside, words, starts), shares)
                    inside[other // 64] |= np.uint64(1) << np.uint64(other % 64)
                total = value.sum()
                improved = True
    return order, total


@numba.njit(cache=True)
def _best_place(node: int, order: Any, value: Any, words: Any, shares: Any, starts: Any) -> Any:
    """Try every place for a node by swapping it past one neighbour at a time; return the best place and its gain."""
    d, w = len(order), words.shape[1]
    here = 0
    while order[here] != node:
        here += 1
    best_place, best_gain = here, 0.0
    one = np.uint64(1)
    word, bit = node // 64, one << np.uint64(node % 64)
    for direction in (-1, 1):
        inside = np.zeros(w, dtype=np.uint64)  # predecessors of the node at its trial place
        for k in range(here):
            inside[order[k] // 64] |= one << np.uint64(order[k] % 64)
        shift, place = 0.0, here
        while 0 <= place + direction < d:
            place += direction
            other = order[place]
            flag = one << np.uint64(other % 64)
            if direction < 0:
                inside[other // 64] &= ~flag
                inside[word] |= bit
                shift += _share(_first_inside(other, inside, words, starts), shares) - value[other]
                inside[word] &= ~bit
            else:
                shift += _share(_first_inside(other, inside, words, starts), shares) - value[other]
                inside[other // 64] |= flag
            gain = shift + _share(_first_inside(node, inside, words, starts), shares) - value[node]
            if gain > best_gain:
                best_place, best_gain = place, gain
    return best_place, best_gain


@numba.njit(cache=True)
def _move(order: Any, node: int, place: int) -> None:
    here = 0
    while order[here] != node:
        here += 1
    step = 1 if place > here else -1
    while here != place:
        order[here] = order[here + step]
        here += step
    order[place] = node
