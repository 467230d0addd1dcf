"""Ranked experiments in words and as plain values."""

import json

import pytest

from drbo.result.words.ranked_experiments import NextExperiment, NextExperiments


def _one(column, bits, **more):
    values = {"cost": 1.0, "settles": (("a", "b"),), "settled_in_all": 1.5, "rows_needed": 1234, "open_after": ()}
    return NextExperiment(column=column, information=bits, **(values | more))


def _ranking(experiments, **more):
    values = {"goal": "the graph", "rows": 200, "unknown": 2.0, "open": (("a", "b"),), "basis": "4 graphs remain"}
    return NextExperiments(experiments=tuple(experiments), assumptions=("no hidden causes",), **(values | more))


def test_words():
    after = (("b", "c", 1.0), ("c", "d", 0.25))
    text = _ranking([_one("a", 1.5, open_after=after), _one("b", 1.0, cost=4.0)]).summary()
    assert text.startswith("1 open and 0 assumed directions leave 2.00 bits unknown about the graph (4 graphs")
    assert "1. a: 1.50 bits\n" in text
    assert "1,234 to settle them with probability 0.8" in text
    assert "stays open  b - c, c - d (0.25)" in text
    assert "2. b: 1.00 bits, 0.25 per cost (4)" in text
    assert "200 rows each" in text
    assert text.endswith("Assumed:\n  - no hidden causes")


def test_long_lists_are_cut():
    edges = tuple(("a", f"b{k}") for k in range(8))
    text = _ranking([_one(f"c{k}", 1.0, settles=edges) for k in range(12)], rows=None).summary()
    assert "a - b5 and 2 more" in text
    assert "2 more are less informative." in text
    assert "with enough rows" in text


def test_plain_values():
    found = _ranking([_one("a", 1.5, cost=2.0, rows_needed=None)])
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["experiments"][0]["per_cost"] == pytest.approx(0.75)
    assert found.table()["column"].tolist() == ["a"]
    assert list(_ranking([]).table().columns) == list(found.table().columns)
    assert _ranking([], open=()).summary().startswith("Nothing is open")
