"""GraN-DAG's tables: looked up, and refused in words where they are not there."""

import os

import numpy as np
import pytest

from benchmarks import gran_dag
from benchmarks.methods.metrics import dag_score
from drbo.data.statistics.statistics import Statistics
from drbo.scores.families import Families


def test_a_table_score_looks_its_values_up():
    values = np.arange(3 * 8.0).reshape(3, 8)
    score = gran_dag.TableScore(Statistics.from_array(np.random.default_rng(0).normal(size=(100, 3))), values)
    families = Families.from_sets(3, [(2, (0, 1)), (0, ()), (1, (2,))])
    assert score.local(families).tolist() == [-values[2, 3], -values[0, 0], -values[1, 4]]
    assert score.family_price(families).tolist() == [-2 * np.log(100), 0.0, -np.log(100)]


def test_a_missing_folder_is_told(monkeypatch):
    monkeypatch.delenv("DRBO_DATA", raising=False)
    with pytest.raises(gran_dag.Unavailable, match="set DRBO_DATA"):
        gran_dag.data_set(1)


@pytest.mark.skipif("DRBO_DATA" not in os.environ, reason="the data are not part of the repository")
def test_no_edge_changed_makes_the_optimum_better():
    score, best = gran_dag.table_score(1), gran_dag.optimum(1)
    top = dag_score(score, best)
    for i, j in np.argwhere(best):
        less = best.copy()
        less[i, j] = False
        assert dag_score(score, less) < top
    assert dag_score(score, gran_dag.data_set(1)[1]) <= top + 1e-9
