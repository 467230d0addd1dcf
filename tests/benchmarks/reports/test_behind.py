"""The studies of single questions name every rival that is nearer."""

import pytest

from benchmarks.reports import behind


def _row(method, shd, seed="0", **more):
    return {"graph": "50ER1", "n": "1000", "method": method, "seed": seed, "shd_c": shd, "failed": "", **more}


@pytest.fixture
def rows(monkeypatch):
    found = {"columns": [_row("drbo", "4"), _row("drbo", "2", "1"), _row("FLOP", "1"), _row("FLOP", "", "1")]}
    monkeypatch.setattr(behind, "read", lambda name: found.get(name, []))
    return found


def test_a_nearer_rival_is_named_with_the_tables_that_both_answered(rows):
    assert [line for line, _ in behind.lines()] == ["| columns | 50ER1, 1000 | FLOP | SHD-C | 1.0 | 4.0 | 1 |"]


def test_a_rival_that_is_further_away_is_not(rows):
    rows["columns"][2]["shd_c"] = "5"
    assert not list(behind.lines())


def test_fewer_local_scores_without_the_surrogate_count_where_the_graph_is_as_good(rows):
    rows["expensive"] = [
        {"graph": graph, "seed": "0", "surrogate": search, "score": score, "n_local": count}
        for graph, search, score, count in (
            ("a", "gp", "-1.0", "50"),
            ("a", "no-surrogate", "-1.0", "40"),
            ("b", "gp", "-1.0", "50"),
            ("b", "no-surrogate", "-2.0", "40"),
        )
    ]
    assert "on 1 of 2 sparse tables" in behind.surrogate()[0]
