import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

Run = Callable[..., Result]


@pytest.fixture
def fitted(run: Run, tmp_path: Path) -> tuple[Path, Path, Path]:
    """A run, its table, and new rows."""
    paths = []
    for seed, name in enumerate(("seen.csv", "new.csv")):
        x = np.random.default_rng(seed).normal(size=(300, 3))
        x[:, 2] += x[:, 0] + 2 * x[:, 1]
        pd.DataFrame(x, columns=["age", "dose", "outcome"]).to_csv(tmp_path / name, index=False)
        paths.append(tmp_path / name)
    run("fit", str(paths[0]), "--score", "bic-nv", "-o", str(tmp_path / "run"), "-q")
    return tmp_path / "run", paths[0], paths[1]


def test_effects_on_new_rows(run: Run, fitted: tuple[Path, Path, Path]) -> None:
    folder, seen, new = fitted
    done = run("effects", str(folder), str(new), "--from", "dose", "--to", "outcome", "--json")
    assert done.exit_code == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["basis"] == "held-out rows"
    assert content["effects"][0]["total"][0] == pytest.approx(2.0, abs=0.2)
    again = run("effects", str(folder), str(seen), "--to", "outcome")
    assert "learned from" in again.stderr
    assert again.stdout.startswith("Outcome outcome: ")
    assert "age" in again.stdout


def test_effects_over_bootstrap_graphs(run: Run, fitted: tuple[Path, Path, Path]) -> None:
    folder, seen, _ = fitted
    done = run("effects", str(folder), str(seen), "--from", "dose", "--to", "outcome", "--bootstrap", "5", "-q")
    assert done.exit_code == 0, done.stderr
    assert "over the graphs of 5 bootstrap resamples" in done.stdout


def test_bad_input(run: Run, fitted: tuple[Path, Path, Path], tmp_path: Path) -> None:
    folder, seen, _ = fitted
    assert run("effects", str(folder), str(seen), "--from", "zeal").exit_code == 2
    assert run("effects", str(folder), str(seen), "--from", "dose", "--bootstrap", "5").exit_code == 2
    assert run("effects", str(tmp_path / "none"), str(seen)).exit_code == 2
    assert run("effects", str(folder), str(seen), "--missing", "impute").exit_code == 2


def test_probabilities_if_a_category_were_set(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    smoker = rng.choice(["no", "yes"], size=500)
    ill = np.where(rng.random(500) < np.where(smoker == "yes", 0.7, 0.2), "ill", "well")
    data = tmp_path / "health.csv"
    pd.DataFrame({"smoker": smoker, "health": ill}).to_csv(data, index=False)
    folder = str(tmp_path / "run")
    run("fit", str(data), "--require", "smoker->health", "-o", folder, "-q")
    done = run("effects", folder, str(data), "--do", "smoker=yes", "--to", "health", "--json", "-q")
    assert done.exit_code == 0, done.stderr
    content = json.loads(done.stdout)
    share = (ill[smoker == "yes"] == "ill").mean()
    assert content["values"] == [pytest.approx([share, 1 - share])]  # levels: ill, well
    assert "If smoker were set to no, health would be" in run(
        "effects", folder, str(data), "--do", "smoker=no", "--to", "health"
    ).stdout  # fmt: skip


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--do", "smoker", "--to", "b"], "--do must look like COLUMN=LEVEL"),
        (["--do", "smoker=no"], "--do needs an outcome"),
        (["--do", "smoker=no", "--to", "b", "--from", "a"], "--do and --from cannot be combined"),
        (["--do", "smoker=no", "--to", "b", "--bootstrap", "3"], "--do and --bootstrap cannot be combined"),
    ],
)
def test_wrong_uses_of_do(run: Run, fitted: tuple[Path, Path, Path], options: list[str], words: str) -> None:
    done = run("effects", str(fitted[0]), str(fitted[1]), *options)
    assert done.exit_code == 2
    assert words in done.stderr
