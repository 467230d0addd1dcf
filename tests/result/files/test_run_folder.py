"""A run sets an older one in its folder aside, and leaves alone what is not of drbo."""

import os

import pytest

from drbo.errors import LockError
from drbo.result.files.run_folder import held, names_in, older_run_aside


@pytest.fixture
def run(tmp_path):
    (tmp_path / "checkpoint").mkdir()
    for name in ("result.json", "checkpoint/state-1.npz", "notes.txt"):
        (tmp_path / name).write_text("old")
    return tmp_path


def _failing(run, content=None):
    with older_run_aside(run):
        names = {path.name for path in run.iterdir()}
        assert {name for name in names if not name.startswith(".replaced-")} == {"notes.txt"}
        assert len(names) == 2
        if content is not None:
            (run / "result.json").write_text(content)
        raise ZeroDivisionError


def test_an_older_run_comes_back_only_if_the_new_one_does_not_start(run):
    with pytest.raises(ZeroDivisionError):
        _failing(run)
    assert (run / "result.json").read_text() == (run / "checkpoint/state-1.npz").read_text() == "old"
    with pytest.raises(ZeroDivisionError):
        _failing(run, "new")
    assert (run / "result.json").read_text() == "new"


def test_one_run_holds_a_folder_and_what_it_set_aside_comes_back(run):
    with held(run):
        with older_run_aside(run):
            pass
        with pytest.raises(LockError), held(run):
            pass
    assert names_in(run) == {"checkpoint", "notes.txt", "result.json"}


def test_locks_and_left_over_files_are_not_counted(tmp_path):
    assert names_in(tmp_path / "none") == set()
    for name in ("drbo.lock", f".{'0' * 16}.tmp", "notes.txt"):
        (tmp_path / name).touch()
    assert names_in(tmp_path) == {"notes.txt"}


@pytest.mark.skipif(os.name == "nt", reason="permissions of Unix")
def test_nobody_else_writes_into_a_folder_of_runs_alone(run):
    for others, expected in (("notes.txt", 0o777), ("", 0o755)):
        run.chmod(0o777)
        if not others:
            (run / "notes.txt").unlink()
        with held(run):
            assert run.stat().st_mode & 0o777 == expected
