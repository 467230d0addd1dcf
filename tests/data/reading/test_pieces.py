"""Long tables in pieces: their files, their size, and their rows as they are."""

import numpy as np
import pandas as pd
import pytest

from drbo.data.reading import lines, parquet_groups, pieces
from drbo.data.reading.pieces import Reading, frames_of, is_too_large, named
from drbo.errors import DataError
from tests.data.statistics.test_stream import _written

pytest.importorskip("pyarrow")


@pytest.fixture
def frame(rng):
    words = np.array(["x", "y, z", ""])[rng.integers(3, size=2_000)]
    return pd.DataFrame({"a": rng.normal(size=2_000), "b": rng.integers(9, size=2_000), "c": words})


def test_the_size_of_a_table_decides_by_a_formula(frame, tmp_path):
    path = _written(frame, tmp_path / "t.parquet")
    needed = pieces.COPIES * 8 * frame.size / 2**30
    assert is_too_large(path, 0.99 * needed)
    assert not is_too_large(path, 1.01 * needed)
    text = _written(frame, tmp_path / "t.csv")
    assert is_too_large(text, 0.99 * pieces.COPIES * text.stat().st_size / 2**30)
    assert not is_too_large(tmp_path / "none.csv", 1.0)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.db"])
def test_rows_come_as_they_are(frame, tmp_path, monkeypatch, name):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 2**12)
    monkeypatch.setattr(parquet_groups, "block_rows", lambda _: 300)
    path = _written(frame, tmp_path / name)
    parts = list(frames_of(path, Reading(drop=("b",))))
    assert len(parts) > 1 or name == "t.csv.gz"
    whole = pd.concat(parts, ignore_index=True)
    assert list(whole) == ["a", "c"]
    assert np.allclose(whole["a"], frame["a"])
    assert whole["c"].fillna("").tolist() == frame["c"].tolist()


def test_names_say_what_a_file_is(frame, tmp_path):
    path = _written(frame, tmp_path / "t.db")
    assert named(path)[1:] == ("", ".db", False)
    assert named(tmp_path / "t.db::rows")[1:] == ("rows", ".db", False)
    for name in ("none.csv", "none.db::rows"):
        with pytest.raises(DataError, match="does not exist"):
            named(tmp_path / name)
    (tmp_path / "t.parquet.gz").touch()
    with pytest.raises(DataError, match="cannot be read piece by piece"):
        named(tmp_path / "t.parquet.gz")
