"""Words of the command line become values, or an error that says how they are written."""

import gzip
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import Result

from drbo.cli.options import duration, parse_settings, penalty, read_frame, size
from drbo.errors import SettingsError
from drbo.settings import Settings

Run = Callable[..., Result]


@pytest.mark.parametrize(
    ("word", "seconds"), [("60s", 60), ("5m", 300), ("1h", 3600), (" 1.5 H", 5400), ("7", 7), (".5m", 30)]
)
def test_durations(word: str, seconds: float) -> None:
    assert duration(word) == seconds


@pytest.mark.parametrize("word", ["", "soon", "5d", "-5s", "0s", "1h30m", "nan", "inf"])
def test_what_is_no_duration(word: str) -> None:
    with pytest.raises(click.BadParameter, match="60s, 5m or 1h"):
        duration(word)


@pytest.mark.parametrize(
    ("word", "found"),
    [("4GB", 4 * 10**9), ("500 mb", 5 * 10**8), ("1KiB", 1024), ("2g", 2 * 10**9), ("1.5T", 15 * 10**11), ("7", 7)],
)
def test_sizes(word: str, found: int) -> None:
    assert size(word) == found


@pytest.mark.parametrize("word", ["", "0", "-1GB", "4 XB", "lots", "inf", "nan", "9" * 400, "1e9"])
def test_what_is_no_size(word: str) -> None:
    with pytest.raises(click.BadParameter, match="500MB or 4GB"):
        size(word)


def test_a_packed_bomb_is_refused_and_a_person_may_raise_the_limit(run: Run) -> None:
    Path("bomb.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n2,1\n3,5\n" * 6_000_000, 1))
    refused = run("check", "bomb.csv.gz", "--quick")
    assert refused.exit_code == 2
    assert "over 100 times its size" in refused.stderr
    assert "--max-input SIZE" in refused.stderr
    small = run("check", "bomb.csv.gz", "--quick", "--max-input", "50MB")
    assert "takes more than 50000000 bytes" in small.stderr


def test_what_is_no_penalty() -> None:
    assert penalty("0.5") == 0.5
    with pytest.raises(click.BadParameter, match="a number >= 0 or ebic, got 'much'"):
        penalty("much")


def test_settings_become_what_their_knob_asks_for() -> None:
    words = ["max-evals=7", "dropout = 0.25", "space=low-rank", "skip_known=No", "patience=none", "target_score=-3"]
    changes = parse_settings(words)
    assert changes == {
        "max_evals": 7,
        "dropout": 0.25,
        "space": "low-rank",
        "skip_known": False,
        "patience": None,
        "target_score": -3.0,
    }
    assert Settings().with_(**changes).max_evals == 7


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["dropuot=0.3"], "unknown setting 'dropuot'", "did you mean dropout"),
        (["zzz=1"], "unknown setting 'zzz'", "batch_size, n_candidates"),
        (["dropout"], "--set takes name=value, got 'dropout'", "dropout=0.3"),
        (["rank=1", "rank=2"], "'rank' is given twice", "keep one"),
    ],
)
def test_settings_that_cannot_be_read(words: list[str], message: str, hint: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings(words)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("word", ["rank=two", "rank=2.5", "dropout=high", "recombine=maybe", "space=flat", "dropout="])
def test_settings_that_do_not_fit_are_refused_by_name(word: str) -> None:
    with pytest.raises(SettingsError, match=word.partition("=")[0]):
        Settings().with_(**parse_settings([word]))


@pytest.mark.parametrize("separator", ["tab", "\\t", "\t"])
def test_a_tab_can_be_named(folder: Path, separator: str) -> None:
    Path("table.txt").write_text("a b\tc\n1\t2\n3\t4\n")
    options = {"separator": separator, "no_header": False, "max_input": None}
    assert read_frame(Path("table.txt"), options).columns.tolist() == ["a b", "c"]


def test_a_file_without_names(folder: Path) -> None:
    Path("table.csv").write_text("1,2\n3,4\n5,7\n")
    options = {"separator": None, "no_header": True, "max_input": None}
    assert read_frame(Path("table.csv"), options).columns.tolist() == ["x0", "x1"]


def test_the_hint_about_a_file_without_names_works(run: Run) -> None:
    Path("table.csv").write_text("1,2\n3,4\n5,7\n8,1\n")
    refused = run("check", "table.csv")
    assert refused.exit_code == 2
    assert "--no-header" in refused.stderr
    assert run("check", "table.csv", "--no-header").exit_code == 0
