"""A randomised trial from a file to the summary, the report and the effects, as a user runs it."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from drbo import check
from drbo.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a trial of 600 rows in which fewer treated people fall ill, and the run of a fit."""
    rng, place = np.random.default_rng(5), tmp_path_factory.mktemp("trial")
    arm = rng.permutation(np.repeat(["0_placebo", "1_drug"], 300))
    age = rng.normal(50, 10, size=600).round()
    ill = np.where(rng.random(600) < np.where(arm == "1_drug", 0.1, 0.15), "yes", "no")
    other = np.where(rng.random(600) < 0.5, "a", "b")
    frame = pd.DataFrame({"rx": arm, "age": age, "ill": ill, "other": other})
    frame.to_csv(place / "trial.csv", index=False)
    done = run(
        "fit",
        place / "trial.csv",
        "--randomised",
        "rx",
        "--root",
        "age",
        "--outcome",
        "ill",
        "-o",
        place / "run",
        "--seed",
        "0",
    )
    (place / "summary.txt").write_text(done.stdout)
    return place


def run(*words):
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done


def shares(folder):
    frame = pd.read_csv(folder / "trial.csv")
    return (frame["ill"] == "yes").groupby(frame["rx"]).mean()


def test_arms_are_compared_although_no_edge_is_found(folder):
    text, (control, drug) = (folder / "summary.txt").read_text(), shares(folder)
    assert "rx ->" not in text
    line = next(line for line in text.splitlines() if "ill = yes: " in line and " with " in line)
    assert line.index("with 1_drug") < line.index("with 0_placebo")
    assert f"difference {100 * (drug - control):.1f} points (" in line
    assert "Randomised arms" in (folder / "run" / "report.html").read_text()


def test_no_interval_is_tight_around_nothing(folder):
    control, drug = shares(folder)
    words = ["effects", folder / "run", folder / "trial.csv", "-q", "--json"]
    found = json.loads(run(*words, "--from", "rx", "--to", "ill").stdout)["effects"][0]
    assert found["total"] == pytest.approx([drug - control])
    assert found["low"] < drug - control < found["high"]
    for level, share in (("1_drug", drug), ("0_placebo", control)):
        found = json.loads(run(*words, "--do", f"rx={level}", "--to", "ill").stdout)
        assert found["values"][0][1] == pytest.approx(share)
        assert found["low"][1] < share < found["high"][1]
    unlinked = json.loads(run(*words, "--from", "other", "--to", "ill").stdout)["effects"][0]
    assert unlinked["total"] == [0.0]
    assert unlinked["low"] < unlinked["high"]
    assert 0 < unlinked["probability"] < 0.5


def test_the_check_suggests_arms_and_assumes_nothing(folder):
    frame = pd.read_csv(folder / "trial.csv")
    assert check(frame).arms == ("rx",)
    text = run("check", folder / "trial.csv").stdout
    assert "'rx' looks like the arms of a trial; if chance alone decided them, add --randomised rx" in text
    assert "--randomised" not in text.splitlines()[-1]


def test_the_outcome_comes_first_and_the_run_answers_without_its_table(folder):
    control, drug = shares(folder)
    text = (folder / "summary.txt").read_text()
    assert text.startswith("Outcome ill = yes: 1 likely cause, no unclear links\n")
    stored = run("effects", folder / "run", "--to", "ill").stdout
    assert text.startswith(stored.rstrip())
    assert f"1_drug instead of 0_placebo: {100 * (drug - control):.1f} points (" in stored
    assert run("effects", folder / "run", folder / "trial.csv", "--to", "ill", "-q").stdout == stored
    page = (folder / "run" / "report.html").read_text()
    assert page.index("What may cause ill = yes") < page.index("In plain words")


@pytest.mark.parametrize("words", [["--to", "age"], ["--from", "rx"], ["--json"]])
def test_a_run_alone_answers_about_its_outcome_only(folder, words):
    done = CliRunner().invoke(main, ["effects", str(folder / "run"), *words])
    assert done.exit_code == 2
    assert "its outcome is 'ill'" in done.output
    assert "give the table as well" in done.output
