"""Labels, bold figures and counts of a table follow their rules."""

from dataclasses import replace

import pytest

from benchmarks.experiments import EXPERIMENTS
from benchmarks.reports import earlier, tables, weaknesses


def test_a_header_has_two_lines():
    assert tables.header("a | b, c") == "| a | b, c |\n|---|---|\n"


def row(method, shd, seed=0, **changes):
    figures_ = {
        "shd": str(shd),
        "shd_c": str(shd),
        "shd_gcastle": str(shd),
        "cpu_seconds": "1.0",
        "note": "",
        "seconds": "1",
    }
    return {"data": "10ER2 raw", "method": method, "seed": str(seed), **figures_, **changes}


def rows(method, *distances, **changes):
    return [row(method, shd, seed, **changes) for seed, shd in enumerate(distances)]


@pytest.fixture
def seeds(monkeypatch):
    """Let a plan have so many seeds."""

    def plan(count):
        less = {"10ER2 raw": EXPERIMENTS["raw"].plan("10ER2 raw")._replace(seeds=count)}
        monkeypatch.setitem(EXPERIMENTS, "raw", replace(EXPERIMENTS["raw"], less=less))

    return plan


def line_of(text, method):
    return next(line for line in text.splitlines() if line.startswith(f"| {method} |"))


def test_a_rival_far_above_its_figure_is_labelled_and_not_ranked(seeds):
    seeds(3)
    found = rows("sortnregress", 20, 21, 22) + rows("drbo default", 4, 4, 4) + rows("EqVar", 5, 5, 5)
    text = tables.experiment_table("raw", "10ER2 raw", found)  # sortnregress in the paper: 2.0 +- 2.6
    assert "not reproduced" in line_of(text, "sortnregress")
    assert "**4.0 +- 0.0**" in line_of(text, "drbo default")
    better = rows("sortnregress", 3, 3, 4) + rows("drbo default", 4, 4, 4)
    text = tables.experiment_table("raw", "10ER2 raw", better)
    assert "not reproduced" not in text
    assert "**" in line_of(text, "sortnregress")
    assert "**" not in line_of(text, "drbo default")


def test_nobody_is_bold_where_a_rival_that_is_not_reproduced_is_the_nearest():
    found = rows("sortnregress", 20, 21, 22) + rows("drbo default", 40, 40, 40)
    assert "**" not in tables.experiment_table("raw", "10ER2 raw", found)


def test_a_rival_that_misses_its_figure_elsewhere_says_so_where_it_has_none(monkeypatch):
    monkeypatch.setattr(tables, "missed", lambda: {"EqVar": ["sachs"], "sortnregress": ["sachs"]})
    found = rows("EqVar", 1, 1) + rows("sortnregress", 2, 2) + rows("drbo default", 2, 2)
    text = tables.experiment_table("raw", "10ER2 raw", found)
    assert "2 of 2; not reproduced on sachs" in line_of(text, "EqVar")
    assert "not reproduced" not in line_of(text, "sortnregress")  # it has a figure here, and meets it
    assert "**" not in text


def test_a_table_says_how_much_of_the_plan_has_rows_and_on_which_machines():
    found = [*rows("EqVar", 1, 1, machine="A"), *rows("SCORE", 2, machine="A"), *rows("drbo default", 1, machine="B")]
    text = tables.experiment_table("raw", "10ER2 raw", found)
    methods, seeds = EXPERIMENTS["raw"].plan("10ER2 raw")
    assert f"4 of {len(methods) * seeds} planned cells have rows (none: drbo sparing, " in text
    assert "Machine: A, but B: drbo default." in text


def test_means_are_over_the_planned_data_sets_and_fewer_are_not_ranked(seeds):
    seeds(2)
    found = rows("drbo default", 4, 4, 90) + rows("EqVar", 0)
    text = tables.experiment_table("raw", "10ER2 raw", found)
    assert "**4.0 +- 0.0**" in line_of(text, "drbo default")  # its third row is beyond the plan
    assert "**" not in line_of(text, "EqVar")


def test_seconds_of_cpu_of_a_method_that_was_stopped_are_not_known(monkeypatch):
    late = {**row("EqVar", 4), "note": "stopped after 60 s, step 7", "cpu_seconds": "0.0", "seconds": "60.0"}
    monkeypatch.setattr(tables, "read", lambda _: [late])
    monkeypatch.setattr(earlier, "borrowed", lambda _: [])
    [found] = tables.rows_of.__wrapped__("raw")
    assert found["cpu_seconds"] == ""
    assert weaknesses._seconds(found) == 60.0


def test_classes_are_held_to_their_figure_in_gcastles_convention():
    found = rows("gcastle PC", 40, 41, 42, shd_gcastle="11")  # 10.8 +- 5.1 in the paper
    assert "not reproduced" not in tables.experiment_table("raw", "10ER2 raw", found)


def test_a_method_without_all_answers_is_not_bold_and_says_why(seeds):
    seeds(2)
    late = {**row("EqVar", 0, 1), "shd": "", "shd_c": "", "shd_gcastle": "", "note": "no answer in 60 s"}
    text = tables.experiment_table("raw", "10ER2 raw", [row("EqVar", 0), late, *rows("drbo default", 4, 4)])
    assert "1 of 2 (no answer in 60 s)" in line_of(text, "EqVar")
    assert "**" not in line_of(text, "EqVar")
    assert "**" in line_of(text, "drbo default")
