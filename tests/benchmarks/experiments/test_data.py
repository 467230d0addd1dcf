"""Data sets that give nothing away do so; the others are those of drbo.data.files.simulate."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from benchmarks import gran_dag
from benchmarks.experiments.data import DataSet, sortabilities
from benchmarks.methods.metrics import dag_score
from drbo.data.files.simulate import Simulated, simulate
from drbo.data.statistics.statistics import Statistics
from drbo.scores.linear import BicNV
from tests.claims.probabilities.test_edge_prior import every_dag


def test_plain_names_are_those_of_simulate():
    assert np.array_equal(DataSet("a", "10ER2").draw(3).X, simulate("10ER2", seed=3).X)


def test_real_structures_come_in_a_drawn_order_of_columns():
    data = DataSet("a", "asia", n=20).draw(1)
    assert data.X.shape == (20, 8)
    assert data.names != DataSet("a", "asia", n=20).draw(2).names


def test_an_internally_standardised_model_gives_neither_variances_nor_shares_away():
    raw = [sortabilities(DataSet("a", "20ER4").draw(seed)) for seed in range(100, 105)]
    internal = [sortabilities(DataSet("a", "20ER4", "iscm").draw(seed)) for seed in range(100, 105)]
    assert np.mean([one["varsortability"] for one in raw]) > 0.9
    assert abs(np.mean([one["varsortability"] for one in internal]) - 0.5) < 0.1
    assert abs(np.mean([one["r2_sortability"] for one in internal]) - 0.5) < 0.2
    assert np.allclose(DataSet("a", "20ER4", "iscm").draw(0).X.std(axis=0), 1.0)


def test_the_hidden_node_had_the_most_children():
    full, seen = simulate("10ER2", seed=100), DataSet("a", "10ER2", "confounded").draw(100)
    hidden = int(np.argmax(full.dag.sum(axis=1)))
    assert np.array_equal(seen.X, np.delete(full.X, hidden, axis=1))
    assert seen.dag.sum() == full.dag.sum() - full.dag[hidden].sum() - full.dag[:, hidden].sum()


def test_heavy_tails_and_null_data():
    heavy = DataSet("a", "10ER0", "heavy", n=20_000).draw(100).X
    assert (np.abs(heavy).max(axis=0) > 8).all()
    null = DataSet("a", "10ER0", "null").draw(100)
    assert null.X.shape == (1000, 10)
    assert not null.dag.any()
    assert sortabilities(null)["varsortability"] == ""


def test_standardised_data_keep_their_graph():
    data = DataSet("a", "10ER2", standardised=True).draw(0)
    assert np.allclose(data.X.std(axis=0), 1.0)
    assert np.array_equal(data.dag, simulate("10ER2", seed=0).dag)


def test_the_gp_sets_need_their_folder(monkeypatch):
    monkeypatch.delenv("DRBO_DATA", raising=False)
    assert DataSet("a", "gran_dag", "file").missing.startswith("set DRBO_DATA")
    sachs = DataSet("a", "sachs", "file", n=20)
    assert (sachs.missing, sachs.draw(0).X.shape) == ("", (20, 11))


def test_the_best_dag_is_known_for_the_gp_sets_as_they_are_and_proved_for_small_data(monkeypatch):
    monkeypatch.setattr(gran_dag, "optimum", lambda number: f"best of {number}")
    sets = DataSet("a", "gran_dag", "file", score="gp-nv")
    large, small = (BicNV(Statistics.from_array(simulate(f"{d}ER1", n=100, seed=100).X)) for d in (10, 4))
    assert sets.best_dag(2, large) == "best of 3"
    assert replace(sets, standardised=True).best_dag(2, large) is None
    best = dag_score(small, DataSet("a", "4ER1").best_dag(100, small))
    dags = every_dag(4)
    assert max(dag_score(small, dag) for dag in dags) == pytest.approx(best)


def test_a_network_needs_pgmpy_and_gives_categories():
    spec = DataSet("a", "asia", "network", n=4)
    assert bool(spec.missing) == (find_spec("pgmpy") is None)
    codes = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    table = spec.table(Simulated(codes, np.zeros((2, 2), dtype=bool), None, ("a", "b")))
    assert table.kinds == ("categorical", "categorical")
    assert np.array_equal(table.values, codes)


def test_a_drawn_network_keeps_its_edges_whatever_the_order_of_columns():
    pytest.importorskip("pgmpy")
    for seed in (0, 1):
        data = DataSet("a", "asia", "network", n=200).draw(seed)
        edges = {(data.names[i], data.names[j]) for i, j in np.argwhere(data.dag)}
        assert ("smoke", "lung") in edges
        assert len(edges) == 8
