"""drbo init, and drbo fit --config with what it wrote."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result as CommandResult

from drbo.result.result import Result

Run = Callable[..., CommandResult]


def test_the_file_is_toml_and_runs(run: Run, chain: Path) -> None:
    done = run("init", "--data", chain)
    assert (done.exit_code, done.stdout) == (0, "")
    assert tomllib.loads(Path("run.toml").read_text())["fit"] == {"data": str(chain), "output": "run"}
    assert run("fit", "--config", "run.toml", "-q").exit_code == 0
    assert Path("run/report.html").exists()


def test_every_commented_default_is_accepted(run: Run, chain: Path) -> None:
    """With the # removed the defaults are what they say: the same result."""
    assert run("init", "--data", chain).exit_code == 0
    assert run("fit", "--config", "run.toml", "-q").exit_code == 0
    text = Path("run.toml").read_text().split("[read]")[0].replace('output = "run"', 'output = "again"')
    lines = [line[2:] if re.match(r"# [a-z_-]+ = (?!\.\.\.)", line) else line for line in text.splitlines()]
    Path("all.toml").write_text("\n".join(line for line in lines if not line.startswith("max_evals")))
    done = run("fit", "--config", "all.toml", "-q")
    assert done.exit_code == 0, done.stderr
    assert Result.load("again").score == Result.load("run").score


def test_a_file_is_not_replaced_without_force(run: Run, folder: Path) -> None:
    Path("run.toml").write_text("precious")
    done = run("init")
    assert done.exit_code == 1
    assert "already exists" in done.stderr
    assert Path("run.toml").read_text() == "precious"
    assert run("init", "--force").exit_code == 0


def test_the_command_line_wins(run: Run, chain: Path) -> None:
    Path("run.toml").write_text(
        f'[fit]\ndata = "{chain}"\noutput = "out"\nseed = 5\nscore = "bic-nv"\n'
        '[settings]\norder_patience = 3\n[knowledge]\nforbidden = ["wet -> rain"]\n'
    )
    assert run("fit", "--config", "run.toml", "-q").exit_code == 0
    first = Result.load("out")
    assert (first.seed, first.settings["order_patience"], first.knowledge.forbidden) == (5, 3, (("wet", "rain"),))
    assert run("fit", "--config", "run.toml", "--seed", 7, "--force", "-q").exit_code == 0
    assert Result.load("out").seed == 7


def test_the_recorded_command_does_not_need_the_options_of_the_file(run: Run, chain: Path) -> None:
    Path("run.toml").write_text(f'[fit]\ndata = "{chain}"\noutput = "out"\nseed = 5\nscore = "bic-nv"\n')
    assert run("fit", "--config", "run.toml", "-q").exit_code == 0
    call = Result.load("out").call
    assert "--seed 5" in call
    assert "--score bic-nv" in call
    assert str(chain) in call


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[fit]\nseeed = 3", "did you mean seed?"),
        ("seed = 3", "is outside of any table"),
        ("[other]\na = 1", "unknown table [other]"),
        ("[fit", "is not valid TOML"),
        ('[fit]\nseed = "three"', "seed"),
        ("[settings]\ndropuot = 0.3", "did you mean dropout?"),
        ('[knowledge]\nrequierd = ["a -> b"]', "requierd"),
    ],
)
def test_mistakes_are_named(run: Run, chain: Path, text: str, words: str) -> None:
    Path("run.toml").write_text(text)
    done = run("fit", chain, "--config", "run.toml")
    assert done.exit_code == 2
    assert words in done.stderr


def test_a_missing_file(run: Run, chain: Path) -> None:
    done = run("fit", chain, "--config", "none.toml")
    assert done.exit_code == 2
    assert "cannot be read" in done.stderr
