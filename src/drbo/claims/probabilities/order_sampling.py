"""Markov chains over node orders: edge posteriors of larger graphs, over listed families.

Every order of the nodes counts once (Friedman & Koller 2003): its weight is the product over nodes of the summed
weights of the listed families whose parents come before the node. A step moves one node to another place.
"""

import numpy as np
import numpy.typing as npt

from drbo import _core
from drbo.arrays import Floats, Indices, Ints
from drbo.machine.threads import available


def order_chains(
    starts: Ints,  # (C, d) an order for each chain
    words: npt.NDArray[
        np.uint64
    ],  # (m, w) parent sets as :func:`drbo.search.known_orders.pack` makes them, heaviest first
    logs: Floats,  # (m,) log weights
    bounds: Ints,  # (d + 1,) where each node's families begin
    steps: int,
    seed: int,
    moved: Indices | None = None,  # the nodes that may move, behind all others; None: all
) -> tuple[Floats, Ints]:
    """Return the probability (C, d, d) of each edge over orders (C, K, d) that each chain saw, and these orders.

    They are one every d steps of the second half of its steps.
    """
    chains, d = starts.shape
    rng = np.random.default_rng(seed)
    nodes = np.arange(d) if moved is None or not len(moved) else moved
    draws = (_draws(rng, nodes, steps) for _ in range(chains))
    which, length, uniform = (np.stack(parts) for parts in zip(*draws, strict=True))
    return _core.order_chains(starts, words, logs, bounds, which, length, uniform, available())


def _draws(rng: np.random.Generator, nodes: Indices, steps: int) -> tuple[Ints, Ints, Floats]:
    """Return the node to move, how far, and the uniform number of each step; half of the moves are to a neighbour."""
    far = rng.integers(1, max(2, len(nodes) // 2), size=steps)
    length = np.where(rng.random(steps) < 0.5, 1, far) * rng.choice([-1, 1], size=steps)
    return nodes[rng.integers(len(nodes), size=steps)], length, rng.random(steps)
