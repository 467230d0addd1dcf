"""The best DAG built from listed families, found exactly by dynamic programming over sets of nodes."""

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats, Indices, Ints

#: Above this many nodes the 2^d table of best parent sets is too large to be rebuilt after every batch.
MAX_NODES = 20


def best_dag(
    n_nodes: int,
    nodes: Indices,  # (m,)
    masks: Ints,  # (m,) parents as bits: bit i of masks[r] is set where i is a parent
    shares: Floats,  # (m,) what the family adds to the score
) -> Bools:
    """Return the DAG with the highest sum of shares whose families are all listed (Silander & Myllymaki 2006).

    Examples
    --------
    >>> nodes, masks = np.array([0, 1, 0, 1]), np.array([0, 0, 0b10, 0b01])
    >>> best_dag(2, nodes, masks, np.array([0.0, 0.0, 1.0, 2.0])).astype(int).tolist()
    [[0, 1], [0, 0]]
    """
    d, size = n_nodes, 1 << n_nodes
    table = np.full((d, size), -np.inf)  # table[i, S]: best share of node i with parents inside S
    np.maximum.at(table, (nodes, masks), shares)
    for bit in range(d):
        view = table.reshape(d, size >> (bit + 1), 2, 1 << bit)
        np.maximum(view[:, :, 1], view[:, :, 0], out=view[:, :, 1])
    best = np.full(size, -np.inf)
    best[0] = 0.0
    last = np.zeros(size, dtype=np.int8)  # the node of a set that comes last in its best order
    everything = np.arange(size)
    weight = np.bitwise_count(everything)
    for count in range(1, d + 1):
        layer = everything[weight == count]
        for node in range(d):
            sets = layer[(layer >> node) & 1 == 1]
            value = best[sets ^ (1 << node)] + table[node, sets ^ (1 << node)]
            better = value > best[sets]
            best[sets[better]] = value[better]
            last[sets[better]] = node
    return _trace_back(d, table, last, nodes, masks, shares)


def _trace_back(
    d: int,
    table: Floats,
    last: npt.NDArray[np.int8],
    nodes: Indices,
    masks: Ints,
    shares: Floats,
) -> Bools:
    dag = np.zeros((d, d), dtype=bool)
    left = (1 << d) - 1
    while left:
        node = int(last[left])
        left ^= 1 << node
        fits = (nodes == node) & (masks & ~left == 0) & (shares == table[node, left])
        mask = int(masks[np.flatnonzero(fits)[0]])
        dag[:, node] = (mask >> np.arange(d)) & 1
    return dag
