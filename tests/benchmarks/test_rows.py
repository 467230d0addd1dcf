"""Rows are replaced by key, never lost, and written in one step."""

import csv
import statistics
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

import drbo
from benchmarks import rows


def row(graph="a", seed=0, **more):
    return {"graph": graph, "seed": seed, **more}


def test_a_missing_file_has_no_rows(tmp_path):
    assert rows.load(tmp_path / "none.csv") == []


def test_what_is_saved_is_loaded_as_text(tmp_path):
    path = tmp_path / "new" / "rows.csv"
    rows.save(path, [row(shd=2, note="a, b")], ("graph", "seed"))
    assert rows.load(path) == [{"graph": "a", "seed": "0", "shd": "2", "note": "a, b"}]


def test_a_row_with_the_same_key_replaces_the_old_one(tmp_path):
    path = tmp_path / "rows.csv"
    rows.save(path, [row(seed=0, shd=5), row(seed=1, shd=6)], ("graph", "seed"))
    rows.save(path, [row(seed=1, shd=7), row("b", 0, shd=8)], ("graph", "seed"))
    assert [(found["graph"], found["seed"], found["shd"]) for found in rows.load(path)] == [
        ("a", "0", "5"),
        ("a", "1", "7"),
        ("b", "0", "8"),
    ]


def test_rows_are_sorted_by_key_whatever_the_order_of_saving(tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    parts = [[row("b", 1)], [row("a", 2)], [row("a", 1)]]
    for part in parts:
        rows.save(first, part, ("graph", "seed"))
    for part in reversed(parts):
        rows.save(second, part, ("graph", "seed"))
    assert first.read_text() == second.read_text()


def test_new_columns_are_added_and_old_rows_keep_theirs(tmp_path):
    path = tmp_path / "rows.csv"
    rows.save(path, [row(seed=0, shd=5)], ("graph", "seed"))
    rows.save(path, [row(seed=1, seconds=0.5)], ("graph", "seed"))
    assert rows.load(path) == [
        {"graph": "a", "seed": "0", "shd": "5", "seconds": ""},
        {"graph": "a", "seed": "1", "shd": "", "seconds": "0.5"},
    ]


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    rows.save(path, [row(shd=5)], ("graph", "seed"))
    before = path.read_text()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(csv.DictWriter, "writerows", fail)
    with pytest.raises(OSError, match="disk full"):
        rows.save(path, [row(shd=6)], ("graph", "seed"))
    assert path.read_text() == before


def test_spread_is_mean_and_standard_deviation():
    numbers = [1.0, 2.0, 4.5]
    assert rows.spread(numbers, 3) == f"{statistics.mean(numbers):.3f} +- {statistics.stdev(numbers):.3f}"
    assert rows.spread(["3"]) == "3.0 +- 0.0"
    assert rows.spread(str(n) for n in (1, 3)) == "2.0 +- 1.4"


def test_the_stamp_names_machine_and_versions():
    stamp = rows.stamp("cpu")
    assert stamp["device"] == "cpu"
    assert "cores" in stamp["machine"]
    assert stamp["drbo"] == drbo.__version__


def test_rows_are_grouped_in_the_order_of_their_first_ones():
    found = rows.grouped([row("b", 0), row("a", 0), row("b", 1)], "graph")
    assert list(found) == [("b",), ("a",)]
    assert [one["seed"] for one in found["b",]] == [0, 1]


def test_committed_rows_are_read_by_the_name_of_their_file():
    assert rows.read("judge")[0]["graph"] == "half"
    assert rows.read("none") == []


def test_rows_of_version_0_1_name_the_route_as_it_is_called_now(tmp_path):
    path = tmp_path / "rows.csv"
    rows.save(path, [row(seed=0, route="networks"), row(seed=1, route="orders")], ("graph", "seed"))
    assert [found["route"] for found in rows.load(path)] == ["surrogate", "orders"]


def test_the_commit_is_the_last_one_that_changed_the_sources(monkeypatch):
    answers = {"log": "abc\n", "status": ""}

    def run(words, **_):
        assert words[:3] == ["git", "-C", str(Path(drbo.__file__).parents[1])]
        assert words[-3:] == ["--", ".", ":(exclude)drbo/result/words/track_record.json"]
        return SimpleNamespace(stdout=answers[words[3]])

    monkeypatch.setattr(rows.subprocess, "run", run)
    assert rows.commit() == "abc"
    answers["status"] = " M src/drbo/errors.py\n"
    assert rows.commit() == "abc+"
    monkeypatch.setattr(rows.subprocess, "run", Mock(side_effect=OSError))
    assert rows.commit() == ""
