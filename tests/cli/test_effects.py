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
    assert "conditional on this graph" in again.stdout
    assert "learned from" in again.stderr
    assert "age -> outcome" in again.stdout


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
