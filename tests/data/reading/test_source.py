"""Sources: rows as they are from every kind of file, chosen columns, and sources of one's own."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest

from drbo.data.reading import lines, parquet_groups
from drbo.data.reading.read import open_source
from drbo.data.reading.source import ReadOptions, Schema, Source, frames_of
from drbo.data.statistics.stream import streamed
from drbo.errors import DataError, SettingsError
from tests.data.statistics.test_stream import _written

pytest.importorskip("pyarrow")


@pytest.fixture
def frame(rng):
    words = np.array(["x", "y, z", ""])[rng.integers(3, size=2_000)]
    return pd.DataFrame({"a": rng.normal(size=2_000), "b": rng.integers(9, size=2_000), "c": words})


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.db"])
def test_rows_come_as_they_are(frame, tmp_path, monkeypatch, name):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 2**12)
    monkeypatch.setattr(parquet_groups, "block_rows", lambda _: 300)
    source = open_source(_written(frame, tmp_path / name), ReadOptions(drop=["b"]))
    assert pickle.loads(pickle.dumps(source)) == source
    assert source.schema().names == ("a", "c")
    assert source.frame([]).shape == (2_000, 2)
    parts = list(frames_of(source))
    assert len(parts) > 1 or name == "t.csv.gz"
    whole = pd.concat(parts, ignore_index=True)
    assert list(whole) == ["a", "c"]
    assert np.allclose(whole["a"], frame["a"])
    assert whole["c"].fillna("").tolist() == frame["c"].tolist()


def test_the_size_of_a_source_is_about_that_of_its_numbers(frame, tmp_path):
    assert open_source(_written(frame, tmp_path / "t.parquet")).size() == 8 * frame.size
    path = _written(frame, tmp_path / "t.csv")
    assert open_source(path).size() == path.stat().st_size
    path = _written(frame, tmp_path / "t.csv.gz")
    assert open_source(path).size() == 4 * path.stat().st_size
    assert open_source(tmp_path).size() == math.inf  # a folder


def test_an_empty_table_of_a_database_has_columns(frame, tmp_path):
    source = open_source(_written(frame[:0], tmp_path / "t.db"))
    assert source.schema().names == ("a", "b", "c")
    assert streamed(source).n == 0


def test_an_index_of_pandas_is_a_column_of_a_stream(tmp_path):
    frame = pd.DataFrame({"a": [0.5, 1, 2], "b": pd.array([1, None, 3], dtype="Int64")})
    frame.set_index(pd.Index([7, 9, 8], name="i")).to_parquet(tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet")
    assert source.schema().names == ("a", "b", "i")
    (found,) = frames_of(source)
    pd.testing.assert_frame_equal(found, frame.assign(i=[7, 9, 8]))
    assert streamed(source).names == ("a", "b", "i")


def test_columns_are_chosen_in_the_order_of_the_table(frame, tmp_path):
    path = _written(frame, tmp_path / "t.csv")
    assert list(open_source(path, ReadOptions(columns=["c", "a"])).frame([])) == ["a", "c"]
    assert ReadOptions(columns="a").columns == ("a",)
    for source in (open_source(path, ReadOptions(drop=["A"])), open_source(path, ReadOptions(columns=["A"]))):
        with pytest.raises(
            SettingsError, match=r"(drop|columns): file '.*t\.csv' has no column 'A' \(the columns are a, b, c"
        ):
            source.frame([])


def test_what_is_only_read_whole_says_so(tmp_path):
    np.save(tmp_path / "t.npy", np.eye(3))
    with pytest.raises(DataError, match=r"t\.npy' cannot be read piece by piece \(use Parquet"):
        open_source(tmp_path / "t.npy").schema()
    (tmp_path / "t.csv").write_text("a;b\n1,5;2\n")
    with pytest.raises(SettingsError, match="numbers with a decimal point"):
        list(frames_of(open_source(tmp_path / "t.csv", ReadOptions(decimal=","))))


class Mine(Source):
    """Rows that come from a program."""

    name = "my rows"

    def __init__(self, rows, kind):
        self.rows, self.kind = rows, kind

    def schema(self):
        return Schema(("a", "b"))

    def batches(self, run=None):
        for k in range(0, len(self.rows), 100):
            yield self.kind(self.rows[k : k + 100])


def _frame(rows):
    return pd.DataFrame(rows, columns=["a", "b"])


def _arrow(rows):
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.RecordBatch.from_pandas(_frame(rows), preserve_index=False)


def _polars(rows):
    return pytest.importorskip("polars").DataFrame({"a": rows[:, 0], "b": rows[:, 1]})


@pytest.mark.parametrize("kind", [_frame, _arrow, _polars])
def test_a_source_of_ones_own_is_summed_up(rng, kind):
    rows = rng.normal(size=(730, 2))
    source = Mine(rows, kind)
    assert isinstance(source, Source)
    found = streamed(source, keep_rows=True)
    assert np.array_equal(found.values, rows)
    assert np.allclose(source.frame([]).to_numpy(), rows)
    assert Mine(rows[:0], kind).frame([]).shape == (0, 2)
    rows[650, 1] = np.inf
    with pytest.raises(DataError, match=r"my rows, block 7 \(rows 600 to 699\): column 'b' contains a number of size"):
        streamed(source)
