"""The page on real tables from a few rows."""

import json

from benchmarks.reports import real_tables
from benchmarks.reports.real_tables import (
    conditions,
    experiments,
    graphs,
    hard_pairs,
    kinds,
    line,
    opening,
    pairs,
    record,
    returns,
    right_of,
    roots,
    stable,
    tiers,
    track_record,
    wide,
)


def _fit(arrows="", **more):
    found = [text.split(" ")[-1] for text in arrows.split("; ") if text]
    row = {"failed": "", "taken": "mixed", "supported": len(found), "arrows": arrows, "n": "300", "edges": "9"}
    row |= {f"{name} {word}": "0" for name in ("assumed", "open") for word in ("right", "wrong")} | {"assumed": "0"}
    row |= {f"supported {word}": found.count(word) for word in ("right", "wrong")}
    return {name: str(value) for name, value in (row | more).items()}


def _run(run, arrows="", table="a", kind="roots", **more):
    return _fit(arrows, list=kind, table=table, run=run, drbo="1", commit="abc", **more)


RUNS = [
    _run("seed 0", "c0>c1 class right; c2>c1 class ?; c3>c0 noise-check wrong"),
    _run("seed 1", "c0>c1 class right; c1>c2 class ?"),
    _run("shuffled", "c0>c1 class right"),
    _run("half 0", "c0>c1 class right; c2>c1 class ?"),
    _run("half 1", "c0>c1 class right"),
    _run("category", "c0>c1 class right; c5>c1 class right"),
    _run("seed 0", table="b", failed="no rows", taken="", arrows="", supported=""),
]


def test_arrows_at_roots_are_counted_by_ground_and_score():
    text = roots(RUNS)
    assert text.startswith("2 tables, 3 supported arrows; 1 were refused.")
    assert "| supported | 1 of 2: 0.50" in text
    assert "| supported, ground `class` | 1 of 1: 1.00" in text
    assert "| supported, ground `noise-check` | 0 of 1: 0.00" in text
    assert "| supported, score `mixed` (1 tables) | 1 of 2" in text
    assert "| assumed | none |" in text


def test_the_track_record_leaves_the_scores_out():
    assert "| supported | 1 of 2" in record(RUNS)
    assert "score" not in record(RUNS)
    assert "in 2 real tables, 1 of 2 that it calls supported" in " ".join(line(RUNS).split())
    assert "in 2 real tables, 1 of 2 supported ones leave" in " ".join(opening(RUNS).split())


def test_an_arrow_is_supported_again_if_the_other_run_has_it():
    assert returns(RUNS) == [(1.0, "right"), (0.5, "?"), (0.0, "wrong")]
    text = stable(RUNS)
    assert "| another seed | 1 of 3 | 1 of 1: 1.00" in text
    assert "| rows shuffled | 1 of 3 |" in text
    assert "| supported in most of 2 halves | 1 of 3 | 1 of 1: 1.00" in text
    assert "| a, one column as a number | 3 in all | 1 of 2: 0.50" in text
    assert "| a, the column as a category | 2 in all | 2 of 2: 1.00" in text
    assert "| another seed | 0 of 0 | none |" in stable(RUNS[:1])


def test_tables_with_tiers_are_counted_apart():
    assert tiers(RUNS) == real_tables.NOTHING
    assert "| supported | 1 of 1" in tiers([_run("seed 0", "c0>c1 class right", kind="tiers")])


def test_pairs_are_counted_by_order_and_half():
    rows = [
        _fit("c0>c1 noise-check right", pair="1", order="file"),
        _fit("c1>c0 noise-check wrong", pair="2", order="file"),
        _fit(pair="3", order="file", assumed="1", **{"assumed right": "1"}),
        _fit(pair="4", order="file"),
    ]
    text = pairs(rows)
    assert "| file | odd | 2 | 1 of 1: 1.00 (0.03 to 1.00) | 1 of 1: 1.00 (0.03 to 1.00) | 0 |" in text
    assert "| file | even | 2 | 0 of 1: 0.00 (0.00 to 0.97) | none | 1 |" in text


def test_simulated_tables_are_counted_by_kind():
    rows = [_fit("x0>x1 class right; x2>x1 class wrong", kind="gamma", direct=1, true_edges=12, shd_c=3)] * 2
    assert "| gamma | 300 | 2 | 2 of 4: 0.50 (0.07 to 0.93) | 2 | 24 | 3.0 +- 0.0 |" in kinds(rows)
    pair = [_fit("x>y class right", kind="beta regression"), _fit("y>x class wrong", kind="beta regression", n="1000")]
    assert "| beta regression | 1 | 1, 0 | 0, 1 |" in hard_pairs(pair)
    changed = _fit("x0>x1 experiment right; x2>x1 class wrong", kind="shift")
    assert "| shift | 1 | 1 of 2: 0.50 (0.01 to 0.99) | 1 of 1" in experiments([changed])
    assert "| tunnel | 300 | 1 of 2: 0.50 (0.01 to 0.99) | 1 of 1" in conditions([changed | {"table": "tunnel"}])
    assert right_of([_fit()]) == "none"


def test_the_wide_table_shows_its_null():
    assert "| columns shuffled | 63 | 2308 | 9 | 0 | 5.1 |" in wide(
        [_fit(run="columns shuffled", columns=2308, n=63, seconds=5.1)]
    )


def test_supported_arrows_of_known_graphs_are_counted_by_ground():
    row = {"table": "tunnel", "n": "1000", "seed": "0", "score": "auto", "class": "3", "class right": "2"}
    row |= {"noise-check": "0", "noise-check right": "0"}
    silent = row | {"score": "splines", "class": "0", "class right": "0"}
    text = graphs([row, row | {"seed": "1"}, silent])
    assert "| tunnel | 1,000 | 2 | `auto` | none | 4 of 6: 0.67 (0.22 to 0.96) |" in text
    assert "splines" not in text


def test_the_track_record_counts_known_arrows_of_the_first_seed(monkeypatch):
    pair = _fit("c0>c1 noise-check right", order="shuffled", drbo="1", commit="abc")
    files = {"real_known": RUNS, "real_pairs": [pair, pair | {"order": "file"}], "interventions_arrows": []}
    monkeypatch.setattr(real_tables, "read", files.get)
    found = json.loads(track_record())
    assert found["grounds"] == {
        "class": {"known roots": {"right": 1, "all": 1}},
        "noise-check": {"known roots": {"right": 0, "all": 1}, "cause-effect pairs": {"right": 1, "all": 1}},
    }
    assert found["measured"] == [{"version": "1", "commit": "abc"}]
    assert found["tables"]["known roots"] == 2
