"""Counts by DuckDB: the same rows and counts as without it."""

import sys

import numpy as np
import pandas as pd
import pytest

from drbo.data.reading import duck
from drbo.data.reading.read import open_source
from drbo.data.reading.source import ReadOptions
from drbo.data.statistics import grouped
from drbo.data.statistics.grouped import counts_of
from drbo.errors import DataError

pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")


@pytest.fixture
def files(rng, tmp_path):
    n = 5_000
    frame = pd.DataFrame({
        "Text": rng.choice(["low", "ä 'x'", ""], n),
        "text": rng.choice(["a", None], n),
        "number": rng.choice([0.0, -0.0, 2.5, np.nan], n),
        "truth": rng.random(n) < 0.5,
        "small": rng.integers(3, size=n).astype(np.int8),
        "kind": pd.Categorical(rng.choice(["u", "v"], n)),
        "left out": np.arange(n),
    })  # fmt: skip
    paths = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    frame[:3_000].to_parquet(paths[0], row_group_size=700)
    frame[3_000:][frame.columns[::-1]].to_parquet(paths[1])
    return paths


HOW = ReadOptions(drop=["left out"])


def test_rows_and_counts_are_the_same_without_duckdb(files, monkeypatch):
    used = []
    group = grouped._grouped
    monkeypatch.setattr(grouped, "_grouped", lambda *given: used.append(given[0].path) or group(*given))
    found = counts_of(open_source(files, HOW))
    assert used == files
    monkeypatch.setitem(sys.modules, "duckdb", None)
    plain = counts_of(open_source(files, HOW))
    assert used == files
    assert found.counts.tolist() == plain.counts.tolist()
    assert found.counts.sum() == 5_000
    pd.testing.assert_frame_equal(found.rows, plain.rows)


def test_what_duckdb_cannot_do_is_done_without_it(files, monkeypatch):
    monkeypatch.setitem(duck.CONFIG, "memory_limit", "100kB")
    assert counts_of(open_source(files, HOW)).counts.sum() == 5_000


def test_a_bad_file_is_named(files):
    pd.read_parquet(files[0]).to_parquet(files[1], compression="none", write_page_checksum=True)
    raw = bytearray(files[1].read_bytes())
    raw[raw.index(b"low")] ^= 1
    files[1].write_bytes(raw)
    with pytest.raises(DataError, match=r"2\.parquet' is not a complete Parquet file \(block 1, after 0 rows\)"):
        counts_of(open_source(files, HOW))
    pd.DataFrame({"Text": ["x"]}).to_parquet(files[1])
    with pytest.raises(DataError, match="column 'kind' is not in all blocks"):
        counts_of(open_source(files))
