"""Runs of row groups: all rows, in order, and pages that unpack to too much are found before they are read."""

import numpy as np
import pandas as pd
import pytest

from drbo.data.reading import parquet_groups
from drbo.data.reading.parquet_groups import batches_of, runs_of, schema_of
from drbo.errors import DataError, ResultError

pytest.importorskip("pyarrow")


@pytest.fixture
def path(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_groups, "RUN_ROWS", 500)
    frame = pd.DataFrame({"a": np.arange(2_000), "b": rng.normal(size=2_000), "c": ["x", "y"] * 1_000})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=300)
    return tmp_path / "t.parquet"


def test_runs_have_all_rows_in_order(path):
    runs = runs_of(path)
    assert [run.n_rows for run in runs] == [600, 600, 600, 200]
    assert schema_of(path).names == ["a", "b", "c"]
    rows = [batch.column("a").to_numpy() for run in runs for batch in batches_of(path, ["a"], run)]
    assert np.array_equal(np.concatenate(rows), np.arange(2_000))


def test_pages_are_looked_at_before_they_are_read(path, monkeypatch):
    run = runs_of(path)[1]
    looked = []
    monkeypatch.setattr(parquet_groups, "check_pages", lambda stream, chunks, *_: looked.extend(chunks))
    assert next(batches_of(path, ["c", "a"], run)).num_rows == 600
    assert {(chunk.group, chunk.column) for chunk in looked} == {(g, c) for g in (2, 3) for c in (0, 2)}


def test_a_bomb_in_a_later_run_is_refused_when_it_comes(path, monkeypatch):
    monkeypatch.setattr(parquet_groups, "NO_LIMIT", parquet_groups.InputLimit(100, 1.0))
    with pytest.raises(ResultError, match="needs more than"):
        next(batches_of(path, ["a"], runs_of(path)[2]))


def test_a_file_that_ends_early_is_named(path):
    path.write_bytes(path.read_bytes()[:-300])
    for call in (schema_of, runs_of):
        with pytest.raises(DataError, match=r"t\.parquet' is not a complete Parquet file"):
            call(path)
