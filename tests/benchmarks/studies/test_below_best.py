"""Searches of one table with several seeds."""

from benchmarks.reports.searches import below
from benchmarks.studies import below_best


def test_a_search_below_another_is_counted(monkeypatch):
    class Result:
        scoring = type("Scoring", (), {"name": "bic-nv"})

        def __init__(self, score):
            self.pruned_score = score

    class Fit:
        def __init__(self, random_state, **_):
            self.result_ = Result(-1_000.0 - (random_state == 2))

        def fit(self, frame):
            return self

    monkeypatch.setattr(below_best, "DrBO", Fit)
    (cell,) = below_best.run(kinds=("gamma",), seeds=range(1), rows=60, searches=4)
    row = cell.measure()
    assert (row["below"], row["short"]) == (1, 1.0)
    table = below([{name: str(value) for name, value in (cell.key | row).items()}])
    assert "| 4 | 1 |" in table
    assert "1 of 1 tables" in table


def test_searches_of_a_small_table_agree():
    (cell,) = below_best.run(kinds=("gamma",), seeds=range(100, 101), rows=200, searches=2)
    assert cell.measure()["below"] == 0
