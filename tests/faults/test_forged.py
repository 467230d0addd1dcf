"""A forged saved search runs no code: it is refused in words, or the search goes on and ends within its limits."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from drbo import DrBO
from drbo.errors import CheckpointError
from drbo.search.checkpoint import files as checkpoint
from tests.faults import attack
from tests.forked import forked

ROOT = Path(__file__).parents[2]
CASES = int(os.environ.get("DRBO_FORGED_CASES", "84"))  # each forgery of three kinds of searches
CODE = "open('canary', 'w').close()"


def _python(*words: str) -> str:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_forged_checkpoints_run_no_code():
    done = forked(lambda: print(json.dumps(attack.run(CASES, seed=7))))  # an audit hook stays for ever
    assert done.code == 0, done.err
    outcome = json.loads(done.out)
    assert outcome["cases"] == CASES
    assert outcome["escapes"] == 0
    assert 0 < outcome["went_on"] < CASES / 2
    assert outcome["slowest"] < 10
    assert outcome["megabytes"] < 1000


WATCHED = """
import builtins, os, pickle, subprocess, tempfile
from tests.faults.attack import Watch
from tests.faults.forge import Canary

raw = pickle.dumps(Canary())
with tempfile.TemporaryDirectory() as folder:
    watch = Watch()
    for number, act in enumerate([
        lambda: builtins.exec("1"), lambda: eval("1"), lambda: os.system("true"), lambda: pickle.loads(raw),
        lambda: subprocess.run(["true"]), lambda: __import__("this_is_not_there"), lambda: open(folder + "/b", "w"),
        lambda: open(folder + "/a/c", "w"), lambda: open(__file__),
    ]):
        os.makedirs(folder + "/a", exist_ok=True)
        watch.folder, watch.seen, watch.armed = folder + "/a", [], True
        try:
            act()
        except (ImportError, NameError):
            pass
        watch.armed = False
        print(int(bool(watch.seen)), end="")
"""


def test_the_watch_sees_code_that_runs():
    assert _python("-c", WATCHED) == "111111100"


def _forge_version_1(folder: Path) -> None:
    """Forge a search as version 1 saved it: evaluate(propose()) becomes exec(the name of a column)."""
    columns = {CODE: np.arange(9.0) ** 2, f"{CODE} ": np.arange(9.0) % 4}
    DrBO(score="bge", max_evals=8, random_state=0, prune="none").fit(pd.DataFrame(columns), checkpoint=folder)
    content = json.loads((folder / "checkpoint.json").read_text())
    nodes = [
        {
            "object": "drbo.search.checkpoint.saver:Course",
            "items": {"state": {"r": 1}, "recorder": {"r": 2}, "limits": {"r": 3}},
        },
        {"object": "drbo.search.loop:Search", "items": {"iteration": 0, **METHODS}},
        *({"given": [part]} for part in ("recorder", "limits")),
        {"given": ["state", "evaluate", "__func__", "__globals__", "__builtins__", "exec"]},
        {"given": ["state", "evaluator", "score", "names", 0, "strip"]},
        {"given": ["state", "evaluator"]},
    ]
    np.savez(folder / "state-0.npz", skeleton=np.frombuffer(json.dumps(nodes).encode(), dtype=np.uint8))
    digest = hashlib.sha256((folder / "state-0.npz").read_bytes()).hexdigest()
    content |= {"version": 1, "state": "state-0.npz", "sha256": digest}
    content["checksum"] = checkpoint._checksum(content)
    (folder / "checkpoint.json").write_text(json.dumps(content))
    (folder / "checkpoint.previous.json").unlink()


METHODS = {"evaluate": {"r": 4}, "propose": {"r": 5}, "evaluator": {"r": 6}}


def test_a_search_that_version_1_would_have_run_as_code_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _forge_version_1(tmp_path / "run")
    with pytest.raises(CheckpointError, match=r"saved by an earlier version of drbo.*finish it with that version"):
        DrBO.resume(tmp_path / "run")
    assert not Path("canary").exists()
