"""Files that are read piece by piece: the same moments from every format, and errors that name file and block."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from drbo.data.files import packed
from drbo.data.reading import lines, parquet_groups
from drbo.data.reading.read import open_source
from drbo.data.reading.source import ReadOptions
from drbo.data.statistics.moments_file import save_moments
from drbo.data.statistics.stream import streamed
from drbo.deadline import Deadline, OutOfTimeError
from drbo.errors import DataError, SettingsError

pytest.importorskip("pyarrow")


@pytest.fixture
def frame(rng):
    x = rng.normal([0, 1e5, 0, 0], size=(3_000, 4))
    x[:, 2] += x[:, 0]
    return pd.DataFrame(x, columns=list("abcd")).assign(d=rng.integers(0, 50, 3_000))


def _written(frame: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        frame.to_parquet(path, row_group_size=700)
    elif path.suffix == ".db":
        with closing(sqlite3.connect(path)) as database:
            frame.to_sql("rows", database, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.tsv", "t.csv.gz", "t.db"])
@pytest.mark.parametrize("block", [2**10, 2**14])
def test_every_format_and_piece_gives_the_same_bits(frame, tmp_path, monkeypatch, name, block):
    monkeypatch.setattr(lines, "BLOCK_BYTES", block)
    found = streamed(open_source(_written(frame, tmp_path / name)), keep_rows=True)
    values = frame.to_numpy(dtype=float)
    assert found.names == tuple("abcd")
    assert np.allclose(found.moments.covariance, np.cov(values.T, bias=True), rtol=1e-12, atol=0)
    assert np.array_equal(found.values, values)
    other = streamed(open_source(_written(frame, tmp_path / "again.parquet")))
    assert np.array_equal(found.sums.products, other.sums.products)


def test_a_folder_is_one_table_whatever_the_order_of_its_columns(frame, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    _written(frame[:1_000], folder / "1.parquet")
    _written(frame[1_000:][["d", "b", "a", "c"]], folder / "2.parquet")
    (folder / "notes.txt").write_text("no table")
    files = open_source(folder)
    assert [part.path.name for part in files.parts()] == ["1.parquet", "2.parquet"]
    found = streamed(files)
    assert np.allclose(found.moments.covariance, np.cov(frame.T.to_numpy(dtype=float), bias=True))
    with pytest.raises(DataError, match="has no Parquet files"):
        open_source(tmp_path)


def test_moments_are_added_to_rows(frame, tmp_path):
    part = tmp_path / "part.npz"
    save_moments(part, streamed(open_source([_written(frame[:500], tmp_path / "a.csv")])).sums)
    found = streamed(open_source([part, _written(frame[500:], tmp_path / "b.parquet")]))
    assert found.n == 3_000
    assert np.allclose(found.moments.covariance, np.cov(frame.T.to_numpy(dtype=float), bias=True))


def test_columns_are_chosen(frame, tmp_path):
    path = _written(frame.assign(city="x"), tmp_path / "t.csv")
    assert streamed(open_source(path, ReadOptions(drop=("city", "a")))).names == ("b", "c", "d")
    assert streamed(open_source(path, ReadOptions(columns=("c", "a")))).names == ("a", "c")
    with pytest.raises(SettingsError, match=r"columns: file .* has no column 'z'"):
        streamed(open_source(path, ReadOptions(columns=["z"])))


def test_missing_cells_are_counted(frame, tmp_path):
    frame.loc[[3, 7], "a"] = np.nan
    for name in ("t.csv", "t.parquet", "t.db"):
        found = streamed(open_source(_written(frame, tmp_path / name))).sums
        assert (found.n, found.dropped, found.missing.tolist()) == (2_998, 2, [2, 0, 0, 0])


@pytest.mark.parametrize("name", ["t.csv", "t.db"])
def test_text_in_a_later_block_is_named_with_its_block(frame, tmp_path, monkeypatch, name):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 2**12)
    broken = frame.astype({"c": object})
    broken.loc[2_500, "c"] = "broken"
    with pytest.raises(
        DataError, match=r"t\.\w+', block \d+ \(rows \d+ to \d+\): column 'c' contains 'broken'"
    ) as info:
        streamed(open_source([_written(broken, tmp_path / name)]))
    first, last = (int(word) for word in info.value.message.split("(rows ")[1].split(")")[0].split(" to "))
    assert first <= 2_500 <= last


def test_text_and_truth_values_in_parquet_are_named(frame, tmp_path):
    for column, words in ((["x"] * 3_000, "string"), ([True] * 3_000, "bool")):
        path = _written(frame.assign(c=column), tmp_path / "t.parquet")
        with pytest.raises(DataError, match=f"column 'c' contains .*{words}, but only numbers"):
            streamed(open_source(path))


def test_infinite_numbers_are_named_with_their_block(frame, tmp_path):
    frame.loc[2_999, "b"] = -np.inf
    with pytest.raises(DataError, match=r"block 1 \(rows 0 to 2999\): column 'b' contains a number of size inf"):
        streamed(open_source(_written(frame, tmp_path / "t.parquet")))


def test_files_with_other_columns_are_named(frame, tmp_path):
    one, two = _written(frame, tmp_path / "1.parquet"), _written(frame.drop(columns="c"), tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"2\.parquet' has no column 'c', but file .*1\.parquet' has it"):
        streamed(open_source([one, two]))
    with pytest.raises(DataError, match=r"2\.parquet' has no column 'c'"):
        streamed(open_source([two, one]))


def test_a_truncated_file_is_named_before_a_row_is_read(frame, tmp_path):
    one, two = _written(frame, tmp_path / "1.parquet"), _written(frame, tmp_path / "2.parquet")
    two.write_bytes(two.read_bytes()[:-500])
    told = []
    with pytest.raises(DataError, match=r"2\.parquet' is not a complete Parquet file"):
        streamed(open_source([one, two]), tell=told.append)
    assert not told


def test_what_came_before_a_bad_number_is_told(frame, tmp_path):
    one = _written(frame, tmp_path / "1.parquet")
    frame.loc[7, "a"] = np.inf
    told = []
    with pytest.raises(DataError, match=r"2\.parquet', block 1 .*contains a number of size inf"):
        streamed(
            open_source([one, _written(frame, tmp_path / "2.parquet")]),
            tell=lambda begun: told.append((begun.sums.n, len(begun.files), begun.sections)),
        )
    assert told == [(3_000, 1, 0)]


def test_a_file_without_rows_adds_nothing(frame, tmp_path):
    one, none = _written(frame, tmp_path / "1.parquet"), _written(frame[:0], tmp_path / "2.parquet")
    assert (
        streamed(open_source([one, none]), keep_rows=True, resamples=2).n
        == streamed(open_source([none, one])).n
        == 3_000
    )


def test_a_pass_goes_on_where_an_earlier_one_ended(frame, tmp_path):
    files = [_written(part, tmp_path / f"{k}.parquet") for k, part in enumerate((frame[:900], frame[900:]))]
    told, source = [], open_source(files)
    whole = streamed(source, tell=told.append)
    files[0].unlink()  # it is not read again
    again = streamed(source, begun=told[0])
    assert np.array_equal(whole.sums.products, again.sums.products)


def test_a_pass_goes_on_within_a_file(frame, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_groups, "RUN_ROWS", 1)
    files = [_written(part, tmp_path / f"{k}.parquet") for k, part in enumerate((frame[:1_500], frame[1_500:]))]
    told = []
    whole = streamed(open_source(files), tell=told.append, resamples=2)
    assert [(len(begun.files), begun.sections) for begun in told] == [(1, 1), (1, 2), (1, 0), (2, 1), (2, 2), (2, 0)]
    for begun in told[:-1]:
        read = []
        again = streamed(open_source(files), begun=begun, tell=read.append, resamples=2)
        assert np.array_equal(whole.sums.products, again.sums.products)
        assert np.array_equal(whole.sums.resamples.products, again.sums.resamples.products)
        assert len(read) == len(told) - 1 - told.index(begun)


@pytest.mark.parametrize("end", [",", ",1", ",1.25"])
def test_text_that_ends_within_a_line_is_refused(frame, tmp_path, monkeypatch, end):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 2**14)
    path = _written(frame, tmp_path / "t.csv")
    whole = path.read_text()
    path.write_text(whole + "1,2,3" + end)
    with pytest.raises(
        DataError, match=r"t\.csv' ends within line 3002: it may have been cut off \(block \d+, after \d+ rows\)"
    ) as info:
        streamed(open_source(path))
    assert int(info.value.message.split("after ")[1].split()[0]) > 2_500
    path.write_text(whole + "1,2,3,4\n\n  ")  # a blank line is none
    assert streamed(open_source(path)).n == 3_001


def test_a_packed_text_that_ends_early_is_named_with_its_block(frame, tmp_path, monkeypatch):
    monkeypatch.setattr(packed, "FREE_BYTES", 0)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 2**14)
    path = _written(frame, tmp_path / "t.csv.gz")
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(DataError, match=r"is not a complete gzip file \(block \d+, after 2\d\d\d rows\)"):
        streamed(open_source(path))


def test_pages_are_checked_against_their_checksums(frame, tmp_path):
    path = tmp_path / "t.parquet"
    frame.to_parquet(path, row_group_size=700, compression="none", use_dictionary=False, write_page_checksum=True)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(DataError, match=r"t\.parquet' is not a complete Parquet file \(block 1, after 0 rows\)"):
        streamed(open_source(path))


def test_a_pass_ends_at_its_deadline(frame, tmp_path):
    for name in ("t.parquet", "t.csv", "t.db"):
        path = _written(frame, tmp_path / name)
        with Deadline(0.0), pytest.raises(OutOfTimeError, match="time limit of 0 s reached"):
            streamed(open_source(path))


def test_what_cannot_be_streamed_is_refused(tmp_path):
    np.save(tmp_path / "t.npy", np.eye(4))
    with pytest.raises(DataError, match="cannot be read piece by piece"):
        streamed(open_source([tmp_path / "t.npy"]))
    with pytest.raises(DataError, match="does not exist"):
        streamed(open_source([tmp_path / "none.parquet"]))


def test_files_with_the_same_rows_are_refused(frame, tmp_path):
    one, two = (_written(frame, tmp_path / name) for name in ("1.parquet", "2.csv"))
    with pytest.raises(DataError, match=r"2\.csv' has the same rows as file .*1\.parquet', so they would count twice"):
        streamed(open_source([one, two]))
    few = [_written(frame[:5], tmp_path / name) for name in ("3.csv", "4.csv")]
    assert streamed(open_source(few)).n == 10  # a handful of rows may well occur twice
