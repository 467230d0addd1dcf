"""Every study can be run by its declaration."""

import inspect
from importlib import import_module
from pathlib import Path

import pytest

import benchmarks.studies as folder
from benchmarks.studies import study
from benchmarks.studies.study import Cell, in_parallel, parts_of

PARTS = [
    (name, part, study)
    for name in folder.STUDIES
    for part, study in parts_of(import_module(f"benchmarks.studies.{name}")).items()
]


def test_every_module_of_the_folder_is_a_study_with_a_line_of_help():
    there = {path.stem for path in Path(folder.__file__).parent.glob("*.py")} - {"__init__", "study"}
    assert there == set(folder.STUDIES)


@pytest.mark.parametrize(("name", "part", "study"), PARTS, ids=[f"{name} {part}" for name, part, _ in PARTS])
def test_quick_values_and_defaults_are_parameters(name, part, study):
    parameters = inspect.signature(study.run, eval_str=True).parameters
    assert set(study.quick or {}) <= set(parameters)
    assert all(one.default is not one.empty and one.annotation is not one.empty for one in parameters.values())
    assert not {"part", "quick", "folder"} & set(parameters)  # options of the runner


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_jobs(workers):
    assert list(in_parallel(divmod, [(9, 4), (7, 2), (1, 3)], workers)) == [(2, 1), (3, 1), (0, 1)]


def test_a_cell_is_measured_once_for_each_commit(monkeypatch):
    monkeypatch.setattr(study, "commit", lambda: "abc")
    there = [{"seed": "1", "n": "5", "commit": "abc", "shd": "3"}, {"seed": "2", "n": "5", "commit": "old", "shd": "4"}]
    found, missing, stale = (Cell({"seed": seed, "n": 5}, lambda: {"shd": 7}) for seed in (1, 3, 2))
    assert not found.settle(there)
    assert found.row["shd"] == "3"
    assert missing.settle(there)
    assert missing.row == {"seed": 3, "n": 5, "shd": 7, "commit": "abc"}
    assert stale.settle(there)


@pytest.mark.parametrize("now", ["", "abc+"])
def test_sources_that_nobody_can_name_are_measured_anew(monkeypatch, now):
    monkeypatch.setattr(study, "commit", lambda: now)
    assert Cell({"seed": 1}, dict).settle([{"seed": "1", "commit": now}])
