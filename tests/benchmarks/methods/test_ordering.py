"""An order and its complete DAG."""

import numpy as np

from benchmarks.methods.ordering import complete_dag, pruned


def test_the_complete_dag_points_from_earlier_to_later():
    assert complete_dag([2, 0, 1]).astype(int).tolist() == [[0, 1, 0], [0, 0, 0], [1, 1, 0]]


def test_pruning_keeps_the_edges_of_a_chain_only():
    rng = np.random.default_rng(0)
    first = rng.normal(size=500)
    second = first + rng.normal(size=500)
    third = second + rng.normal(size=500)
    graph = pruned(np.column_stack([third, first, second]), [1, 2, 0], "threshold")
    assert sorted(zip(*np.nonzero(graph), strict=True)) == [(1, 2), (2, 0)]
