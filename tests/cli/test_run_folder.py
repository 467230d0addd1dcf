"""Folders of runs are judged before the work, hold one run at a time, and never lead out of themselves."""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from drbo.cli.messages import OutputError
from drbo.cli.run_folder import check_folder, run_folder
from drbo.errors import SettingsError
from drbo.result.files.plan import Plan
from drbo.result.files.run_folder import held
from drbo.result.result import Result
from tests.results import make_result


def _result() -> Result:
    return make_result([[0]])


def test_a_new_and_an_empty_folder_are_welcome(folder: Path) -> None:
    check_folder(Path("new/deep"))
    assert not Path("new").exists()  # only looked at
    Path("empty").mkdir()
    check_folder(Path("empty"))
    Path("empty/drbo.lock").touch()
    check_folder(Path("empty"))


def test_a_run_is_named_and_replaced_only_by_force_or_by_itself(folder: Path) -> None:
    replace(_result(), argv=("drbo", "demo")).save("old")
    with pytest.raises(
        SettingsError, match=r"a finished run, created by 'drbo demo' on \d{4}-.*: 0 rows, 1 columns, 0 edges"
    ):
        check_folder(Path("old"))
    check_folder(Path("old"), force=True)
    check_folder(Path("old"), again=("drbo", "demo"))
    Path("begun").mkdir()
    Plan(("drbo", "fit", "table.csv"), "2025-01-01 12:00:00").save(Path("begun"))
    Path("begun/checkpoint").mkdir()
    Path("begun/checkpoint/request.json").write_text("{}")
    with pytest.raises(SettingsError, match=r"unfinished run, started by 'drbo fit table.csv' on 2025-01-01") as caught:
        check_folder(Path("begun"))
    assert "drbo resume begun" in (caught.value.hint or "")


def test_what_drbo_did_not_write_stays(folder: Path) -> None:
    Path("run/checkpoint").mkdir(parents=True)
    Path("elsewhere").mkdir()
    ours = ["result.json", "edges.csv", "run.json", "checkpoint/request.json", "checkpoint/state-1.npz"]
    theirs = ["notes.txt", "result.txt", "checkpoint/notes.txt", "checkpoint/state.npz"]
    for name in (*ours, *theirs):
        Path("run", name).touch()
    with run_folder(Path("run"), force=True):
        found = sorted(str(path.relative_to("run")) for path in Path("run").rglob("*") if path.is_file())
        aside = next(Path("run").glob(".replaced-*")).name
        assert found == sorted([*theirs, "drbo.lock", *(f"{aside}/{name}" for name in ours)])
        Path("run/result.json").touch()
    assert not list(Path("run").glob(".replaced-*"))
    Path("elsewhere/request.json").touch()
    Path("linked").mkdir()
    Path("linked/checkpoint").symlink_to(Path("elsewhere").resolve())
    with run_folder(Path("linked"), force=True):
        assert Path("elsewhere/request.json").exists()
        assert not Path("linked/checkpoint").exists()


def test_a_run_comes_back_if_the_new_one_fails_before_it_starts(folder: Path) -> None:
    Path("run/checkpoint").mkdir(parents=True)
    for name in ("result.json", "checkpoint/table.npz"):
        Path("run", name).write_text("old")
        Path("run/notes.txt").write_text("mine")

    def fail(after: str) -> list[str]:
        with suppress(KeyboardInterrupt), run_folder(Path("run"), force=True):
            for name in ("run.json", after):
                Path("run", name).parent.mkdir(exist_ok=True)
                Path("run", name).write_text("new")
            raise KeyboardInterrupt
        return sorted(path.read_text() for path in Path("run").rglob("*") if path.is_file())

    assert fail(after="edges.csv") == ["mine", "old", "old"]
    assert fail(after="checkpoint/request.json") == ["mine", "new", "new"]


def test_a_folder_in_which_nothing_was_written_is_removed(folder: Path) -> None:
    with pytest.raises(ValueError, match="no"), run_folder(Path("new"), force=False):
        raise ValueError("no")
    assert not Path("new").exists()


@pytest.mark.parametrize("content", ["{}", "[]", "{", '{"format": "other"}'])
def test_other_files_are_not_overwritten_without_force(folder: Path, content: str) -> None:
    Path("work").mkdir()
    Path("work/result.json").write_text(content)
    with pytest.raises(SettingsError, match="not empty and does not contain a drbo result"):
        check_folder(Path("work"))
    check_folder(Path("work"), force=True)


def test_a_file_is_no_folder(folder: Path) -> None:
    Path("note.txt").write_text("")
    with pytest.raises(SettingsError, match=r"'note.txt' is a file"):
        check_folder(Path("note.txt"), force=True)
    with pytest.raises(OutputError, match="cannot be written"):
        check_folder(Path("note.txt/deep"))


