"""All problems of a table at once, and a line that solves them, whatever its columns are called."""

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

Run = Callable[..., Result]


@pytest.mark.parametrize(
    "name", ["it's", "a,b", 'say "x"', "$(touch sprung)", "red\x1b[31m", "tab\there", "-x", "naïve\u202e"]
)
def test_hostile_names_survive_the_shell(run: Run, name: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["u", "v"])
    frame[name] = 1.0
    frame.to_csv("t.csv", index=False)
    done = run("fit", "t.csv", "--max-evals", 5)
    assert done.exit_code == 2
    line = done.stderr.splitlines()[-1]
    assert line.isprintable()
    words = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {line.strip()}"], capture_output=True, check=True, text=True
    ).stdout.split("\0")[:-1]
    assert words[:3] == ["drbo", "fit", "t.csv"]
    assert run(*words[1:]).exit_code == 0
    assert not Path("sprung").exists()


def test_doubts_are_notes_and_the_fit_goes_on(run: Run, chain: Path) -> None:
    numbers = np.random.default_rng(0).permutation(200)
    pd.read_csv(chain).assign(id=numbers, arm=numbers % 2).to_csv("t.csv", index=False)
    done = run("fit", "t.csv", "--max-evals", 5)
    assert done.exit_code == 0
    assert "note: column 'id' is an identifier" in done.stderr
    assert "drbo fit t.csv --drop id --types arm=category --max-evals 5" in done.stderr
    assert "note: column 'id'" not in run("fit", "t.csv", "--max-evals", 5, "-q").stderr


def test_options_that_were_given_are_kept(run: Run, chain: Path) -> None:
    pd.read_csv(chain).assign(one=1, two=2, word=["a", "b"] * 100).to_csv("t.csv", index=False)
    line = run("check", "t.csv", "--drop", "two", "--types", "word=category").stdout.splitlines()[-1]
    assert shlex.split(line) == ["drbo", "fit", "t.csv", "--drop", "two,one", "--types", "word=category"]


def test_other_errors_stay_what_they_are(run: Run, chain: Path) -> None:
    done = run("fit", chain, "--score", "logistic")
    assert "logistic requires exactly 2" in done.stderr
    assert "problem" not in done.stderr
