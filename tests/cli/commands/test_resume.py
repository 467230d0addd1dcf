import json
import os
import shutil
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from drbo import Result
from drbo.claims.refits import resampling
from drbo.cli import main
from drbo.data.files.lock import locked
from tests.cli.commands.test_fit import INTERRUPTING_SCORE
from tests.cli.conftest import Run
from tests.forked import Forked, forked

OWN = ("--score", "interrupting:Score")
SMALL = ("--max-evals", "12", "--set", "batch_size=3", "--set", "n_candidates=100")


def _course(folder: str) -> list[Any]:
    """Return all that a search did but its seconds."""
    result = Result.load(folder)
    trace = {name: column.tolist() for name, column in result.trace.items() if name != "seconds"}
    return [
        result.dag.tolist(),
        result.score,
        result.search.local.tolist(),
        trace,
        result.stopped,
        result.settings["max_evals"],
    ]


@pytest.fixture
def interrupted(run: Run, chain: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A search that was interrupted; the same one is in 'whole', uninterrupted."""
    monkeypatch.syspath_prepend(".")
    monkeypatch.delitem(sys.modules, "interrupting", raising=False)
    Path("interrupting.py").write_text(INTERRUPTING_SCORE.format(call=8))
    assert run("fit", chain, "--score", "interrupting:Score", "-o", "run", *SMALL).exit_code == 130
    monkeypatch.delitem(sys.modules, "interrupting", raising=False)
    Path("interrupting.py").write_text(INTERRUPTING_SCORE.format(call=10**9))
    assert run("fit", chain, "--score", "interrupting:Score", "-o", "whole", *SMALL).exit_code == 0
    return "run"


def test_a_search_goes_on_as_if_it_had_never_stopped(run: Run, interrupted: str) -> None:
    before = Result.load("run")
    done = run("resume", interrupted, *OWN, "--json")
    assert done.exit_code == 0, done.output
    assert before.stopped == "interrupted"
    assert _course("run") == _course("whole")
    assert json.loads(done.stdout)["n_evals"] > before.n_evals
    assert "evaluations so far" in done.stderr


def test_a_finished_search_is_done_at_once_and_can_be_made_longer(run: Run, interrupted: str) -> None:
    course = _course("whole")
    assert run("resume", "whole", *OWN, "-q").exit_code == 0
    assert _course("whole") == course
    spent = Result.load("whole").n_evals
    assert run("resume", "whole", *OWN, "--max-evals", "4", "-q").exit_code == 0
    assert Result.load("whole").n_evals > spent


def test_the_result_is_made_from_the_checkpoint_alone(run: Run, interrupted: str) -> None:
    Path("moved").mkdir()
    shutil.move("run/checkpoint", "moved/checkpoint")
    assert run("resume", "moved", *OWN, "-q").exit_code == 0
    assert _course("moved") == _course("whole")


@pytest.mark.filterwarnings("default")
def test_a_damaged_state_is_told_once_and_the_one_before_it_is_taken(run: Run, interrupted: str) -> None:
    course = _course("whole")
    folder = Path("whole/checkpoint")
    state = folder / json.loads((folder / "checkpoint.json").read_text())["state"]
    state.write_bytes(state.read_bytes()[:-1])
    done = run("resume", "whole", *OWN)
    assert done.exit_code == 0, done.output
    assert done.stderr.count("does not match the checksum in checkpoint.json") == 1
    assert "the search continues from the previous checkpoint" in done.stderr
    assert _course("whole") == course


def test_no_code_is_loaded_because_a_saved_search_names_it(
    run: Run, interrupted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "interrupting", raising=False)
    Path("interrupting.py").write_text("open('sprung', 'w').close()")
    Path("other.py").write_text("class Score:\n    pass\n")
    done = run("resume", interrupted)
    assert done.exit_code == 2
    assert "names the score 'interrupting:Score', but drbo does not load code that only a file names" in done.stderr
    assert "add --score interrupting:Score" in done.stderr
    for other in ("bge", "other:Score"):
        done = run("resume", interrupted, "--score", other)
        assert (done.exit_code, f"'interrupting:Score', but '{other}' was given" in done.stderr) == (2, True)
    assert not Path("sprung").exists()


def test_what_cannot_be_resumed_is_told(run: Run, chain: Path) -> None:
    done = run("resume", "nothing")
    assert done.exit_code == 2
    assert "does not contain a saved search" in done.stderr
    assert "drbo fit -o" in done.stderr


def test_a_run_that_is_not_finished_is_not_replaced_unseen(run: Run, interrupted: str, chain: Path) -> None:
    Path("fresh").mkdir()
    shutil.copytree("run/checkpoint", "fresh/checkpoint")
    done = run("fit", chain, "-o", "fresh", "-q", *SMALL)
    assert done.exit_code == 2
    assert "folder 'fresh' already contains an unfinished run" in done.stderr
    assert "drbo resume fresh" in done.stderr
    shutil.copy("run/run.json", "fresh")
    done = run("fit", chain, "-o", "fresh", "-q", *SMALL)
    assert f"started by 'drbo fit {chain} --score interrupting:Score" in done.stderr
    assert run("fit", chain, "-o", "fresh", "--force", "-q", *SMALL).exit_code == 0
    assert Result.load("fresh").score_name == "bic-nv"
    assert "interrupting" not in Path("fresh/checkpoint/checkpoint.json").read_text()


def _killed(place: str, *words: Any) -> None:
    """Run a command that is killed when it comes to a place."""

    def command() -> None:
        module, _, name = place.rpartition(".")
        setattr(import_module(module), name, lambda *_arguments, **_options: os.kill(os.getpid(), signal.SIGKILL))
        main([str(word) for word in words], prog_name="drbo")

    done = forked(command)
    assert done.code == -signal.SIGKILL, done.err


@pytest.mark.filterwarnings("default")  # the lock is taken over
def test_a_run_that_is_killed_in_its_first_second_starts_again(run: Run, chain: Path) -> None:
    words = ("fit", chain, "--score", "bge", "--seed", 3, "--require", "rain->wet", "-q")
    assert run(*words, "-o", "whole").exit_code == 0
    _killed("drbo.problem.build_score", *words, "-o", "run")
    assert Path("run/checkpoint/table.npz").stat().st_mode & 0o077 == 0
    done = run("resume", "run")
    assert done.exit_code == 0, done.output
    assert "200 rows, 4 columns, 0 evaluations so far" in done.stderr
    assert _course("run") == _course("whole")
    assert "--require 'rain->wet'" in Result.load("run").call
    assert not list(Path("run").rglob("drbo.lock"))


@pytest.mark.filterwarnings("default")  # the lock is taken over
@pytest.mark.parametrize(
    ("place", "extra"),
    [
        ("drbo.refitting.bootstrap", ("--bootstrap", "subsample:6")),
        ("drbo.cli.commands.fit.finish", ("--bootstrap", "cluster=group:6", "--weights", "times")),
    ],
)
def test_resamples_go_on_after_a_kill(run: Run, chain: Path, place: str, extra: tuple[str, ...]) -> None:
    lines = chain.read_text().splitlines()
    if "--weights" in extra:
        lines = [f"{lines[0]},group,times", *(f"{line},g{k % 40},{k % 3}" for k, line in enumerate(lines[1:]))]
        chain.write_text("\n".join(lines))
    words = ("fit", chain, "--score", "bic-nv", *extra, "-q")
    assert run(*words, "-o", "whole").exit_code == 0
    whole = Result.load("whole")
    _killed(place, *words, "-o", "run", "--force")
    assert Result.load("run").confidence is None
    kept = Path("run/resamples.json")
    assert kept.exists() == (place == "drbo.cli.commands.fit.finish")
    if kept.exists():  # half of the resamples are there
        content = json.loads(kept.read_text())
        kept.write_text(json.dumps(content | {"graphs": content["graphs"][:3]}))
    done = run("resume", "run", "--json", "-q")
    assert done.exit_code == 0, done.output
    found = Result.load("run")
    assert found.confidence is not None
    assert whole.confidence is not None
    assert (found.confidence.n, found.confidence.kind) == (6, whole.confidence.kind)
    assert (found.confidence.directed == whole.confidence.directed).all()
    assert json.loads(kept.read_text()) == json.loads(Path("whole/resamples.json").read_text())
    assert found.call.partition(" ")[2] == whole.call.partition(" ")[2]  # the program has another name
    assert "link_frequency" in json.loads(done.stdout)["edges"][0]


def test_finished_resamples_are_taken_not_made_again(run: Run, chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("fit", chain, "--score", "bic-nv", "--bootstrap", 4, "-o", "run", "-q").exit_code == 0
    monkeypatch.setattr("drbo.claims.refits.refit.TableRefit.__call__", lambda *_arguments: pytest.fail("made again"))
    assert run("resume", "run", "-q").exit_code == 0
    found = Result.load("run").confidence
    assert found is not None
    assert found.n == 4


def test_a_finished_run_gets_resamples_and_then_more(run: Run, chain: Path) -> None:
    words = ("fit", chain, "--score", "bic-nv", "-q")
    assert run(*words, "-o", "run").exit_code == 0
    for count in (3, 6):
        assert run("resume", "run", "--bootstrap", count, "-q").exit_code == 0
        found = Result.load("run")
        assert found.confidence is not None
        assert (found.confidence.n, found.call.count(f"--bootstrap {count}")) == (count, 1)
    assert run(*words, "-o", "whole", "--bootstrap", 6).exit_code == 0
    whole = Result.load("whole").confidence
    assert whole is not None
    assert found.confidence is not None
    assert (found.confidence.directed == whole.directed).all()
    assert json.loads(Path("run/run.json").read_text())["resamples"] == 6


def test_a_run_of_several_searches_says_how_to_start_it_again(run: Run, chain: Path) -> None:
    assert run("fit", chain, "--score", "bic-nv", "--set", "seeds=2", "-o", "run", "-q").exit_code == 0
    done = run("resume", "run")
    assert done.exit_code == 2
    assert "consists of several searches, which are not saved" in done.stderr
    assert f"start the run again: drbo fit {chain} --score bic-nv --set seeds=2 -o run --force" in done.stderr


def test_two_do_not_write_into_one_run(run: Run, chain: Path, interrupted: str) -> None:
    with locked(Path("run")):
        for words in (("resume", "run", *OWN), ("fit", chain, "-o", "run", "--force", *SMALL)):
            done = run(*words)
            assert done.exit_code == 2
            assert "run is in use by this process" in done.stderr
    assert run("resume", "run", *OWN, "-q").exit_code == 0


@pytest.mark.filterwarnings("default")
def test_the_lock_of_a_killed_run_is_taken_over_in_words(run: Run, chain: Path) -> None:
    _killed("drbo.problem.build_score", "fit", chain, "-o", "run", "-q")
    assert Path("run/drbo.lock").exists()
    done = run("resume", "run")
    assert done.exit_code == 0, done.output
    assert "warning: run was locked by process" in done.stderr
    assert done.stderr.count("which has ended: the lock was taken over") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_releases_the_lock_and_the_resamples_go_on(run: Run, chain: Path, number: int) -> None:
    words = ["fit", str(chain), "--score", "bic-nv", "-o", "run", "-q", "--bootstrap", "100000"]

    def command() -> None:
        resampling.SAVE_SECONDS = 0.1  # so that it takes no 5 s
        main(words, prog_name="drbo")

    process = Forked(command)
    deadline = time.monotonic() + 120
    while not Path("run/resamples.json").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert Path("run/drbo.lock").exists()
    assert process.end(number).code in (0, 130)
    assert not list(Path("run").rglob("drbo.lock"))
    done = len(json.loads(Path("run/resamples.json").read_text())["graphs"])
    plan = json.loads(Path("run/run.json").read_text())
    Path("run/run.json").write_text(json.dumps(plan | {"resamples": done + 2}))
    assert run("resume", "run", "-q").exit_code == 0
    found = Result.load("run").confidence
    assert found is not None
    assert found.n == done + 2
