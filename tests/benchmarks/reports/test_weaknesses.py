"""Every table in which another method does better is found."""

from benchmarks.reports import tables, weaknesses
from tests.benchmarks.reports.test_tables import rows


def test_weaknesses_are_found_where_a_rival_is_nearer(monkeypatch):
    found = rows("drbo default", 4, 4) + rows("EqVar", 1, 9, cpu_seconds="0.01") + rows("SCORE", 3, 4)
    found += rows("COSMO", 4, 4, cpu_seconds="0.1")
    monkeypatch.setattr(tables, "rows_of", lambda name: found if name == "raw" else [])
    monkeypatch.setattr(tables, "missed", dict)  # it is kept once it was asked for
    nearer = [duel.rival for duel in weaknesses.duels() if duel.theirs < duel.ours]
    assert nearer == ["SCORE"]
    text = weaknesses.page()
    assert "(1 of 3 comparisons)" in text
    assert "| raw | 10ER2 raw | COSMO | 4.0 | 4.0 | 0.10 | 1.00 | 2 |" in text


def test_an_answer_after_the_limit_of_the_experiment_is_told(monkeypatch):
    found = rows("drbo default", 4, cpu_seconds="70.0") + rows("drbo default", 4, seconds="90.0")
    monkeypatch.setattr(tables, "rows_of", lambda name: found if name == "raw" else [])
    assert weaknesses.failures() == ["| raw | 10ER2 raw | 1 of 2 | answered after 70 CPU s, limit 60 s |"]
