from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

from drbo.knowledge import Knowledge

Run = Callable[..., Result]


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """x drives y one step later; both remember themselves."""
    rng = np.random.default_rng(0)
    x, y = np.zeros(400), np.zeros(400)
    for t in range(1, 400):
        x[t] = 0.8 * x[t - 1] + rng.normal()
        y[t] = 0.5 * y[t - 1] + x[t - 1] + rng.normal()
    path = tmp_path / "series.csv"
    pd.DataFrame({"x": x, "y": y}).to_csv(path, index=False)
    return path


@pytest.mark.filterwarnings("default::UserWarning")
def test_a_series_is_warned_about_and_its_lagged_table_is_not(run: Run, series: Path, tmp_path: Path) -> None:
    alone = run("fit", str(series), "--score", "bic-nv", "-q")
    assert alone.exit_code == 0
    assert "warning: neighbouring rows are correlated" in alone.stderr
    assert "neighbouring rows are correlated" in alone.stdout  # kept with the result
    out = tmp_path / "lagged.csv"
    done = run("lag", str(series), "--lags", "2", "-o", str(out))
    assert done.exit_code == 0, done.stderr
    assert Knowledge.from_toml(out.with_suffix(".toml")).tiers[0] == ("x_lag2", "y_lag2")
    fitted = run("fit", str(out), "--score", "bic-nv", "--knowledge", str(out.with_suffix(".toml")), "-q")
    assert fitted.exit_code == 0, fitted.stderr
    assert "warning" not in fitted.stderr
    edges = [line.split()[:3] for line in fitted.stdout.splitlines() if " -> " in line or " -- " in line]
    assert ["x_lag1", "->", "y"] in edges
    assert ["x_lag1", "->", "x"] in edges
    assert not any(arrow == "->" and ("lag" not in a and "lag" in b) for a, arrow, b in edges)
    assert "contains lagged columns" in fitted.stdout


def test_bad_input(run: Run, series: Path, tmp_path: Path) -> None:
    assert run("lag", str(series), "-o", str(tmp_path / "out.parquet")).exit_code == 2
    assert run("lag", str(series)).exit_code == 2
    assert run("lag", str(series), "--time", "day", "-o", str(tmp_path / "out.csv")).exit_code == 2
    assert run("lag", str(series), "--lags", "0", "-o", str(tmp_path / "out.csv")).exit_code == 2
    assert run("lag", str(tmp_path / "none.csv"), "-o", str(tmp_path / "out.csv")).exit_code == 2
