import pytest

from benchmarks import intervention_tables
from benchmarks.gran_dag import Unavailable
from benchmarks.studies import interventions
from benchmarks.studies.interventions import (
    CONDITIONS,
    available,
    sachs_conditions,
    simulated_tables,
    target_counts,
)


def test_targets_are_counted():
    found, true = [("a", "x"), ("b", "y")], {("b", "y"), ("c", "z")}
    assert target_counts(found, true)["targets_right"] == 1
    assert target_counts([], true)["right_of_first_30"] == 0


def test_a_row_says_how_far_the_graph_is(monkeypatch):
    for module in (interventions, intervention_tables):
        monkeypatch.setattr(module, "D", 8)
    monkeypatch.setattr(intervention_tables, "EXPERIMENTS", 4)
    assert "unknown" in available(("unknown",))
    row = next(iter(simulated_tables(seeds=[100], methods=("unknown",), kinds=("shift",))))
    assert row["targets_right"] >= 0.9 * row["targets_true"]
    assert row["shd"] <= 4


def test_conditions_of_the_proteins(tmp_path):
    assert sum(size for _, size, _ in CONDITIONS) == 7466
    with pytest.raises(Unavailable, match="--file with the wheel"):
        sachs_conditions(tmp_path / "cdt.whl")


def test_arrows_are_judged_by_the_causes_of_the_known_graph(monkeypatch, tmp_path):
    for module in (interventions, intervention_tables):
        monkeypatch.setattr(module, "D", 8)
    frame, dag, _ = intervention_tables.simulated("shift", 100)
    monkeypatch.setattr(interventions, "chamber", lambda: (frame, dag, None))
    monkeypatch.setattr(interventions, "sachs_conditions", lambda _: (frame, {}, dag.T))
    tunnel, proteins = interventions.arrows(tmp_path)
    for cell in (tunnel, proteins):
        cell.settle(())
    assert tunnel.row["supported right"] > 5 * tunnel.row["supported wrong"]
    assert proteins.row["supported right"] == 0  # its graph is turned around
    assert proteins.row["supported wrong"] == proteins.row["supported"] == tunnel.row["supported"]
