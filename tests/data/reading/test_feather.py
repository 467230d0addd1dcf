import numpy as np
import pandas as pd
import pytest

from drbo.data.files.packed import FREE_BYTES
from drbo.data.reading.read import read_table
from drbo.errors import DataError

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")


@pytest.mark.parametrize("codec", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("name", ["t.feather", "t.arrow"])
def test_tables_come_back(tmp_path, rng, codec, name):
    frame = pd.DataFrame(
        {"a": rng.normal(size=500), "b": rng.choice(["x", "yy"], 500), "c": pd.Categorical(rng.choice(["u", "v"], 500))}
    )
    feather.write_feather(frame, tmp_path / name, compression=codec, chunksize=100)
    pd.testing.assert_frame_equal(
        read_table(tmp_path / name), frame.astype({"b": read_table(tmp_path / name)["b"].dtype})
    )


def test_a_table_of_zeros_that_fills_the_memory(tmp_path):
    path = tmp_path / "t.feather"
    feather.write_feather(pa.table({"a": np.zeros(FREE_BYTES // 4)}), path, compression="zstd", chunksize=2**21)
    with pytest.raises(DataError, match="over 100 times its size"):
        read_table(path)
    feather.write_feather(pa.table({"a": pa.nulls(2**30)}), path, chunksize=2**30)
    with pytest.raises(DataError, match="needs more than"):
        read_table(path)


def test_cells_that_are_lists(tmp_path):
    feather.write_feather(pa.table({"a": [[1], [2, 3]], "b": [1, 2]}), tmp_path / "t.feather")
    with pytest.raises(DataError, match="column 'a' contains list"):
        read_table(tmp_path / "t.feather")


def test_damaged_files_are_refused(tmp_path, rng):
    path = tmp_path / "t.feather"
    feather.write_feather(pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"]), path, compression="lz4")
    raw = path.read_bytes()
    for cut in (0, 5, 12, len(raw) // 2, len(raw) - 3):
        path.write_bytes(raw[:cut])
        with pytest.raises(DataError, match=r"t\.feather"):
            read_table(path)
    for place in range(len(raw) - 300, len(raw), 7):  # the footer
        path.write_bytes(raw[:place] + b"\xff" + raw[place + 1 :])
        try:
            assert read_table(path).shape == (50, 2)
        except DataError as error:
            assert "t.feather" in error.message  # noqa: PT017 - either is right
    path.write_bytes(b"FEA1" + raw)
    with pytest.raises(DataError, match="version 1"):
        read_table(path)


def test_without_pyarrow(tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("drbo.data.reading.parquet.import_module", missing)
    (tmp_path / "t.feather").write_bytes(b"ARROW1")
    with pytest.raises(DataError, match="needs pyarrow"):
        read_table(tmp_path / "t.feather")
