import argparse

import numpy as np
import pytest

from benchmarks.reports import speed as speed_report
from benchmarks.studies import speed


def test_a_row_of_the_iteration_table(monkeypatch):
    monkeypatch.setattr(speed, "WARM_UP", 1)
    monkeypatch.setattr(speed, "REPEATS", 2)
    row = speed.iteration_row("5ER1:200", "fast", "cpu")
    parts = row["propose_ms"] + row["evaluate_ms"] + row["learn_ms"]
    assert row["iteration_ms"] == pytest.approx(parts, abs=0.3)
    assert row["bare_product_ms"] >= 0
    assert row["nodes"] == 5


def test_only_the_first_timed_iteration_proposes_a_design(monkeypatch):
    state = speed.new_search("5ER1", 0, "cpu", {"n_candidates": 200})
    designs, first = [], state.proposer.first
    monkeypatch.setattr(state.proposer, "first", lambda room: designs.append(room) or first(room))
    for _ in range(3):
        speed.timed(state)
    assert len(designs) == 1


def test_rows_of_several_data_sets(monkeypatch):
    monkeypatch.setattr(speed, "WARM_UP", 1)
    monkeypatch.setattr(speed, "REPEATS", 2)
    monkeypatch.setattr(speed, "JOINT", (1, 3))
    rows = speed.together_rows("5ER1:200", "fast", "cpu")
    assert [row["data_sets"] for row in rows] == [1, 3]
    for row in rows:
        assert row["one_by_one_ms"] == pytest.approx(row["data_sets"] * row["alone_ms"], abs=0.2)
        assert row["times_one"] == pytest.approx(row["together_ms"] / row["alone_ms"], rel=0.1)


def test_a_row_of_the_growth_table(monkeypatch):
    monkeypatch.setattr(speed, "REPEATS", 1)
    row = speed.growth_row("evaluations", 5, 200, 100, "cpu")
    assert row["peak_gib"] > 0
    assert row["recombine_cpu_ms"] > 0
    assert row["n_local"] > 5


def test_curves_end_at_the_budget_and_never_fall():
    options = argparse.Namespace(workers=1, candidates=200, evals=300, device="cpu")
    rows = speed.curve_rows("5ER1", 0, "paper", options)
    assert [row["n_evals"] for row in rows] == [64, 128, 256, 300]
    assert (np.diff([row["score"] for row in rows]) >= 0).all()
    assert speed.area(rows) >= rows[0]["true_score"] - rows[-1]["score"]


def test_areas_are_compared_pair_by_pair():
    rows = [
        {"rules": rules, "seed": str(seed), "n_evals": evals, "score": 10 - factor * gap, "true_score": 10}
        for rules, factors in {"fast": [1.0, 3.0], "paper": [2.0, 2.0]}.items()
        for seed, factor in enumerate(factors)
        for evals, gap in ((64, 3.0), (128, 2.0), (1_000, 1.0))
    ]
    assert speed.area(rows[:3]) == pytest.approx((64 * 2.5 + 872 * 1.5) / 936)
    assert speed.area_ratios(rows) == [0.5, 1.5]
    assert speed.geometric_mean([0.5, 2.0]) == pytest.approx(1.0)


def test_tables_are_made_of_the_committed_rows():
    assert speed_report.iteration_table().startswith("| machine |")
    assert speed_report.together_table()
    assert "| 30 |" in speed_report.growth_table("nodes")
    assert "| 10,000 |" in speed_report.growth_table("evaluations")
    assert "| 30ER8 |" in speed_report.curve_table()
    assert speed_report.markdown(["a"], [[1], [2]]) == "| a |\n| --- |\n| 1 |\n| 2 |\n"
