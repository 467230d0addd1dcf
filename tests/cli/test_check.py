"""drbo check says what fit would say."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import Result

Run = Callable[..., Result]


def test_a_good_table(run: Run, chain: Path) -> None:
    done = run("check", chain)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == f"{chain}: 200 rows, 4 columns (4 numeric)"
    rain = pd.read_csv(chain)["rain"].to_numpy()
    (line,) = (line for line in lines if line.startswith("  rain "))
    assert f"mean {np.mean(rain):.4g}, sd {np.std(rain):.4g}, from {min(rain):.4g} to {max(rain):.4g}" in line
    assert "--score auto takes bic-nv:" in lines


def test_notes_are_shown(run: Run, chain: Path) -> None:
    pd.read_csv(chain).assign(one=1.0).to_csv("table.csv", index=False)
    done = run("check", "table.csv", "--on-constant", "drop")
    assert done.exit_code == 0
    assert "dropped column 'one'" in done.stdout


def test_a_bad_table_is_refused(run: Run) -> None:
    Path("table.csv").write_text("a,b\n1,2\n,3\n4,5\n2,2\n")
    done = run("check", "table.csv")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "missing values in column 'a' (1 of 4 rows)" in done.stderr


def test_a_wide_table_is_cut(run: Run) -> None:
    X = np.random.default_rng(0).normal(size=(100, 70))
    pd.DataFrame(X, columns=[f"v{j}" for j in range(70)]).to_csv("wide.csv", index=False)
    done = run("check", "wide.csv")
    assert "  ... and 10 more" in done.stdout.splitlines()
    assert "v59" in done.stdout
    assert "v60" not in done.stdout
