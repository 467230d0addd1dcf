"""Folders are judged before the work, and files are what their names say."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from drbo.cli.messages import OutputError
from drbo.cli.output import check_folder, run_folder, write_table
from drbo.data.reading.read import read_table
from drbo.errors import SettingsError
from drbo.result.files.plan import Plan
from drbo.result.result import Result
from tests.results import make_result

NUMBERS = np.array([[0.1 + 0.2, -1e-17], [1e22, 3.0], [5.0, 1 / 3]])


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
    replace(_result(), call="drbo demo").save("old")
    with pytest.raises(
        SettingsError, match=r"a finished run, created by 'drbo demo' on \d{4}-.*: 0 rows, 1 columns, 0 edges"
    ):
        check_folder(Path("old"))
    check_folder(Path("old"), force=True)
    check_folder(Path("old"), again="drbo demo")
    Path("begun").mkdir()
    Plan("drbo fit table.csv", "2025-01-01 12:00:00").save(Path("begun"))
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
        assert found == sorted([*theirs, "drbo.lock", *(f".replaced/{name}" for name in ours)])
    assert not Path("run/.replaced").exists()
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

    def fail(after: str) -> list[str]:
        with suppress(KeyboardInterrupt), run_folder(Path("run"), force=True):
            for name in ("run.json", after):
                Path("run", name).write_text("new")
            raise KeyboardInterrupt
        return sorted(path.read_text() for path in Path("run").rglob("*") if path.is_file())

    assert fail(after="edges.csv") == ["old", "old"]
    assert fail(after="checkpoint/request.json") == ["new", "new"]


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


@pytest.mark.parametrize("name", ["table.csv", "table.npz", "TABLE.CSV"])
def test_a_table_reads_back_to_the_last_bit(folder: Path, name: str) -> None:
    write_table(Path(name), NUMBERS, ["a,b", "µ"])
    frame = read_table(name)
    assert frame.columns.tolist() == ["a,b", "µ"]
    np.testing.assert_array_equal(frame.to_numpy(), NUMBERS)


def test_a_table_to_stdout(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write_table(None, np.array([[0.0, 1.0]]), ["a", "b"], whole=True)
    assert capfdbinary.readouterr().out == b"a,b\n0,1\n"


def test_a_table_that_cannot_be_written(folder: Path) -> None:
    with pytest.raises(SettingsError, match=r"\.csv or \.npz, got 'table.xlsx'"):
        write_table(Path("table.xlsx"), NUMBERS, ["a", "b"])
    with pytest.raises(OutputError, match=r"absent/table\.csv cannot be written"):
        write_table(Path("absent/table.csv"), NUMBERS, ["a", "b"])


def test_a_run_that_was_killed_before_its_search_was_saved_may_be_started_again(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".0123456789abcdef.tmp").write_bytes(b"half of a file")
    check_folder(folder)
    Plan("drbo fit table.csv", "2026-01-01 00:00:00").save(folder)
    check_folder(folder)
    (folder / "checkpoint").mkdir()
    (folder / "checkpoint" / "request.json").write_text("{}")
    with pytest.raises(SettingsError, match="already contains an unfinished run"):
        check_folder(folder)
