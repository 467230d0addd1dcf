"""drbo check says what fit would say."""

import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

from drbo import table_check
from drbo.data.statistics import sums

Run = Callable[..., Result]


def test_a_good_table(run: Run, chain: Path) -> None:
    done = run("check", chain)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == f"{chain}: 200 rows, 4 columns"
    rain = pd.read_csv(chain)["rain"].to_numpy()
    (line,) = (line for line in lines if line.startswith("  rain "))
    assert f"mean {np.mean(rain):.4g}, sd {np.std(rain):.4g}, from {min(rain):.4g} to {max(rain):.4g}" in line
    assert "--score auto chooses bic-nv:" in lines
    assert lines[-1] == f"  drbo fit {chain}"


def test_the_audit_is_told(run: Run, chain: Path) -> None:
    frame = pd.read_csv(chain)
    frame.loc[3, "sun"] = 1e6
    frame.to_csv("odd.csv", index=False)
    lines = run("check", "odd.csv").stdout.splitlines()
    audit = lines[lines.index("Audit:") + 1 :]
    assert any(line.startswith("  attention") or "outliers" in line or "'sun' 1" in line for line in audit)
    assert any("noise variances" in line for line in audit)


def test_all_problems_are_told_at_once_with_the_line_that_solves_them(run: Run, chain: Path) -> None:
    frame = pd.read_csv(chain)
    frame.insert(0, "id", range(len(frame)))
    frame.assign(day="2024-01-01", one=1, twice=2 * frame["sun"]).to_csv("messy.csv", index=False)
    done = run("check", "messy.csv")
    assert done.exit_code == 2
    for words in ("'id' only counts the rows", "'day' contains dates", "'one' is constant", "'twice' is a linear"):
        assert words in done.stdout
    assert done.stdout.splitlines()[-1] == "  drbo fit messy.csv --drop id,day,one,twice"
    refused = run("fit", "messy.csv", "-o", "out")
    assert refused.exit_code == 2
    assert refused.stderr.splitlines()[-1] == "  drbo fit messy.csv --drop id,day,one,twice --output out"


def test_no_time_no_audit(run: Run, chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_check, "SECONDS", 0.0)
    done = run("check", chain)
    assert "The table is large" in done.stdout


def test_nothing_can_be_used(run: Run) -> None:
    Path("t.csv").write_text("a,b\n1,1\n1,2\n1,1\n")
    done = run("check", "t.csv")
    assert done.exit_code == 2
    assert done.stdout.splitlines()[-1].startswith("Fewer than 2 columns can be used")
    assert "Fewer than 2 columns" in run("fit", "t.csv").stderr


def test_categories_are_not_judged_by_scale(run: Run) -> None:
    rng = np.random.default_rng(0)
    cells = {name: rng.choice(list("abc"), 60) for name in ("x", "y", "z")}
    pd.DataFrame(cells).to_csv("groups.csv", index=False)
    done = run("check", "groups.csv")
    assert done.exit_code == 0
    assert "noise variances" not in done.stdout
    assert "  no problems found" in done.stdout.splitlines()


def test_columns_that_nothing_causes_are_suggested_as_roots(run: Run, chain: Path) -> None:
    frame = pd.read_csv(chain).abs()  # no age is negative
    frame.rename(columns={"rain": "age", "sun": "year of birth"}).to_csv("people.csv", index=False)
    done = run("check", "people.csv")
    assert "nothing else in a table causes age, year of birth; if that is true here, the command below" in done.stdout
    assert done.stdout.splitlines()[-1] == "  drbo fit people.csv --root age --root 'year of birth'"
    assert "--root" not in run("check", chain).stdout


def test_a_check_keeps_its_own_time_limit_to_itself(run: Run, chain: Path) -> None:
    assert run("check", chain, "--time-limit", "50s").stdout.splitlines()[-1] == f"  drbo fit {chain}"


