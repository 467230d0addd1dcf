"""Figures of a row on graphs made by hand."""

import numpy as np
import pytest

from benchmarks.methods import Answer
from benchmarks.methods.metrics import identification_distance, measure, pack, unpack
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import dag_to_cpdag
from drbo.scores.registry import build_score


@pytest.fixture
def score():
    return build_score("bic-nv", Statistics.from_array(simulate("4ER1", n=100, seed=100).X), {"penalty": 1.0})


def graph(*edges):
    matrix = np.zeros((4, 4), dtype=bool)
    for i, j in edges:
        matrix[i, j] = True
    return matrix


TRUTH = graph((0, 1), (1, 2), (3, 2))  # 0 - 1 is open in its class


def test_a_dag_made_by_hand(score):
    found = measure(Answer(graph((1, 0), (1, 2), (0, 3)), 1.0, 1.0), score, TRUTH)  # one reversed, missing, extra
    assert (found["shd"], found["shd_gcastle"], found["n_found"], found["note"]) == (3, 3, 3, "")
    assert found["adjacency_precision"] == found["adjacency_recall"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["arrowhead_precision"] == found["arrowhead_recall"] == pytest.approx(1 / 3, abs=1e-4)


def test_an_undirected_edge_is_right_for_gcastle_alone(score):
    found = measure(Answer(dag_to_cpdag(TRUTH), 1.0, 1.0), score, TRUTH)
    assert (found["shd"], found["shd_gcastle"], found["shd_c"]) == (1, 0, 0)


def test_cycles_have_distances_only(score):
    found = measure(Answer(graph((0, 1), (1, 2), (2, 0)), 1.0, 1.0), score, TRUTH)
    assert (found["shd"], found["found_score"], found["aid"]) == (2, "", "")
    assert "adjacency_precision" not in found
    late = measure(Answer(graph((0, 1), (1, 2), (2, 0)), 1.0, 1.0, "stopped after 1 s, step 3"), score, TRUTH)
    assert late["note"] == "stopped after 1 s, step 3; no DAG has these edges"


def test_no_graph_no_figures(score):
    assert measure(Answer(None, 1.0, 1.0, "late"), score, TRUTH)["note"] == "late"


def test_the_identification_distance_is_zero_for_the_truth_alone():
    pytest.importorskip("gadjid")
    assert identification_distance(TRUTH, TRUTH) == 0
    assert identification_distance(TRUTH.T.copy(), TRUTH) > 0
    assert identification_distance(graph((0, 1), (1, 2), (2, 0)), TRUTH) == ""


def test_a_graph_survives_as_text():
    assert np.array_equal(unpack(pack(TRUTH), 4), TRUTH)
