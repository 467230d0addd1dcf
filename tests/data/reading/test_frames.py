import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import sparse

from drbo.data.reading.frames import as_frame, cells_as_frame
from drbo.data.reading.read import read_table
from drbo.errors import DataError

FRAME = pd.DataFrame({"height": [1.8, 1.65, 1.7], "city": ["Ulm", "Bonn", "Ulm"], "count": [3, 1, 2]})


def error_of(call: Callable[[], Any]) -> DataError:
    with pytest.raises(DataError) as caught:
        call()
    return caught.value


def test_frames_of_other_libraries_give_the_same() -> None:
    expected = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["u", "v", "u"], "c": [True, False, True], "d": [1, 2, 3]})
    columns = {name: expected[name].tolist() for name in expected}
    for data in (expected, pl.DataFrame(columns), pa.table(columns), pa.RecordBatch.from_pydict(columns)):
        pd.testing.assert_frame_equal(as_frame(data), expected, check_column_type=False)


def test_polars_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def missing(name: str, *args: Any, **options: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return found(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert as_frame(pl.DataFrame({"a": [1, None], "b": ["x", "y"]}))["a"].isna().tolist() == [False, True]


def test_polars_categories() -> None:
    enum = pl.Enum(["low", "mid", "high"])
    data = pl.DataFrame({"e": pl.Series(["high", "low"], dtype=enum), "c": pl.Series(["1", "2"], dtype=pl.Categorical)})
    frame = as_frame(data)
    assert frame["e"].cat.ordered
    assert frame["e"].cat.categories.tolist() == ["low", "mid", "high"]
    assert not frame["c"].cat.ordered


def test_rows_keep_the_type_of_each_column() -> None:
    frame = as_frame([[1, "a", True], (2.5, "b", False)])
    assert frame.columns.tolist() == ["x0", "x1", "x2"]
    assert frame["x0"].tolist() == [1.0, 2.5]
    assert frame["x2"].dtype == bool
    assert as_frame([np.array([1.0, 2.0]), np.array([3.0, 4.0])]).shape == (2, 2)


def test_object_arrays_of_numbers_become_numbers() -> None:
    frame = as_frame(np.array([[1, 2.5], [3, 4]], dtype=object))
    assert [dtype.kind for dtype in frame.dtypes] == ["i", "f"]


def test_masked_cells_are_missing() -> None:
    masked = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])
    assert as_frame(masked).isna().to_numpy().tolist() == [[False, True], [False, False]]


def test_anything_that_turns_into_an_array() -> None:
    class Wrapped:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return np.eye(2)

    assert (as_frame(Wrapped()).to_numpy() == np.eye(2)).all()


def test_labels_become_strings() -> None:
    assert as_frame(pd.DataFrame([[1, 2]], columns=[0, ("a", 1)])).columns.tolist() == ["0", "('a', 1)"]


def test_row_labels_are_dropped() -> None:
    assert as_frame(pd.DataFrame({"a": [1, 2]}, index=["p", "q"])).index.tolist() == [0, 1]


def test_data_is_left_alone() -> None:
    frame = pd.DataFrame({0: [1, 2], "b": np.array([1, 2], dtype=object)}, index=["p", "q"])
    before = frame.copy(deep=True)
    result = as_frame(frame)
    result.iloc[0, 0] = 99
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (np.arange(3.0), ["Expected 2D array, got 1D array instead", "Reshape your data"]),
        (np.array(3.0), ["Expected 2D array, got scalar array instead"]),
        ([1.0, 2.0], ["Expected 2D array, got 1D array instead"]),
        ([], ["Expected 2D array, got 1D array instead"]),
        (pd.Series([1.0]), ["Expected 2D array, got 1D array instead"]),
        (pl.Series([1.0]), ["Expected 2D array, got 1D array instead"]),
        (np.zeros((2, 2, 2)), ["dim 3", "(2, 2, 2)"]),
        (np.eye(2) * 1j, ["Complex data not supported", "'x0'"]),
        ([[1j, 2.0], [1.0, 2.0]], ["Complex data not supported", "'x0'"]),
        (sparse.csr_matrix(np.eye(3)), ["sparse", "toarray()"]),
        (sparse.coo_array(np.eye(3)), ["sparse"]),
        ([[1, 2], [3]], ["row 1 has 1 cells, but row 0 has 2"]),
        ({"a": [1]}, ["got dict", "pandas"]),
        ("table.csv", ["got str", "read_table(path)"]),
        (None, ["got NoneType"]),
        (pl.LazyFrame({"a": [1]}), ["got LazyFrame"]),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ["column name 'a' is used more than once (columns 1, 2)"]),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), ["column name '1'"]),
        (pd.DataFrame([[1, 2]], columns=["a", " "]), ["column 2 of 2 has no name"]),
        (pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), ["column name 'a'"]),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, list) else None,
)
def test_what_is_no_table(data: Any, parts: list[str]) -> None:
    error = error_of(lambda: as_frame(data))
    assert isinstance(error, ValueError)
    for part in parts:
        assert part in str(error)


def test_names_that_no_file_can_hold(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=np.eye(3), names=np.array(["a", "b\ud800", "c"]))
    error = error_of(lambda: read_table(tmp_path / "t.npz"))
    assert "the name of column 2 is not valid Unicode: 'b\\ud800'" in error.message


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "has no table"),
        ([["title"], ["text"]], "has no table"),
        ([["a", "b"]], "column names but no rows"),
        ([["a", "a"], [1, 2]], "'a' is used more than once"),
        ([["a", None, "c"], [1, 2, 3]], "column 2 of 3 has no name"),
        ([[f"c{k}" for k in range(2**14 + 1)], [1] * (2**14 + 1)], "at most 16384"),
    ],
)
def test_cells_that_are_no_table(rows: list[list[Any]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        cells_as_frame(rows, "sheet", header=True, notes=[])
