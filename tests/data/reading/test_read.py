import gzip
import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drbo.data.reading.read import KINDS, read_table
from drbo.data.reading.source import FileSource
from drbo.errors import DataError, SettingsError

FRAME = pd.DataFrame({"height": [1.8, 1.65, 1.7], "city": ["Ulm", "Bonn", "Ulm"], "count": [3, 1, 2]})


def error_of(call: Callable[[], Any]) -> DataError:
    with pytest.raises(DataError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize(
    ("name", "separator"),
    [
        ("t.csv", ","),
        ("t.csv", ";"),
        ("t.tsv", "\t"),
        ("t.txt", "\t"),
        ("t.txt", ";"),
        ("T.CSV", ","),
        ("t.csv.gz", ","),
    ],
)
def test_text_files(tmp_path: Path, name: str, separator: str) -> None:
    text = FRAME.to_csv(index=False, sep=separator)
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    pd.testing.assert_frame_equal(read_table(path), FRAME)
    pd.testing.assert_frame_equal(read_table(str(path), separator=separator), FRAME)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffa,b\n1,2\n3,4\n",
        "\n\na,b\n1,2\n\n   \n3,4\n\n",
        "a,b\r\n1,2\r\n3,4\r\n",
        " a , b\n1,2\n3,4",
        '"a","b"\n"1",2\n3,4\n',
    ],
    ids=["byte order mark", "blank lines", "Windows line ends", "spaces around names", "quotes"],
)
def test_harmless_oddities_of_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    assert read_table(path).to_dict("list") == {"a": [1, 3], "b": [2, 4]}


def test_quoted_cells_may_hold_separators_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('"a, b",c\n"x\ny",1\n"u,v",2\n')
    assert read_table(path).to_dict("list") == {"a, b": ["x\ny", "u,v"], "c": [1, 2]}


def test_no_header(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,2\n3,4\n")
    assert read_table(path, header=False).to_dict("list") == {"x0": [1, 3], "x1": [2, 4]}


def test_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;2,5\n3,5;4,5\n")
    assert read_table(path).to_dict("list") == {"a": [1.5, 3.5], "b": [2.5, 4.5]}
    with pytest.raises(SettingsError, match="decimal must be"):
        read_table(path, decimal="x")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "npy"])
def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    path, frame = tmp_path / f"t.{kind}", FRAME[["height", "count"]]
    if kind == "parquet":
        frame.to_parquet(path)
    elif kind == "npy":
        np.save(path, frame.to_numpy())
    else:
        frame.to_csv(path, index=False)
    with path.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert read_table("-").to_numpy().tolist() == frame.to_numpy().tolist()


def test_bad_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1\n")
    for limit, message in ((None, "standard input, line 2: 1 cells"), (3, "standard input needs more than 3 bytes")):
        with (tmp_path / "t.csv").open() as stream:
            monkeypatch.setattr("sys.stdin", stream)
            assert message in error_of(lambda limit=limit: read_table("-", max_input=limit)).message
    monkeypatch.setattr("sys.stdin", None)
    assert "no table on standard input" in error_of(lambda: read_table("-")).message


@settings(deadline=None, max_examples=30)
@given(
    values=st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**9), 10**9)),
        min_size=1,
        max_size=8,
    )
)
def test_numbers_come_back_exactly(tmp_path_factory: pytest.TempPathFactory, values: list[tuple[float, int]]) -> None:
    path = tmp_path_factory.mktemp("numbers") / "t.csv"
    path.write_text("a,b\n" + "".join(f"{a!r},{b}\n" for a, b in values))
    frame = read_table(path)
    assert list(zip(frame["a"], frame["b"], strict=True)) == values


