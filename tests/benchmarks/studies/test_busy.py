"""Fits beside busy processes."""

from benchmarks.studies import busy


def test_runs_alone_and_beside_others_are_compared(monkeypatch):
    times = iter([2.0, 5.0, 1.0, 4.0])
    monkeypatch.setattr(busy, "seconds", lambda route, file: next(times))
    monkeypatch.setattr(busy, "LOOP", "pass")
    (row,) = busy.run(routes=("mixed",), repeats=2)
    assert row == {"route": "mixed", "alone": 1.0, "beside": 4.0, "times": 4.0}


def test_a_mixed_table_has_categories():
    frame = busy.table("mixed")
    assert sorted(frame["x0"].unique()) == ["high", "low"]
    assert frame["x1"].dtype == float
