"""drbo report, and what drbo fit saves for it."""

import shlex
from collections.abc import Callable
from pathlib import Path

from click.testing import Result as CommandResult

from drbo.result.result import Result

Run = Callable[..., CommandResult]


def test_a_saved_run_becomes_a_report(run: Run, chain: Path) -> None:
    assert run("fit", chain, "-o", "out", "--score", "bic-nv").exit_code == 0
    assert Path("out/report.html").exists()
    done = run("report", "out", "-o", "elsewhere.html")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "wrote elsewhere.html\n"
    assert Path("elsewhere.html").read_bytes() == Path("out/report.html").read_bytes()


def test_the_report_holds_the_exact_command(run: Run, chain: Path) -> None:
    words = [
        "fit",
        str(chain),
        "--score",
        "bic-nv",
        "--forbid",
        "wet->rain",
        "--seed",
        "7",
        "--score-option",
        "penalty=2",
    ]
    words += ["--set", "order_patience=3", "--tiers", "rain;wet,slip,sun"]
    assert run(*words, "-o", "out", "-q").exit_code == 0
    first = Result.load("out")
    again = shlex.split(first.call)
    assert again[0] == "drbo" or again[0].endswith("main")
    assert "-o" not in again
    assert run(*again[1:], "-o", "again").exit_code == 0
    second = Result.load("again")
    assert (second.score, second.seed, second.knowledge) == (first.score, 7, first.knowledge)
    assert second.call == first.call


def test_a_folder_without_a_result_is_refused(run: Run, folder: Path) -> None:
    done = run("report", folder)
    assert done.exit_code == 2
    assert "error:" in done.stderr


def test_a_place_that_cannot_be_written_is_a_failure(run: Run, chain: Path) -> None:
    assert run("fit", chain, "-o", "out", "--score", "bic-nv").exit_code == 0
    done = run("report", "out", "-o", "missing/folder/report.html")
    assert done.exit_code == 1
    assert "cannot be written" in done.stderr
