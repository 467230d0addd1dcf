import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]


@pytest.fixture
def fitted(run: Run, chain: Path) -> str:
    """A run whose directions are open."""
    run("fit", chain, "--score", "bic-nv", "-o", "found", "-q")
    return "found"


def test_ranking_in_words_and_as_json(run: Run, fitted: str) -> None:
    done = run("next", fitted, "--goal", "rain->slip")
    assert done.exit_code == 0, done.stderr
    assert "about whether rain causes slip" in done.stdout
    assert "1. rain: 0.92 bits" in done.stdout
    assert "rows of an experiment" not in done.stdout
    assert "no cause is hidden" in done.stdout
    found = json.loads(run("next", fitted, "--batch", "2", "--rows", "500", "--json").stdout)
    assert found["rows"] == 500
    assert found["experiments"][0]["column"] == "wet"
    assert found["batch"] == ["wet"]


def test_the_posterior_of_the_table(run: Run, fitted: str, chain: Path) -> None:
    done = run("next", fitted, chain)
    assert done.exit_code == 0, done.stderr
    assert "500 draws from the exact posterior over all DAGs" in done.stdout


def test_costs(run: Run, fitted: str) -> None:
    Path("costs.csv").write_text("column,cost\nwet,100\nslip,inf\n")
    done = run("next", fitted, "--cost", "costs.csv", "--json")
    assert [one["column"] for one in json.loads(done.stdout)["experiments"]] == ["rain", "wet"]
    Path("costs.csv").write_text("name,cost\nwet,100\n")
    assert "must have the columns column and cost" in run("next", fitted, "--cost", "costs.csv").stderr
    Path("costs.csv").write_text("column,cost\nwet,dear\n")
    assert "must be a number, got 'dear'" in run("next", fitted, "--cost", "costs.csv").stderr


def test_wrong_goal(run: Run, fitted: str) -> None:
    done = run("next", fitted, "--goal", "fog")
    assert done.exit_code == 2
    assert "a goal must be graph, A->B or effects-on:B, got 'fog'" in done.stderr
