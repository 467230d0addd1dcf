import numpy as np
import pytest

from benchmarks.gran_dag import TableScore
from benchmarks.methods.metrics import proved
from benchmarks.studies.exact import categorical, large_sets, prove_large
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.scores.registry import build_score


def test_a_table_of_local_scores_is_a_score_and_is_solved():
    rng = np.random.default_rng(0)
    data = Statistics.from_array(rng.normal(size=(40, 3)))
    values = np.zeros((3, 8))
    values[1, 0b001] = values[2, 0b011] = -2.0  # the families 0 -> 1 and 0, 1 -> 2 fit well
    proof, count = proved(TableScore(data, values))
    assert proof.best.dags[0].astype(int).tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert proof.best.scores[0] == pytest.approx(40 * 4 - 3 * np.log(40))
    assert count == 12


def test_categorical_data_depend_on_the_parents():
    dag = np.array([[0, 1], [0, 0]], dtype=bool)
    values = categorical(dag, 2000, seed=1)
    table = np.array([[np.mean(values[values[:, 0] == a, 1] == b) for b in range(2)] for a in range(2)])
    assert set(np.unique(values[:, 0])) <= {0, 1, 2, 3}
    assert np.abs(table[0] - table[1]).max() > 0.05


def test_a_row_of_a_large_graph_tells_what_is_proved():
    name, kind, data, knowledge = next(large_sets(("bic-nv",), ("25ER1",), 0))
    assert (name, kind, data.n_columns) == ("25ER1 standardised", "bic-nv", 25)
    limits = Constraints.none(25)
    score = build_score(kind, data, {"penalty": 20.0})
    row = prove_large(score, np.zeros((25, 25), dtype=bool), limits, 60.0)
    assert row["gap"] == 0
    assert float(row["optimum"]) > float(row["score_found"])
    assert row["n_kept"] <= row["n_local"]
    assert "gap" not in prove_large(score, np.zeros((25, 25), dtype=bool), limits, 0.0)
    assert knowledge.max_parents is None
