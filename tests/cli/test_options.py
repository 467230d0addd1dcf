"""Words of the command line become values, or an error that says how they are written."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import Result

from drbo.cli.options import duration

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


def test_a_packed_bomb_is_refused_and_a_person_may_raise_the_limit(run: Run) -> None:
    Path("bomb.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n2,1\n3,5\n" * 6_000_000, 1))
    refused = run("check", "bomb.csv.gz")
    assert refused.exit_code == 2
    assert "over 100 times its size" in refused.stderr
    assert "--read max_input=SIZE" in refused.stderr
    small = run("check", "bomb.csv.gz", "--read", "max_input=50MB")
    assert "needs more than 50000000 bytes" in small.stderr


TRAP = "open('sprung', 'w').close()\nclass Score:\n    def __init__(self, table): pass\n"
TRAP += "    def local_one(self, node, parents): return -float(len(parents))\n"


def test_no_code_is_loaded_because_a_config_names_it(run: Run, chain: Path, fast: tuple[str, ...]) -> None:
    Path("config_trap.py").write_text(TRAP)
    Path("c.toml").write_text('[fit]\ndata = "chain.csv"\nscore = "config_trap:Score"\n')
    done = run("fit", "--config", "c.toml", *fast)
    assert done.exit_code == 2
    assert (
        "the configuration file names the score 'config_trap:Score', but drbo does not load code that only a file names"
        in done.stderr
    )
    assert "add --score config_trap:Score" in done.stderr
    done = run("fit", "--config", "c.toml", "--score", "other:Score", *fast)
    assert (done.exit_code, "'config_trap:Score', but the command line names 'other:Score'" in done.stderr) == (2, True)
    assert run("fit", "--config", "c.toml", "--score", "bge", "-q", *fast).exit_code == 0  # the command line wins
    assert not Path("sprung").exists()
    assert run("fit", "--config", "c.toml", "--score", "config_trap:Score", "-q", *fast).exit_code == 0
    assert Path("sprung").exists()


@pytest.mark.parametrize("line", ['workers = "tcp://evil:1"', "force = true", 'config = "d.toml"', 'max_input = "9TB"'])
def test_what_only_a_person_may_ask_for(run: Run, chain: Path, line: str) -> None:
    Path("c.toml").write_text(f"[{'read' if 'max_input' in line else 'fit'}]\n{line}\n")
    done = run("fit", chain, "--config", "c.toml")
    assert done.exit_code == 2
    assert f"'{line.partition(' ')[0]}' is allowed only on the command line" in done.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("seed = 1e400", "'inf' is not a valid integer"),
        ("seed = nan", "'nan' is not a valid integer"),
        ("seed = true", "'seed' must be a string or a number, got True"),
        ("seed = [1]", "'seed' must be a string or a number, got [1]"),
        ("seed = {a = 1}", "'seed' must be a string or a number"),
        ("time-limit = 2024-01-01", "'time-limit' must be a string or a number, got 2024-01-01"),
        ("time-limit = 07:32:00", "'time-limit' must be a string or a number, got 07:32:00"),
        ("time-limit = inf", "a time must look like 60s, 5m or 1h, got 'inf'"),
        ("[score_options]\npenalty = 1979-05-27T07:32:00Z", "penalty must be a number >= 0 or 'ebic'"),
        ("[score_options]\npenalty = nan", "penalty must be a number >= 0 or 'ebic', got nan"),
        ("require = [1979-05-27]", "'require' must be a string or a number"),
        ("hidden = 1", "'hidden' must be true or false, got 1"),
        ('prune = "none"', "write it below [settings]"),
        ("[read]\nheader = 3", "--read header must be true or false, got '3'"),
        ("[reading]\nheader = 3", "the allowed tables are fit, knowledge, settings, read, score_options"),
        ('quiet = "yes"', "'quiet' must be true or false, got 'yes'"),
        ("score = 5", "got '5'"),
        ("data = 1979-05-27", "'data' must be a string or a number"),
        ('output = "a\\u0000b"', "'output' must not contain a null character"),
        ("max-evals = 1.5", "'1.5' is not a valid integer"),
        ("workers = 0", "give a number of processes"),
        ("[settings]\ndropout = nan", "dropout must be a finite number in [0, 1), got nan"),
        ("[settings]\ntime_limit = inf", "time_limit must be"),
        ("[settings]\nmax_evals = 1e400", "max_evals must be a whole number"),
        ("[settings]\nrank = 2024-01-01", "rank must be a whole number"),
        ("[settings]\nrank = [2]", "rank must be a whole number"),
    ],
)
def test_values_of_a_config_are_refused_in_words(run: Run, chain: Path, line: str, message: str) -> None:
    Path("c.toml").write_text(f"[fit]\ntiers = ''\n{line}\n")
    done = run("fit", chain, "--config", "c.toml")
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert "internal error" not in done.stderr


def test_numbers_of_a_config_are_read_as_words_of_the_command_line(
    run: Run, chain: Path, fast: tuple[str, ...]
) -> None:
    Path("c.toml").write_text(
        '[fit]\ntime-limit = 300\nseed = 3\nrequire = "rain->wet"\n[score_options]\npenalty = 2\n'
    )
    done = run("fit", chain, "--config", "c.toml", "--json", *fast)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["seed"], found["settings"]["time_limit"]) == (3, 300)
    assert found["score_options"]["penalty"] == 2


def test_the_hint_about_a_file_without_names_works(run: Run) -> None:
    Path("table.csv").write_text("1,2\n3,4\n5,7\n8,1\n")
    refused = run("check", "table.csv")
    assert refused.exit_code == 2
    assert "--read header=false" in refused.stderr
    assert run("check", "table.csv", "--read", "header=false").exit_code == 0
