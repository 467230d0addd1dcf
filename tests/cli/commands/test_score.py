"""drbo score against regressions by hand."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from sklearn.linear_model import LinearRegression

Fast = tuple[str, ...]
Run = Callable[..., Result]

NAMES = ["rain", "wet", "slip", "sun"]
PARENTS = {"rain": [], "wet": ["rain"], "slip": ["wet"], "sun": []}


def _log_mse(chain: Path) -> list[float]:
    X = dict(zip(NAMES, np.loadtxt(chain, delimiter=",", skiprows=1).T, strict=True))
    values = []
    for name, parents in PARENTS.items():
        residual = X[name] - X[name].mean()
        if parents:
            design = np.column_stack([X[parent] for parent in parents])
            residual = X[name] - LinearRegression().fit(design, X[name]).predict(design)
        values.append(float(np.log(np.mean(residual**2))))
    return values


def test_unequal_variances_by_hand(run: Run, chain: Path, truth: Path) -> None:
    content = json.loads(run("score", chain, truth, "--score-option", "penalty=1", "--json").stdout)
    local = _log_mse(chain)
    assert content["score_name"] == "bic-nv"
    assert content["score"] == pytest.approx(-200 * sum(local) - 2 * np.log(200))
    assert [node["node"] for node in content["nodes"]] == NAMES
    assert [node["parents"] for node in content["nodes"]] == list(PARENTS.values())
    assert [node["local"] for node in content["nodes"]] == pytest.approx(-np.array(local))
    assert [node["price"] for node in content["nodes"]] == pytest.approx([0, -np.log(200), -np.log(200), 0])
    assert sum(node["share"] for node in content["nodes"]) == pytest.approx(content["score"])


def test_equal_variances_by_hand(run: Run, chain: Path, truth: Path) -> None:
    content = json.loads(
        run("score", chain, truth, "--score", "bic-ev", "--score-option", "penalty=2", "--json").stdout
    )
    mean = np.mean(np.exp(_log_mse(chain)))
    assert content["score"] == pytest.approx(-200 * 4 * np.log(mean) - 2 * 2 * np.log(200))
    assert {node["share"] for node in content["nodes"]} == {None}  # it is not a sum over nodes


def test_text_for_people(run: Run, chain: Path, truth: Path) -> None:
    done = run("score", chain, truth)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("bic-nv score -")
    assert re.search(r", penalty 1\.\d+, 2 edges$", lines[0])
    assert lines[2].split() == ["node", "parents", "local", "penalty", "share"]
    assert [line.split()[:2] for line in lines[3:7]] == [["rain", "-"], ["wet", "rain"], ["slip", "wet"], ["sun", "-"]]
    assert "-0.0000" not in done.stdout
    assert "share" not in run("score", chain, truth, "--score", "bic-ev").stdout.splitlines()[2]


def test_a_saved_result_scores_what_it_says(run: Run, chain: Path, fast: Fast) -> None:
    found = json.loads(run("fit", chain, *fast, "-o", "out", "--json").stdout)
    assert json.loads(run("score", chain, "out", "--json").stdout)["score"] == pytest.approx(found["pruned_score"])


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("rain,wet\nwet,slip\nslip,rain\n", "the graph has a cycle: rain -> wet -> slip -> rain"),
        ("rain,fog\n", "'fog' is not a node"),
    ],
)
def test_graphs_that_cannot_be_scored(run: Run, chain: Path, edges: str, message: str) -> None:
    Path("graph.csv").write_text(f"source,target\n{edges}")
    done = run("score", chain, "graph.csv")
    assert done.exit_code == 2
    assert message in done.stderr
    assert "hint: " in done.stderr


def test_a_missing_graph(run: Run, chain: Path) -> None:
    done = run("score", chain, "absent.csv")
    assert done.exit_code == 2
    assert "absent.csv" in done.stderr
