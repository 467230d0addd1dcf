"""Internally standardised tables, and fits of them beside FLOP."""

import sys

import numpy as np
import pytest

from benchmarks.gran_dag import Unavailable
from benchmarks.studies import columns
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import dag_to_cpdag, is_acyclic
from drbo.scores.families import Families
from drbo.scores.linear import BicNV


@pytest.mark.parametrize(("graph", "edges"), [("30ER2", 60), ("30ER1", 30), ("30hubs", None)])
def test_columns_have_variance_one_and_are_regressions_of_their_causes(graph, edges):
    values, dag = columns.simulated(graph, 2_000, 3)
    assert is_acyclic(dag)
    assert dag.sum() == edges or (edges is None and 29 <= dag.sum() <= 57)
    assert values.std(axis=0) == pytest.approx(np.ones(30))
    correlation = np.corrcoef(values.T)
    for node in np.flatnonzero(dag.any(axis=0)):
        parents = np.flatnonzero(dag[:, node])
        slopes = np.linalg.solve(correlation[np.ix_(parents, parents)], correlation[parents, node])
        assert (np.abs(slopes) > 0.02).all()
    with pytest.raises(ValueError, match="must look like"):
        columns.simulated("30SF2", 10, 0)


def test_an_open_edge_counts_as_two_arrows():
    chain = dag_to_cpdag(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]))
    assert columns.f1(chain, chain) == 1.0
    assert columns.f1(chain, np.zeros((3, 3), dtype=bool)) == 0.0


def test_a_fit_is_measured_in_a_process_of_its_own():
    (row,) = columns.growth(graphs=("8ER1",), rows=100, seeds=range(1))
    assert row["cpu_seconds"] >= row["search_seconds"] > 0
    assert row["columns"] == 8
    assert row["screening"] == ""


@pytest.fixture
def here(monkeypatch):
    """Fits in this process; one test measures another one."""
    monkeypatch.setattr(columns, "alone", lambda path, **options: columns.fitted(str(path), options))


def test_a_fit_is_measured_with_a_proof_and_without(here):
    (row,) = columns.proof(graphs=("5ER1",), rows=100, seeds=range(1))
    assert row["proved"]
    assert row["cpu_seconds"] >= row["search_seconds"] > 0


def test_only_ours_is_measured_again_where_the_rows_of_flop_are_there(here, monkeypatch):
    measured = {"graph": "6ER1", "n": "50", "seed": "1", "method": "FLOP, equal penalty", "score": "-1e9"}
    monkeypatch.setattr(columns, "read", lambda _: [measured, {**measured, "method": "drbo"}])
    (row,) = columns.run(graphs=("6ER1",), rows=50, seeds=[1], ours_again=True)
    assert row["method"] == "drbo"
    assert 0 < row["reached_seconds"] <= row["search_seconds"]


@pytest.mark.parametrize("penalty", [2.5, "ebic"])
def test_the_price_of_an_edge_is_what_a_step_from_one_to_two_edges_costs(penalty):
    score = BicNV(Statistics.from_array(np.random.default_rng(0).normal(size=(50, 4))), penalty=penalty)
    price = score.family_price(Families.from_sets(4, [(0, (1,)), (0, (1, 2))]))
    assert columns.multiple(score) * np.log(50) == pytest.approx(price[0] - price[1])


def test_without_flop_there_is_no_comparison(tmp_path):
    path = tmp_path / "table.npy"
    np.save(path, np.zeros((3, 2)))
    with pytest.raises(Unavailable, match="FLOP"):
        columns.flop("false" if not sys.platform.startswith("win") else sys.executable, path, 2.0, 0)


def test_a_table_without_an_answer_of_flop_is_told(here, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'RuntimeError: FLOP error: failed' >&2\nexit 1\n")
    python.chmod(0o755)
    ours, *theirs = columns.run(graphs=("6ER1",), rows=50, seeds=[1], flop_python=str(python))
    assert ours["reached_seconds"] == ""
    assert [row["failed"] for row in theirs] == ["RuntimeError: FLOP error: failed"] * 2
