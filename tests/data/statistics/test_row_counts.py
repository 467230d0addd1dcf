"""Counts of different rows: the same as those of the whole table, whatever the pieces."""

import numpy as np
import pandas as pd
import pytest

from drbo import Design, DrBO
from drbo.data.reading import duck, parquet_groups
from drbo.data.reading.parquet_groups import ParquetSource
from drbo.data.reading.read import open_source
from drbo.data.reading.source import ReadOptions
from drbo.data.statistics import row_counts
from drbo.data.statistics.row_counts import counted, counts_of, is_discrete
from drbo.errors import DataError

WHERE = "file 't.csv'"


@pytest.fixture
def frame(rng):
    a, b = rng.integers(3, size=(2, 2_000))
    c = np.where(rng.random(2_000) < 0.8, (a + b) % 3, rng.integers(3, size=2_000))
    return pd.DataFrame({"a": np.array(["x", "y", "z"])[a], "b": b, "c": c})


@pytest.mark.parametrize("most", [2**24, 40])
def test_pieces_decide_nothing(frame, rng, monkeypatch, most):
    monkeypatch.setattr(row_counts, "MOST_CELLS", max(most, 27 * 4))
    cuts = np.sort(rng.integers(0, 2_000, 20))
    found = counted([frame.iloc[part] for part in np.split(np.arange(2_000), cuts) if len(part)], WHERE)
    expected = frame.value_counts().sort_index()
    assert found.counts.tolist() == expected.tolist()
    assert [tuple(row) for row in found.rows.to_numpy().tolist()] == expected.index.tolist()


@pytest.mark.parametrize("score", ["bdeu", "bic-discrete"])
def test_counts_have_the_answer_of_the_rows(frame, score):
    whole = DrBO(score=score, random_state=0).fit(frame)
    found = counted([frame[:700], frame[700:]], WHERE)
    counts = DrBO(score=score, random_state=0, design=Design(groups=False)).fit(found.rows, sample_weight=found.counts)
    assert counts.score_ == pytest.approx(whole.score_, rel=1e-12)
    assert np.array_equal(counts.result_.cpdag, whole.result_.cpdag)


def test_missing_cells_are_counted(frame):
    frame.loc[:9, "a"] = None
    found = counted([frame], WHERE)
    assert found.counts[found.rows["a"].isna()].sum() == 10


def test_dictionaries_of_several_pieces_are_one(frame):
    some = frame.astype({"a": "category"})
    parts = [
        some[some["a"] == "x"].assign(a=lambda one: one["a"].cat.remove_unused_categories()),
        some[some["a"] != "x"],
    ]
    assert counted(parts, WHERE).counts.sum() == 2_000


def test_what_does_not_fit_is_named(frame, monkeypatch):
    with pytest.raises(DataError, match=r"t\.csv', block 2: column 'b' contains text, but numbers before"):
        counted([frame, frame.assign(b="x")], WHERE)
    with pytest.raises(DataError, match="block 2: column 'c' is not in all blocks"):
        counted([frame, frame.drop(columns="c")], WHERE)
    monkeypatch.setattr(row_counts, "MOST_CELLS", 20)
    with pytest.raises(DataError, match="too many different rows"):
        counted([frame], WHERE)


def test_numbers_with_many_values_are_no_categories(frame, rng):
    assert is_discrete(frame)
    assert is_discrete(frame.assign(d=True))
    assert not is_discrete(frame.assign(d=rng.normal(size=2_000)))


@pytest.fixture
def files(rng, tmp_path):
    for library in ("pyarrow", "duckdb"):
        pytest.importorskip(library)
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
    count = ParquetSource.row_counts
    monkeypatch.setattr(ParquetSource, "row_counts", lambda one: used.append(one.path) or count(one))
    found = counts_of(open_source(files, HOW))
    assert used == files
    monkeypatch.setattr(parquet_groups, "find_spec", lambda _: None)
    plain = counts_of(open_source(files, HOW))
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
