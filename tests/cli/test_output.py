"""Folders are judged before the work, and files are what their names say."""

from pathlib import Path

import numpy as np
import pytest

from drbo.cli.messages import OutputError
from drbo.cli.output import check_folder, write_table
from drbo.data.read import read_table
from drbo.errors import SettingsError
from drbo.result.result import Result

NUMBERS = np.array([[0.1 + 0.2, -1e-17], [1e22, 3.0], [5.0, 1 / 3]])


def _result() -> Result:
    return Result(
        names=("a",),
        dag=[[0]],
        searched_dag=[[0]],
        score=0.0,
        pruned_score=0.0,
        score_name="bge",
        score_equivalent=True,
        local=[0.0],
        price=[0.0],
    )


def test_a_new_an_empty_and_a_result_folder_are_welcome(folder: Path) -> None:
    check_folder(Path("new/deep"))
    assert not Path("new").exists()  # only looked at
    Path("empty").mkdir()
    check_folder(Path("empty"))
    _result().save("old")
    check_folder(Path("old"))


@pytest.mark.parametrize("content", ["{}", "[]", "{", '{"format": "other"}'])
def test_other_files_are_not_overwritten_without_force(folder: Path, content: str) -> None:
    Path("work").mkdir()
    Path("work/result.json").write_text(content)
    with pytest.raises(SettingsError, match="not empty and holds no drbo result"):
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
