"""Mixed tables end to end: CSV in, graph out, compared with the truth."""

import json

import numpy as np
from click.testing import CliRunner

from benchmarks.studies import mixed
from drbo.cli import main as program
from drbo.data.checks.check import check_table
from drbo.graph.dag import is_acyclic


def run(*words):
    outcome = CliRunner().invoke(program, [str(word) for word in words])
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


def test_a_simulated_table_is_half_numbers_half_categories():
    frame, dag = mixed.simulate_mixed(200, seed=3)
    table, _ = check_table(frame)
    assert table.kinds == ("numeric",) * 4 + ("categorical",) * 4
    assert is_acyclic(dag)
    again, _ = mixed.simulate_mixed(200, seed=3)
    assert again.equals(frame)


def test_a_simulated_table_from_the_command_line(tmp_path):
    frame, dag = mixed.simulate_mixed(1_000, seed=1)
    frame.to_csv(tmp_path / "table.csv", index=False)
    names = list(frame.columns)
    edges = [f"{names[i]},{names[j]}\n" for i, j in np.argwhere(dag)]
    (tmp_path / "truth.csv").write_text("source,target\n" + "".join(edges))
    options = ("--score", "mixed", "--score-option", "penalty=1", "--max-evals", 100, "--quiet")
    text = run("fit", tmp_path / "table.csv", "-o", tmp_path / "result", *options)
    assert "columns contain text and are treated as categorical: 'group4' (3 levels)" in text
    found = json.loads(run("compare", tmp_path / "result", tmp_path / "truth.csv", "--json"))
    assert found["n_true"] == 6
    assert found["n_extra"] + found["n_missing"] <= 2  # the search is short, and the score only approximates categories


def test_the_real_table_obeys_its_tiers(tmp_path):
    mixed.diabetes().to_csv(tmp_path / "table.csv", index=False)
    options = ("--score-option", "penalty=1", "--max-evals", 30, "--quiet", "--tiers", mixed.TIERS)
    found = json.loads(run("fit", tmp_path / "table.csv", "--json", *options))
    assert found["score_name"] == "mixed"
    tier = {name: place for place, names in enumerate(mixed.TIERS.split(";")) for name in names.split(",")}
    assert found["edges"]
    assert all(tier[edge["source"]] <= tier[edge["target"]] for edge in found["edges"])
