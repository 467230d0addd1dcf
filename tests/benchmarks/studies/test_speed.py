import numpy as np
import pytest

from benchmarks.reports import speed as report
from benchmarks.reports.speed import area
from benchmarks.rows import stamp
from benchmarks.studies import speed


def test_a_row_of_the_iteration_table(monkeypatch):
    monkeypatch.setattr(speed, "REPEATS", 2)
    [row] = speed.iteration(("5ER1:200",), ("fast",), "cpu")
    parts = row["propose_ms"] + row["evaluate_ms"] + row["learn_ms"]
    assert row["iteration_ms"] == pytest.approx(parts, abs=0.3)
    assert row["bare_product_ms"] >= 0
    assert row["nodes"] == 5


def test_a_call_is_timed_as_a_user_makes_it():
    row, other = speed.call_rows("paper:bic-ev:5ER1", [0, 1], 300, evals=100, candidates=50, calls=2, device="cpu")
    assert (row["n_evals"], row["candidates"], row["preset"]) == (100, 50, "paper")
    assert min(row["first_seconds"], row["seconds"], row["cpu_seconds"]) > 0
    assert (other["first_seconds"], other["seed"], other["stop"]) == ("", 1, "budget")
    table = report.call([{key: str(value) for key, value in {**one, **stamp("cpu")}.items()} for one in (row, other)])
    median = np.median([row["seconds"], other["seconds"]])
    assert f"| paper | bic-ev | 5ER1 | 300 | 50 | 100 | 2 | {row['first_seconds']} | **{median:.2f}** |" in table
    assert f"| {row['shd']}, {other['shd']} |" in table


def test_only_the_first_timed_iteration_proposes_a_design(monkeypatch):
    state = speed.paper_search("5ER1", 0, "cpu", {"n_candidates": 200})
    designs, first = [], state.proposer.first
    monkeypatch.setattr(state.proposer, "first", lambda room: designs.append(room) or first(room))
    for _ in range(3):
        speed.timed(state)
    assert len(designs) == 1


def test_a_row_of_the_growth_table(monkeypatch):
    monkeypatch.setattr(speed, "REPEATS", 1)
    row = speed.growth_row("evaluations", 5, 200, 100, "cpu")
    assert row["peak_gib"] > 0
    assert row["recombine_cpu_ms"] > 0
    assert row["n_local"] > 5


def test_curves_end_at_the_budget_and_never_fall():
    rows = speed.curve_rows("5ER1", 0, "paper", candidates=200, evals=300, device="cpu")
    assert [row["n_evals"] for row in rows] == [64, 128, 256, 300]
    assert (np.diff([row["score"] for row in rows]) >= 0).all()
    assert area(rows) >= rows[0]["true_score"] - rows[-1]["score"]
