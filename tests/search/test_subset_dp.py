from itertools import product

import numpy as np
import pytest

from drbo.graph.dag import is_acyclic
from drbo.search.subset_dp import best_dag


def _all_families(d):
    nodes, masks = [], []
    for node in range(d):
        for mask in range(1 << d):
            if not mask >> node & 1:
                nodes.append(node)
                masks.append(mask)
    return np.array(nodes), np.array(masks)


def _brute_force(d, nodes, masks, shares):
    """Try every choice of one listed family per node."""
    best, options = -np.inf, [np.flatnonzero(nodes == node) for node in range(d)]
    for rows in product(*options):
        dag = np.array([[masks[row] >> i & 1 for row in rows] for i in range(d)], dtype=bool)
        if is_acyclic(dag):
            best = max(best, shares[list(rows)].sum())
    return best


@pytest.mark.parametrize("seed", range(5))
def test_equals_brute_force_over_listed_families(seed):
    rng = np.random.default_rng(seed)
    nodes, masks = _all_families(4)
    kept = (masks == 0) | (rng.random(len(nodes)) < 0.6)
    nodes, masks = nodes[kept], masks[kept]
    shares = rng.normal(size=len(nodes))
    dag = best_dag(4, nodes, masks, shares)
    assert is_acyclic(dag)
    total = 0.0
    for node in range(4):
        mask = int(dag[:, node] @ (1 << np.arange(4)))
        total += shares[(nodes == node) & (masks == mask)][0]
    assert total == pytest.approx(_brute_force(4, nodes, masks, shares))
