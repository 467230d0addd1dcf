"""The study of hidden causes draws tables whose truth is known, and counts marks against it."""

import numpy as np

from benchmarks.studies.hidden import (
    CASES,
    Truth,
    cases,
    compared,
    confounder,
    counted,
    drawn,
    graphs,
    supported_of,
    truth_of,
)
from drbo import DrBO
from drbo.graph.mag import Mag
from drbo.graph.pag import is_legal, pag_of
from tests.hidden import confounded_table


def test_the_truth_of_a_random_table_is_legal_and_fits_its_columns():
    values, truth = drawn(0, 50, 10, 2)
    assert values.shape == (50, 10)
    assert truth.pag.shape == truth.causes.shape == (10, 10)
    assert is_legal(truth.pag)


def test_marks_are_counted():
    truth = Truth(
        pag_of(Mag.of([[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])), np.zeros((4, 4), dtype=bool)
    )
    row = compared(truth.pag, truth, np.ones((4, 4), dtype=bool))
    assert row["whole"] == row["legal"] == 1
    assert (row["arrows right"], row["arrows claimed"], row["arrows true"]) == (3, 3, 3)
    assert (row["causes claimed"], row["causes right"], row["supported claimed"]) == (1, 0, 1)
    assert row["open claimed"] == 0  # a visible arrow of the truth
    nothing = compared(np.zeros((4, 4), dtype=np.int8), truth)
    assert (nothing["whole"], nothing["adjacent right"], nothing["adjacent true"]) == (0, 0, 3)


def test_supported_causes_that_no_data_could_tell_are_counted_apart():
    collider = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    row = counted(collider, truth_of(collider, np.zeros(3, dtype=bool)))
    assert row == {"supported claimed": 2, "supported right": 2, "open claimed": 2, "open right": 2}


def test_every_method_has_a_row():
    rows = list(graphs(columns=[6], hidden=[20], rows=[200], seeds=[0]))
    assert [row["method"] for row in rows] == ["drbo", "DAG", "GFCI", "FCI 0.01", "FCI 0.05"]
    assert all(row["legal"] for row in rows[:2])
    assert len(list(cases(rows=[200], seeds=[0], methods=("DAG",)))) == len(CASES)


def test_the_plain_fit_of_the_benchmark_confounder_counts_what_it_supports():
    row = next(iter(confounder(seeds=[0], methods=("DAG",))))
    assert row["columns"] == 9
    assert row["supported right"] <= row["supported claimed"] <= row["adjacent claimed"]


def test_supported_edges_are_those_of_the_result():
    result = DrBO(score="bic-nv", random_state=0).fit(confounded_table()).result_
    found = {(result.names[i], result.names[j]) for i, j in np.argwhere(supported_of(result))}
    assert found == {(one.cause, one.effect) for one in result.directions if one.direction == "supported"}
