"""Compiled Markov chains over node orders: edge posteriors of larger graphs, over listed families.

Every order of the nodes counts once (Friedman & Koller 2003): its weight is the product over nodes of the summed
weights of the listed families whose parents come before the node. A step moves one node to another place.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.jit import numba
from drbo.search.exact.subset_kernels import on_threads

Floats = npt.NDArray[np.float64]

#: Log weights this far below the best one of a node add nothing.
NEGLIGIBLE = 30.0


def edge_chains(
    starts: npt.NDArray[np.int64],  # (C, d) an order for each chain
    words: npt.NDArray[
        np.uint64
    ],  # (m, w) parent sets as :func:`drbo.search.known_orders.pack` makes them, heaviest first
    logs: Floats,  # (m,) log weights
    bounds: npt.NDArray[np.int64],  # (d + 1,) where each node's families begin
    steps: int,
    seed: int,
) -> Floats:
    """Return the probability (C, d, d) of each edge that each chain saw in the second half of its steps."""
    chains, d = starts.shape
    edges = np.zeros((chains, d, d))
    rng = np.random.default_rng(seed)
    draws = [_draws(rng, d, steps) for _ in range(chains)]
    on_threads(lambda c: _chain(starts[c].copy(), words, logs, bounds, *draws[c], edges[c]), chains)
    return edges


def _draws(rng: np.random.Generator, d: int, steps: int) -> tuple[Any, Any, Any]:
    """Return the node to move, how far, and the uniform number of each step; half of the moves are to a neighbour."""
    far = rng.integers(1, max(2, d // 2), size=steps)
    length = np.where(rng.random(steps) < 0.5, 1, far) * rng.choice([-1, 1], size=steps)
    return rng.integers(d, size=steps), length, rng.random(steps)


@numba.njit(cache=True, nogil=True)
def _inside(row: int, before: Any, words: Any) -> bool:
    fits = True
    for k in range(words.shape[1]):
        fits &= words[row, k] & ~before[k] == 0
    return fits


@numba.njit(cache=True, nogil=True)
def _total(node: int, before: Any, words: Any, logs: Any, bounds: Any) -> float:
    """Return the log of the summed weight of a node's families with parents inside a set."""
    top, total = -np.inf, 0.0
    for row in range(bounds[node], bounds[node + 1]):
        if logs[row] < top - NEGLIGIBLE:
            break
        if _inside(row, before, words):
            if top == -np.inf:
                top = logs[row]
            total += np.exp(logs[row] - top)
    return top + np.log(total) if total > 0 else -np.inf


@numba.njit(cache=True, nogil=True)
def _collect(order: Any, value: Any, words: Any, logs: Any, bounds: Any, edges: Any) -> None:
    """Add the shares of each node's families to its edges."""
    before = np.zeros(words.shape[1], dtype=np.uint64)
    for node in order:
        for row in range(bounds[node], bounds[node + 1]):
            if logs[row] < value[node] - NEGLIGIBLE:
                break
            if _inside(row, before, words):
                share = np.exp(logs[row] - value[node])
                for parent in range(len(order)):
                    if (words[row, parent // 64] >> np.uint64(parent % 64)) & np.uint64(1):
                        edges[parent, node] += share
        before[node // 64] |= np.uint64(1) << np.uint64(node % 64)


@numba.njit(cache=True, nogil=True)
def _values(order: Any, low: int, high: int, value: Any, words: Any, logs: Any, bounds: Any) -> None:
    """Fill in the totals of the nodes at places low to high."""
    before = np.zeros(words.shape[1], dtype=np.uint64)
    for place in range(high + 1):
        node = order[place]
        if place >= low:
            value[node] = _total(node, before, words, logs, bounds)
        before[node // 64] |= np.uint64(1) << np.uint64(node % 64)


@numba.njit(cache=True, nogil=True)
def _chain(order: Any, words: Any, logs: Any, bounds: Any, moved: Any, length: Any, uniform: Any, edges: Any) -> None:
    d, steps = len(order), len(moved)
    value, new = np.empty(d), np.empty(d)
    _values(order, 0, d - 1, value, words, logs, bounds)
    other, samples = order.copy(), 0
    for step in range(steps):
        here = 0
        while order[here] != moved[step]:
            here += 1
        there = here + length[step]
        if 0 <= there < d:
            low, high = min(here, there), max(here, there)
            other[:] = order
            shift = 1 if there > here else -1
            for place in range(here, there, shift):
                other[place] = order[place + shift]
            other[there] = moved[step]
            _values(other, low, high, new, words, logs, bounds)
            gain = 0.0
            for place in range(low, high + 1):
                gain += new[other[place]] - value[other[place]]
            if np.log(uniform[step]) < gain:
                order[:] = other
                for place in range(low, high + 1):
                    value[order[place]] = new[order[place]]
        if 2 * step >= steps and step % d == 0:
            _collect(order, value, words, logs, bounds, edges)
            samples += 1
    edges /= max(1, samples)
