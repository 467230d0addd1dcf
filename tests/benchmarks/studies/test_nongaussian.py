"""The study of noise that is not Gaussian counts errors and directions beyond the class."""

import numpy as np
import pytest

from benchmarks.studies.nongaussian import KINDS, N_EDGES, compared, run, simulated
from drbo.graph.dag import is_acyclic


def test_directions_beyond_the_class_are_counted_against_the_truth():
    truth, dag = np.zeros((2, 4, 4), dtype=bool)
    truth[0, 1] = truth[1, 2] = truth[0, 3] = True
    dag[0, 1] = dag[2, 1] = dag[1, 3] = True  # right and reversed, both in a collider; no edge, compelled
    assert compared(dag, truth, np.ones(3, dtype=bool)) == {
        "edges": 3, "shd": 3, "false links": 1, "missed links": 1, "beyond right": 0, "beyond wrong": 0,
    }  # fmt: skip
    chain = np.zeros((4, 4), dtype=bool)
    chain[0, 1] = chain[1, 2] = chain[3, 0] = True
    row = compared(chain, truth, np.array([True, False, True]))
    assert (row["beyond right"], row["beyond wrong"], row["shd"]) == (1, 1, 2)  # one without a direction, one reversed


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_standardised_and_have_the_edges_asked_for(kind):
    values, dag = simulated(kind, 50, 3)
    assert dag.sum() == N_EDGES
    assert is_acyclic(dag)
    np.testing.assert_allclose(values.std(axis=0), 1.0)


def test_each_method_has_a_row():
    rows = list(run(seeds=[100], rows=[200], kinds=("exponential",), methods=("bic-ng", "bic-nv")))
    assert [row["method"] for row in rows] == ["bic-ng", "bic-nv"]
    assert rows[0]["shd"] <= rows[1]["shd"]