def test_a_run_that_was_killed_before_its_search_was_saved_may_be_started_again(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".0123456789abcdef.tmp").write_bytes(b"half of a file")
    check_folder(folder)
    Plan(("drbo", "fit", "table.csv"), "2026-01-01 00:00:00").save(folder)
    check_folder(folder)
    (folder / "checkpoint").mkdir()
    (folder / "checkpoint" / "request.json").write_text("{}")
    with pytest.raises(SettingsError, match="already contains an unfinished run"):
        check_folder(folder)


def test_an_older_run_is_set_aside_in_a_folder_that_nobody_prepared(folder: Path) -> None:
    """A folder made by someone else: its plan looks like a run, and its links lead into another folder."""
    Path("victim/checkpoint").mkdir(parents=True)
    ours = ("result.json", "edges.csv", "checkpoint/table.npz")
    for name in ours:
        Path("victim", name).write_text("mine")
    Path("run").mkdir()
    Plan(("drbo", "fit", "table.csv"), "2026-01-01 00:00:00").save(Path("run"))
    for name, target in ((".replaced", "victim"), (".replaced-0123456789abcdef", "victim"), ("graph.svg", "victim/x")):
        Path("run", name).symlink_to(Path("..", target))
    with pytest.raises(SettingsError, match="is not empty and does not contain a drbo result"):
        check_folder(Path("run"))
    with run_folder(Path("run"), force=True):
        for name in ("result.json", "edges.csv"):
            Path("run", name).write_text("new")
    assert [Path("victim", name).read_text() for name in ours] == ["mine"] * 3
    assert not Path("victim/x").exists()
    assert Path("run/.replaced").is_symlink()


@pytest.mark.parametrize("name", ["checkpoint", "result.json"])
def test_a_run_with_a_link_is_no_run(folder: Path, name: str) -> None:
    Path("victim/checkpoint").mkdir(parents=True)
    _result().save("victim")
    Path("run").mkdir()
    Plan(("drbo", "fit", "table.csv"), "2026-01-01 00:00:00").save(Path("run"))
    Path("run", name).symlink_to(Path("../victim", name))
    with pytest.raises(SettingsError, match="does not contain a drbo result"):
        check_folder(Path("run"))


def test_a_plan_beside_other_files_is_no_run(folder: Path) -> None:
    Path("work").mkdir()
    Plan(("drbo", "fit", "table.csv"), "2026-01-01 00:00:00").save(Path("work"))
    check_folder(Path("work"))
    Path("work/edges.csv").write_text("mine")
    with pytest.raises(SettingsError, match=r"does not contain a drbo result: edges.csv, run.json"):
        check_folder(Path("work"))


def test_a_run_that_a_killed_one_had_set_aside_comes_back(folder: Path) -> None:
    for place, text in (("run", "half"), ("run/.replaced-0123456789abcdef", "old")):
        Path(place, "checkpoint").mkdir(parents=True)
        Path(place, "edges.csv").write_text(text)
        Path(place, "checkpoint/table.npz").write_text(text)
    Path("run/.replaced-0123456789abcdef/result.json").write_text("old")
    Path("run/checkpoint/.0123456789abcdef.tmp").write_text("half")
    with held(Path("run")):
        found = {str(path.relative_to("run")): path.read_text() for path in Path("run").rglob("*") if path.is_file()}
    found.pop("drbo.lock")
    assert found == dict.fromkeys(["result.json", "edges.csv", "checkpoint/table.npz"], "old")
    Path("run/.replaced-0123456789abcdef").mkdir()
    Path("run/.replaced-0123456789abcdef/edges.csv").write_text("older")
    with held(Path("run")):  # with a result, the new one had started
        assert Path("run/edges.csv").read_text() == "old"
    assert not Path("run/.replaced-0123456789abcdef").exists()


@pytest.mark.skipif(os.name == "nt", reason="permissions of Unix")
def test_a_run_is_for_its_owner_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        with run_folder(Path("run"), force=False):
            _result().save("run")
            modes = [path.stat().st_mode & 0o077 for path in (Path("run"), *Path("run").iterdir())]
        assert set(modes) == {0}
    finally:
        os.umask(before)


def test_the_folder_of_another_user_takes_force(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("theirs").mkdir()
    monkeypatch.setattr("drbo.cli.run_folder.other_owner", lambda path: "mallory" if path.name == "theirs" else "")
    with pytest.raises(SettingsError, match="'theirs' belongs to another user \\(mallory\\)"):
        check_folder(Path("theirs"))
    check_folder(Path("theirs"), force=True)
    check_folder(Path("mine"))
