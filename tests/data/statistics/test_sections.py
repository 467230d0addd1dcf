"""Sections of files: cut by the files alone, and summed up to the same bits wherever that happens."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest

from drbo.data.reading import parquet_groups
from drbo.data.reading.read import open_source
from drbo.data.reading.source import ReadOptions
from drbo.data.statistics.sections import SectionSums, sections_of
from drbo.data.statistics.stream import streamed
from drbo.errors import DataError
from tests.data.statistics.test_stream import _written

pytest.importorskip("pyarrow")


@pytest.fixture
def path(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_groups, "RUN_ROWS", 1_000)
    frame = pd.DataFrame(rng.normal(1e4, size=(5_000, 3)), columns=list("abc"))
    return _written(frame, tmp_path / "t.parquet")


def test_sections_are_runs_of_row_groups(path):
    found = sections_of(open_source(path), "abc", "t", {}, n_before=10)
    assert [part.run[:2] for part in found] == [(0, 2), (2, 4), (4, 6), (6, 8)]
    assert [part.start for part in found] == [0, 1_400, 2_800, 4_200]
    assert [part.run.n_rows for part in found] == [1_400, 1_400, 1_400, 800]
    assert [part.n_before for part in found] == [10, 1_410, 2_810, 4_210]
    assert open_source(path, ReadOptions(drop=["b"])).schema().names == ("a", "c")


def test_who_sums_up_a_section_decides_nothing(path):
    def elsewhere(work, arguments):
        """Last section first, by a copy of the function that knows no bound on the keys."""
        copy = pickle.loads(pickle.dumps(work))
        found = {k: pickle.loads(pickle.dumps(copy(arguments[k][0], np.inf))) for k in reversed(range(len(arguments)))}
        return [found[k] for k in range(len(arguments))]

    passed = partial(streamed, open_source(path), keep_rows=True, keep_patterns=True, resamples=4, seed=3)
    here, there = passed(), passed(spread=elsewhere)
    for name in ("n", "shift", "offset", "products"):
        assert np.array_equal(getattr(here.sums, name), getattr(there.sums, name))
    assert np.array_equal(here.values, there.values)
    assert np.array_equal(here.first, there.first)
    assert np.array_equal(here.sums.resamples.products, there.sums.resamples.products)


def test_a_section_says_where_a_bad_number_is(path):
    frame = pd.read_parquet(path)
    frame.loc[4_500, "b"] = -np.inf
    _written(frame, path)
    last = sections_of(open_source(path), "abc", "t", {}, 0)[-1]
    work = SectionSums(tuple("abc"), "t", {}, False, False, 0, 0)
    with pytest.raises(DataError, match=r"block 1 \(rows 4200 to 4999\): column 'b' contains a number of size inf"):
        work(last, np.inf)


def test_incomplete_rows_are_summed_up_by_their_patterns(path):
    frame = pd.read_parquet(path)
    frame.loc[::9, "b"] = np.nan
    frame.loc[::11, "c"] = np.nan
    _written(frame, path)
    parts = streamed(open_source(path), keep_patterns=True).patterns
    assert {part.names: part.n for part in parts} == {
        names: int((frame.notna() == [name in names for name in "abc"]).all(axis=1).sum())
        for names in (("a", "b"), ("a", "c"), ("a",))
    }
