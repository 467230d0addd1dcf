import numpy as np
import pytest

from benchmarks.studies.judge import random_like
from drbo.graph.dag import is_acyclic


@pytest.mark.parametrize("kept", [0.0, 0.5])
def test_wrong_graphs_have_as_many_edges_and_keep_a_share(kept):
    rng = np.random.default_rng(0)
    for _ in range(30):
        order = rng.permutation(8)
        dag = np.triu(rng.random((8, 8)) < 0.3, 1)[np.ix_(order, order)]
        other = random_like(dag, kept, rng)
        assert is_acyclic(other)
        assert other.sum() == dag.sum()
        assert (other & dag).sum() == round(kept * dag.sum())
