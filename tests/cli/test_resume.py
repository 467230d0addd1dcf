import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from drbo import Result
from tests.cli.conftest import Run
from tests.cli.test_fit import INTERRUPTING_SCORE

OWN = ("--score", "interrupting:Score")
SMALL = ("--max-evals", "12", "--set", "batch_size=3", "--set", "n_candidates=100")


def _course(folder: str) -> list[Any]:
    """Return all that a search did but its seconds."""
    result = Result.load(folder)
    trace = {name: column.tolist() for name, column in result.trace_columns.items() if name != "seconds"}
    return [
        result.dag.tolist(),
        result.score,
        result.local.tolist(),
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
    assert "the search goes on from the state before that one" in done.stderr
    assert _course("whole") == course


def test_no_code_is_loaded_because_a_saved_search_names_it(
    run: Run, interrupted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "interrupting", raising=False)
    Path("interrupting.py").write_text("open('sprung', 'w').close()")
    Path("other.py").write_text("class Score:\n    pass\n")
    done = run("resume", interrupted)
    assert done.exit_code == 2
    assert "names the score 'interrupting:Score', and no code is loaded because a file names it" in done.stderr
    assert "add --score interrupting:Score" in done.stderr
    for other in ("bge", "other:Score"):
        done = run("resume", interrupted, "--score", other)
        assert (done.exit_code, f"'interrupting:Score', got '{other}'" in done.stderr) == (2, True)
    assert not Path("sprung").exists()


def test_what_cannot_be_resumed_is_told(run: Run, chain: Path) -> None:
    done = run("resume", "nothing")
    assert done.exit_code == 2
    assert "holds no saved search" in done.stderr
    assert "drbo fit -o" in done.stderr


def test_a_new_search_may_take_the_folder_of_one_without_a_result(run: Run, interrupted: str, chain: Path) -> None:
    Path("fresh").mkdir()
    shutil.copytree("run/checkpoint", "fresh/checkpoint")
    assert run("fit", chain, "-o", "fresh", "-q", *SMALL).exit_code == 0
