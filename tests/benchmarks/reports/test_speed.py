"""Tables of times."""

import pytest

from benchmarks.reports import speed


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


def test_a_table_is_made_of_its_lines():
    assert speed.markdown(["a"], [[1], [2]]) == "| a |\n| --- |\n| 1 |\n| 2 |\n"


def test_places_are_compared_and_instructions_told():
    common = {"graph": "20ER2", "n": "600", "batch": "64", "n_local": "200", "machine": "2 cores"}
    rows = [
        {"where": "home", "seconds": "30", "speedup": "1.0", **common},
        {"where": "pool 2", "seconds": "20", "speedup": "1.5", **common},
        {"where": "seam", "overhead": "0.0123", "batches": "30", "dags": "64", "nodes": "20", "n": "200"},
    ]
    text = speed.workers(rows)
    assert "| `WorkerPool(2)` | 20 | 1.5 |" in text
    assert "1.23% more instructions" in text


def test_the_compiled_core_is_compared_job_by_job():
    rows = [
        {"job": job, "threads": threads, "old_cpu_seconds": "9.0", "new_cpu_seconds": "2.0", "cpu_ratio": ratio}
        for job, threads, ratio in [("exact 20ER2", "1", "2.0"), ("orders 30ER8", "2", "8.0")]
    ]
    assert speed.core(rows).splitlines()[2:] == [
        "| orders 30ER8 | 2 | 9.0 | 2.0 | **8.0** |",
        "| exact 20ER2 | 1 | 9.0 | 2.0 | **2.0** |",
        "| geometric mean |  |  |  | **4.00** |",
    ]
    assert len(speed.core([]).splitlines()) == 2
    rows[0]["before"] = "abc"
    assert speed.core_since(rows).splitlines()[2:] == [
        "| exact 20ER2 | 1 | 9.0 | 2.0 | **2.0** |",
        "| geometric mean |  |  |  | **2.00** |",
    ]
    assert "exact" not in speed.core(rows)


def test_passes_and_strengths_are_told_by_rows():
    row = {"rows": "1000000", "columns": "5", "method": "drbo", "megabytes": "20", "cpu_seconds": "0.5"}
    row |= {"seconds": "0.9", "gib": "0.3"}
    assert "| 1,000,000 x 5 | 20 | drbo | 0.5 | 0.9 | 40 | 0.3 |" in speed.passes([row, row | {"method": "drbo fit"}])
    rows = [{"rows": "10", "edges": str(k), "edges_without": "4", "true_edges": "2"} for k in (1, 2)]
    assert "| 10 | 2 | 1.5 | 4.0 | 2.0 |" in speed.strength(rows)
    row = {"kind": "mixed", "rows": "5000", "same_class": "True", "cpu_memory": "1.5", "cpu_stream": "2"}
    rows = [row | {"difference": "2.0e-12"}, row | {"difference": "1.0e-12", "same_class": "False"}]
    assert "| mixed | 5,000 | 2 | 2e-12 | 1 of 2 | 1.5 | 2.0 |" in speed.answers(rows)
