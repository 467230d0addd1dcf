"""The best DAG of listed families, by NumPy alone: what the compiled search over sets of nodes is tested against."""

import numpy as np


def best_dag(d, nodes, masks, shares):
    """Return the DAG with the highest sum of shares whose families are all listed (Silander & Myllymaki 2006)."""
    size = 1 << d
    table = np.full((d, size), -np.inf)  # table[i, S]: best share of node i with parents inside S
    np.maximum.at(table, (nodes, masks), shares)
    for bit in range(d):
        view = table.reshape(d, size >> (bit + 1), 2, 1 << bit)
        np.maximum(view[:, :, 1], view[:, :, 0], out=view[:, :, 1])
    best, last = np.full(size, -np.inf), np.zeros(size, dtype=int)  # of a set, and the node that comes last in it
    best[0] = 0.0
    for nodes_in in range(1, size):
        ends = [node for node in range(d) if nodes_in >> node & 1]
        values = [best[nodes_in ^ (1 << node)] + table[node, nodes_in ^ (1 << node)] for node in ends]
        best[nodes_in], last[nodes_in] = max(values), ends[int(np.argmax(values))]
    dag, left = np.zeros((d, d), dtype=bool), size - 1
    while left:
        node = last[left]
        left ^= 1 << node
        row = np.flatnonzero((nodes == node) & (masks & ~left == 0) & (shares == table[node, left]))[0]
        dag[:, node] = (masks[row] >> np.arange(d)) & 1
    return dag
