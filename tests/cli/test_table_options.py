"""Options that say how a table is read and what its columns hold."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

from drbo.cli.table_options import size
from drbo.errors import SettingsError

Run = Callable[..., Result]


@pytest.fixture
def messy(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a, b": rng.normal(size=60), "c": rng.normal(size=60), "sex": rng.integers(1, 3, 60), "w": 1})
    frame.to_csv(folder / "t.csv", index=False, sep=";", decimal=",", encoding="utf-16")
    return folder / "t.csv"


def test_what_was_assumed_is_one_line(run: Run, messy: Path) -> None:
    done = run("check", messy, "--drop", "w")
    line = f"{messy}: read with utf-16 encoding; separator ';'; decimal comma in 'a, b', 'c'"
    assert done.stderr.splitlines() == [line]
    assert done.exit_code == 0
    given = run(
        "check",
        messy,
        "--drop",
        "w",
        "--read",
        "decimal=comma",
        "--read",
        "encoding=utf-16",
        "--read",
        "separator=semicolon",
    )
    assert given.exit_code == 0


def test_columns_types_and_what_is_no_variable(run: Run, messy: Path) -> None:
    done = run("check", messy, "--columns", '"a, b",sex', "--types", "sex=category")
    assert done.exit_code == 0
    assert "2 columns" in done.stdout
    assert "2 levels: 1, 2" in done.stdout
    fitted = run("fit", messy, "--columns", '"a, b",c', "--weights", "w", "--max-evals", 5, "-q")
    assert fitted.exit_code == 0, fitted.stderr
    assert run("check", messy, "--columns", "z").exit_code == 2


def test_a_configuration_may_give_lists_and_tables(run: Run, messy: Path) -> None:
    Path("run.toml").write_text(
        f'[fit]\ndata = "{messy}"\ncolumns = ["a, b", "c", "sex"]\ntypes = {{ sex = "category" }}\ndrop = "c"\n'
    )
    done = run("fit", "--config", "run.toml", "--max-evals", 5, "--json", "-q")
    assert done.exit_code == 0, done.stderr
    assert '"sex"' in done.stdout
    assert '"c"' not in done.stdout


@pytest.mark.parametrize("separator", ["tab", "\\t", "\t"])
def test_a_tab_can_be_named(run: Run, separator: str) -> None:
    Path("table.txt").write_text("a b\tc\n1\t2\n3\t4\n5\t1\n")
    assert "  a b " in run("check", "table.txt", "--read", f"separator={separator}").stdout


@pytest.mark.parametrize(
    ("word", "found"),
    [("4GB", 4 * 10**9), ("500 mb", 5 * 10**8), ("1KiB", 1024), ("2g", 2 * 10**9), ("1.5T", 15 * 10**11), ("7", 7)],
)
def test_sizes(word: str, found: int) -> None:
    assert size(word) == found


@pytest.mark.parametrize("word", ["", "0", "-1GB", "4 XB", "lots", "inf", "nan", "9" * 400, "1e9"])
def test_what_is_no_size(word: str) -> None:
    with pytest.raises(SettingsError, match="500MB or 4GB"):
        size(word)


def test_a_column_that_is_called_none_is_not_taken_for_a_word(run: Run) -> None:
    Path("table.csv").write_text("a,none\n1,2\n3,4\n5,1\n")
    done = run("fit", "table.csv", "--groups", "none")
    assert (done.exit_code, "rename the column" in done.stderr) == (2, True)


def test_all_rows_are_needed_where_a_table_is_not_summed_up(run: Run) -> None:
    Path("table.csv").write_text("a,b\n1,2\n3,4\n5,1\n")
    done = run("lag", "table.csv", "--read", "stream=true", "-o", "lagged.csv")
    assert (done.exit_code, "all rows are needed here" in done.stderr) == (2, True)
