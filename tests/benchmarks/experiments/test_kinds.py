"""The simulated kinds: shapes, seeds, and what makes each kind."""

import numpy as np
import pytest

from benchmarks.experiments.kinds import KINDS, SCALES, simulated
from drbo.graph.dag import check_dag


@pytest.mark.parametrize("kind", [*KINDS, *SCALES])
def test_tables_are_standardised_and_drawn_with_the_seed(kind):
    values, dag = simulated(kind, 200, seed=1)
    again, other = simulated(kind, 200, seed=1)[0], simulated(kind, 200, seed=2)[0]
    check_dag(dag)
    assert 10 <= values.shape[1] <= 12
    assert dag.sum() == round(1.2 * len(dag))
    np.testing.assert_allclose([values.mean(), values.std(axis=0).min()], [0, 1], atol=1e-6)
    np.testing.assert_array_equal(values, again)
    assert other.shape != values.shape or (other != values).any()


def test_squares_of_parents_explain_nothing_in_linear_tables():
    gains = {}
    for kind in ("linear", "additive"):
        values, dag = simulated(kind, 3000, seed=0)
        gains[kind] = []
        for node in np.flatnonzero(dag.any(axis=0)):
            parents = values[:, dag[:, node]]
            design = np.column_stack([np.ones(3000), parents, parents**2])
            parts = (design[:, : 1 + parents.shape[1]], design)
            straight, bent = (np.linalg.lstsq(part, values[:, node], rcond=None)[1][0] for part in parts)
            gains[kind].append(straight / bent - 1)
    assert max(gains["linear"]) < 0.01
    assert max(gains["additive"]) > 0.1


def test_a_pair_has_one_edge():
    values, dag = simulated("post-nonlinear", 300, 5, n_nodes=2, n_edges=1)
    assert values.shape == (300, 2)
    assert dag.sum() == 1
    assert np.abs(values).max() < 7
