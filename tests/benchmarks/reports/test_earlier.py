"""Earlier rows are read, and rows of the runner take their place."""

import json

import pytest

from benchmarks.reports import earlier, presets, scores


def test_cells_of_the_paper_preset_are_borrowed():
    found = earlier.borrowed("gp")
    assert {row["method"] for row in found} == {"drbo paper"}
    assert {row["seed"] for row in found} == {"0", "1", "2", "3", "4"}
    assert earlier.borrowed("weak") == []


@pytest.fixture
def run(monkeypatch):
    """Give an experiment other rows."""
    given = {}
    read = earlier.read
    monkeypatch.setattr(earlier, "read", lambda name: given.get(name, [] if name.startswith("run/") else read(name)))

    def add(name, method, settings, **changes):
        row = {"method": method, "seed": "0", "n": "1000", "settings": json.dumps(settings), "machine": "A"}
        row |= {"device": "cpu", "shd": "3", "n_found": "20", "seconds": "2.0", "cpu_seconds": "1.5"}
        row |= {"found_score": "-200.0", "true_score": "-100.0", "n_evals": "640", "n_local": "3200"}
        given.setdefault(f"run/{name}", []).append(row | changes)

    return add


def test_rows_of_a_preset_replace_those_of_the_same_graph(run):
    before = presets.lines(earlier.preset_rows("linear"))
    run("raw", "drbo paper", {"preset": "paper", "evals": 10_000}, data="20ER4 raw", device="cuda")
    run("raw", "drbo paper 20k, rank 4", {"preset": "paper", "evals": 20_000, "rank": 4}, data="20ER4 raw")
    run("raw", "EqVar", {}, data="20ER4 raw", n_evals="")
    after = presets.lines(earlier.preset_rows("linear"))
    changed = [line for line in after.splitlines() if line not in before.splitlines()]
    assert changed == [
        "| 20ER4 | paper, C = 100,000 |  | 3.0 +- 0.0 | -0.0050 +- 0.0000 | 640 +- 0 | 160 +- 0 | 2.0 +- 0.0 | 1, A |"
    ]
    assert len(after) < len(before) + 20


@pytest.mark.parametrize(("searched", "reached"), [("-50.0", "1 of 1"), ("-60.0", "0 of 1")])
def test_the_optimum_of_the_gp_data_is_reached_up_to_the_tolerance(run, searched, reached):
    figures = {"searched_score": searched, "optimum": "-49.0", "searched_shd": "1"}
    run("gp", "drbo paper", {"preset": "paper", "evals": 10_000}, data="10ER4 GP", **figures)
    line = next(line for line in scores.gp(earlier.gp_rows()).splitlines() if "| A |" in line)
    assert line == f"| paper | 10000 | {reached} | 1.0 +- 0.0 | 3.0 +- 0.0 | 3200 +- 0 | 2.0 +- 0.0 | 1.5 +- 0.0 | A |"


def test_complete_graphs_of_sachs_have_55_edges(run):
    figures = {"fdr": "0.5", "tpr": "0.25", "f1": "0.3"}
    run("sachs_paper", "random order", {"criterion": "random"}, n_evals="", n_found="9", **figures)
    run("sachs_paper", "drbo paper 20k", {"preset": "paper"}, n_searched="54", n_found="8", **figures)
    text = scores.sachs(earlier.sachs_rows())
    assert "| random complete | 1 | 55.0 +- 0.0 | 9.0 +- 0.0 | 3.0 +- 0.0 |" in text
    assert "| paper-sachs | 1 | 54.0 +- 0.0 | 8.0 +- 0.0 |" in text
    assert "| gp, noise fitted | 1 | 10.0 +- 0.0 |" in text  # an earlier row


def test_ours_counts_before_pruning_where_the_optimum_is_known(run):
    figures = {"score": "bge", "optimum": "-90.0", "searched_score": "-90.0", "searched_shd_c": "1", "shd_c": "5"}
    run("equivalence", "drbo same score", {}, data="5ER1 bge", **figures)
    text = scores.small(earlier.small_rows())
    assert "| bge | drbo | 1 |  | 1 | 1 | 1.0 +- 0.0 | 2.00 +- 0.00 |" in text
    assert "| bge | causal-learn GES | 50 |" in text


def test_a_network_is_named_by_its_data(run):
    run("discrete", "pgmpy hill climbing", {}, data="asia bdeu, n = 1,000", score="bdeu", shd_c="2", note="")
    found = [row for row in earlier.discrete_rows() if row["method"] == "pgmpy hill climbing"]
    asia = [row for row in found if (row["network"], row["n"], row["score"]) == ("asia", "1000", "bdeu")]
    assert [row["machine"] for row in asia] == ["A"]