def test_the_printed_command_is_taken_by_a_fit(run: Run) -> None:
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["yield", "rain", "soil"])
    frame.insert(0, "rownames", np.arange(n))
    level = rng.integers(0, 4, n)
    frame = frame.assign(
        plot=np.arange(n), latitude=50 + rng.normal(size=n), level=level, low=level == 1, mid=(level == 2) * 1,
        top=(level == 3) * 1, base=(level == 0) * 1, weight=[f"{w:.1f} kg" for w in 60 + rng.normal(size=n)],
        health=rng.choice(["1_Good", "2_Fair", "3_Poor"], n), wage=np.where(rng.random(n) < 0.1, -99, 20 + 5 * level),
        late=np.where(np.arange(n) < 4, rng.normal(size=n), np.nan),
    )  # fmt: skip
    frame.loc[3, "rain"], frame.loc[5, "soil"] = np.inf, np.nan
    frame.to_csv("field.csv", index=False)
    done = run("check", "field.csv")
    assert done.exit_code == 2
    words = shlex.split(done.stdout.splitlines()[-1])
    assert words[:3] == ["drbo", "fit", "field.csv"]
    given = dict(zip(words[3::2], words[4::2], strict=True))
    assert {"rownames", "plot", "late"} <= set(given["--drop"].split(","))
    assert given["--na"] == "inf,-99"
    assert {"weight=number", "health=1_Good<2_Fair<3_Poor"} <= set(given["--types"].split(","))
    assert given["--root"] == "latitude"
    fitted = run(*words[1:], "--max-evals", 5, "--set", "claims=false", "--set", "imputations=2")
    assert fitted.exit_code == 0, fitted.stderr
    Path("run.toml").write_text('[fit]\ndata = "field.csv"\nna = ["inf", "-99"]\ncolumns = ["yield", "wage", "soil"]\n')
    again = run("fit", "--config", "run.toml", "--missing", "drop", "--max-evals", 5)
    assert again.exit_code == 0, again.stderr
    assert "'-99' means missing in" in again.stderr
    refused = run("fit", "--config", "run.toml", "--columns", "yield,wage,soil,late")
    assert run(*shlex.split(refused.stderr.splitlines()[-1])[1:], "--max-evals", 5).exit_code == 0


def test_what_no_command_solves_is_said(run: Run) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["a", "b", "c"])
    frame.loc[:18, "a"], frame.loc[20:, "b"] = np.nan, np.nan
    frame.assign(c=["x", "y"] * 20).to_csv("t.csv", index=False)
    done = run("check", "t.csv", "--missing", "drop")
    assert done.exit_code == 2
    assert "No change of columns or cells solves this: only 1 of 40 rows have no missing value" in done.stdout


def test_notes_are_shown(run: Run, chain: Path) -> None:
    pd.read_csv(chain).assign(one=1.0).to_csv("table.csv", index=False)
    done = run("check", "table.csv", "--set", "on_constant=drop")
    assert done.exit_code == 0
    assert "dropped column 'one'" in done.stdout


def test_a_bad_table_is_refused(run: Run) -> None:
    Path("table.csv").write_text("a,b\n1,2\n,3\n4,5\n2,2\n")
    done = run("check", "table.csv")
    assert done.exit_code == 2
    assert "missing values in column 'a' (1 of 4 rows)" in done.stdout
    assert done.stdout.splitlines()[-1] == "  drbo fit table.csv --missing em"


def test_a_wide_table_is_cut(run: Run) -> None:
    X = np.random.default_rng(0).normal(size=(100, 70))
    pd.DataFrame(X, columns=[f"v{j}" for j in range(70)]).to_csv("wide.csv", index=False)
    done = run("check", "wide.csv")
    assert "  ... and 10 more" in done.stdout.splitlines()
    assert "v59" in done.stdout
    assert "v60" not in done.stdout


def test_missing_values_are_counted(run, tmp_path):
    path = tmp_path / "holes.csv"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    frame.loc[:5, "b"] = np.nan
    frame.to_csv(path, index=False)
    assert run("check", str(path)).exit_code == 2
    for policy in ("drop", "em", "impute"):
        done = run("check", str(path), "--missing", policy)
        assert done.exit_code == 0, done.stderr
        assert "10%" in done.stdout


def test_a_sample_of_a_long_table_is_checked(run: Run, chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "SAMPLE_CELLS", 0)
    monkeypatch.setattr(sums, "SAMPLE_ROWS", 80)
    done = run("check", chain, "--read", "stream=true")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"{chain}: 200 rows, 4 columns; everything below describes a random sample of 80 rows"
    assert lines[-1] == f"  drbo fit {chain} --read stream=true"
    pytest.importorskip("pyarrow")
    frame = pd.read_csv(chain)
    Path("parts").mkdir()
    frame[:90].assign(day="2024-01-01").to_parquet("parts/1.parquet")
    frame[90:].assign(day="2024-01-02").to_parquet("parts/2.parquet")
    done = run("check", "parts")
    assert done.exit_code == 2
    assert "'day' contains dates" in done.stdout
    assert done.stdout.splitlines()[-1] == "  drbo fit parts --drop day"


def test_a_table_without_rows_is_no_stream(run: Run, chain: Path) -> None:
    pytest.importorskip("pyarrow")
    pd.read_csv(chain)[:0].to_parquet("none.parquet")
    for command in ("check", "fit"):
        done = run(command, "none.parquet", "--read", "stream=true")
        assert done.exit_code == 2
        assert "0 rows" in done.stdout + done.stderr