def test_missing_cells_stay_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,\nNA,4\n5,6\n")
    assert read_table(path).isna().to_numpy().tolist() == [[False, True], [True, False], [False, False]]


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        (b"", "is empty", "at least 3 rows"),
        (b"  \n\n", "is empty", "at least 3 rows"),
        (b"a,b\n", "column names but no rows", "3 rows"),
        ("a,é\n1,2\n".encode() + b"\xff,4\n", "byte 0xff at offset 9 (line 3)", "cp1252"),
        (b"a,b\n1,2\n3\n", "line 3: 1 cells, but the first line has 2", "same number of cells"),
        (b"a,b\n\n1,2,3\n", "line 3: 3 cells", "same number of cells"),
        (b"a,b,a\n1,2,3\n", "column name 'a' is used more than once (columns 1, 3)", "a unique name"),
        (b"a, a\n1,2\n", "column name 'a'", "a unique name"),
        (b"1,2\n3,4\n", "contains only numbers: 1, 2", "header=False"),
        (b"1.5e3;-2\n3;4\n", "contains only numbers: 1.5e3, -2", "header=False"),
        (b"a,b,\n1,2,\n", "column 3 of 3 has no name", "index=False"),
        (b"a:b\n1:2\n", "only one column, 'a:b'", "separator=..."),
        (b'a,b\n1,"2\n3,4\n', "cannot be read as a table", "quotes"),
        (b'a,b\n"' + b"x" * 200_000 + b'",2\n', "line 2: field larger than field limit", "quotes"),
    ],
)
def test_bad_text_files(tmp_path: Path, content: bytes, message: str, hint: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    error = error_of(lambda: read_table(path))
    assert message in error.message
    assert str(path) in error.message
    assert hint in str(error.hint)


@pytest.mark.parametrize("cut", [3, 15, 30])
def test_damaged_gzip(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n3,4\n5,6\n")[:cut])
    assert "not a complete gzip file" in error_of(lambda: read_table(path)).message


def test_every_kind_of_file_has_a_class_of_its_own() -> None:
    for kind in KINDS:
        module, _, name = kind.reader.partition(":")
        reader = getattr(importlib.import_module(module), name)
        assert issubclass(reader, FileSource)
        assert reader._read is not FileSource._read
    endings = [ending for kind in KINDS for ending in kind.endings]
    assert len(endings) == len(set(endings))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    assert "does not exist" in error_of(lambda: read_table(tmp_path / "none.csv")).message
    assert "is a directory" in error_of(lambda: read_table(tmp_path)).message


@pytest.mark.parametrize("name", ["t.xls", "t", "t.npz.gz", "t.parquet.gz", "t.pkl"])
def test_unknown_suffix(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    error = error_of(lambda: read_table(tmp_path / name))
    assert f"{name}' has an unknown extension" in error.message
    assert ".parquet" in error.message


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")

    def refuse(self: Path, mode: str) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert "Permission denied" in error_of(lambda: read_table(path)).message


def test_separator_is_one_character(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a||b\n1||2\n")
    with pytest.raises(SettingsError, match="separator must be one ASCII character"):
        read_table(path, separator="||")


@pytest.mark.parametrize("name", ["t.parquet", "t.pq"])
def test_parquet(tmp_path: Path, name: str) -> None:
    FRAME.to_parquet(tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), FRAME)


def test_parquet_index_is_no_column(tmp_path: Path) -> None:
    FRAME.set_index("city").to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").columns.tolist() == ["height", "count"]


def test_damaged_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    FRAME.to_parquet(path)
    path.write_bytes(path.read_bytes()[:-30])
    assert "not a complete Parquet file" in error_of(lambda: read_table(path)).message


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    found = importlib.import_module

    def missing(name: str, package: str | None = None) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return found(name, package)

    monkeypatch.setattr("drbo.data.reading.parquet.import_module", missing)
    error = error_of(lambda: read_table(tmp_path / "t.parquet"))
    assert "needs pyarrow" in error.message
    assert error.hint == "pip install drbo[parquet]"


def test_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.arange(6.0).reshape(3, 2))
    assert read_table(tmp_path / "t.npy").to_dict("list") == {"x0": [0, 2, 4], "x1": [1, 3, 5]}


def test_npz_takes_x_and_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=np.eye(3), W=np.ones((2, 2)), names=np.array(["a", "b", "c"]))
    assert read_table(tmp_path / "t.npz").columns.tolist() == ["a", "b", "c"]
    np.savez(tmp_path / "u.npz", values=np.eye(3), names=np.array([b"a", b"b", b"c"]), noise=np.ones(3))
    frame = read_table(tmp_path / "u.npz")
    assert frame.columns.tolist() == ["a", "b", "c"]
    assert (frame.to_numpy() == np.eye(3)).all()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"A": np.eye(2), "B": np.eye(2)}, "2 arrays that could be the table; it contains A, B"),
        ({"a": np.ones(3)}, "0 arrays that could be the table; it contains a"),
        ({}, "it contains nothing"),
        ({"X": np.eye(3), "names": np.array(["a", "b"])}, "2 names for 3 columns"),
        ({"X": np.eye(2), "names": np.array(["a", "a"])}, "column name 'a'"),
        ({"X": np.ones(3)}, "Expected 2D array, got 1D array instead"),
        ({"X": np.ones((3, 2, 2))}, "dim 3"),
        ({"X": np.array([[{}]], dtype=object)}, "pickled"),
    ],
)
def test_bad_npz(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    np.savez(tmp_path / "t.npz", **arrays)
    assert message in error_of(lambda: read_table(tmp_path / "t.npz")).message


def test_pickles_are_never_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    np.save(tmp_path / "t.npy", np.array([[Trap()]], dtype=object), allow_pickle=True)
    error = error_of(lambda: read_table(tmp_path / "t.npy"))
    assert "pickled Python objects" in error.message
    assert "numpy.savez" in str(error.hint)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["t.npy", "t.npz"])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
def test_damaged_arrays(tmp_path: Path, name: str, share: float) -> None:
    path = tmp_path / name
    np.savez(path, X=np.eye(30)) if name == "t.npz" else np.save(path, np.eye(30))
    raw = path.read_bytes()
    path.write_bytes(raw[: int(share * len(raw))])
    assert "damaged" in error_of(lambda: read_table(path)).message


def test_header_that_promises_too_much(tmp_path: Path) -> None:
    path = tmp_path / "t.npy"
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (10**8, 10**8)})
    error = error_of(lambda: read_table(path))
    assert "must have at most 4294967296 bytes, got (100000000, 100000000)" in error.message
    assert "max_input=..." in (error.hint or "")
