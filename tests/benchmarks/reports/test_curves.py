"""Run times are read off the curves at the paper's numbers of evaluations."""

import pytest

from benchmarks.reports import curves, earlier, tables


def step(seed, evals, shd, seconds=60.0, method="drbo paper 50k"):
    row = {"data": "30ER8 raw", "method": method, "seed": str(seed), "step": str(evals), "shd": str(shd)}
    return {**row, "step_seconds": str(seconds), "found_score": str(-100.0 * shd)}


@pytest.fixture
def steps(monkeypatch):
    found = [step(seed, evals, shd) for seed in (0, 1) for evals, shd in ((64, 200), (9_984, 8), (20_000, 4 + seed))]
    end = {"data": "30ER8 raw", "method": "EqVar", "shd": "3", "seconds": "0.5", "true_score": "0"}
    ends = [{**end, "seed": seed} for seed in ("0", "1")]
    monkeypatch.setattr(curves, "steps_of", lambda _, data: found if data == "30ER8 raw" else [])
    monkeypatch.setattr(earlier, "single_runs", lambda _: [])
    monkeypatch.setattr(tables, "rows_of", lambda _: [{**row, "machine": "A", "note": ""} for row in ends])
    return found


def test_the_last_step_before_a_mark_counts_and_a_mark_that_was_not_reached_is_empty(steps):
    line = next(text for text in curves.run_times("curves", "30ER8 raw").splitlines() if "50k" in text)
    assert line.startswith("| drbo paper 50k | 8.0 +- 0.0 (2) | 1.00 +- 0.00 | 4.5 +- 0.7 (2) | 1.00 +- 0.00 |  |  |")


def test_what_is_worse_than_the_paper_is_remarked_with_the_reason(steps):
    first, second = curves.remarks("curves", "30ER8 raw")
    assert first.startswith("10,000 evaluations, worse than the paper's 2.0 +- 1.2: ")
    assert second.startswith("20,000 evaluations, worse than the paper's 2.0 +- 1.4: ")


def test_a_picture_holds_lines_and_points_of_methods_without_steps(steps):
    drawn = curves.pictures()["curve-30ER8.svg"].decode()
    assert "drbo paper 50k" in drawn
    assert "EqVar" in drawn
    assert drawn == curves.pictures()["curve-30ER8.svg"].decode()
