import json

import pytest

from tests.test_experiments import TRUE, runs


@pytest.fixture
def table(folder):
    path = folder / "runs.csv"
    runs().to_csv(path, index=False)
    return path


def test_fit_takes_the_column_of_experiments(run, table, tmp_path):
    known = tmp_path / "targets.csv"
    known.write_text("experiment,target,kind\nhot,a,hard\n")
    found = run("fit", table, "--experiment", "run", "--set", f"targets={known}", "--json")
    assert found.exit_code == 0
    listed = json.loads(found.stdout)["targets"]
    assert {(one["experiment"], one["column"]) for one in listed} == TRUE
    assert [one["kind"] for one in listed if one["experiment"] == "hot"] == ["hard"]


def test_check_describes_experiments(run, table):
    found = run("check", table, "--experiment", "run")
    assert found.exit_code == 0
    line = next(line for line in found.stdout.splitlines() if line.strip().startswith("hot"))
    assert line.split()[:2] == ["hot", "100"]
    assert line.split()[-1] == "a"
    assert "--score auto chooses bic-experiments" in found.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--experiment", "run", "--control", "plain"], "no row of column 'run' is the control 'plain'"),
        (["--experiment", "walk"], "there is no column 'walk' that names experiments"),
        (["--experiment", "a"], "column 'a' has 600 different values, but at most 200 experiments are possible"),
        (["--experiment", "run", "--score-option", "others=none"], "--score-option others=none requires known targets"),
        (["--score-option", "drift=true"], "has no option drift"),
    ],
)
def test_wrong_requests_are_refused_in_words(run, table, options, words):
    found = run("fit", table, *options)
    assert found.exit_code == 2
    assert words in found.stderr
