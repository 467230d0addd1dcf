import io

import numpy as np
import pandas as pd
import pytest

from drbo.data.files.packed import FREE_BYTES, InputLimit
from drbo.data.reading import parquet
from drbo.data.reading.parquet import read_parquet
from drbo.data.reading.read import read_table
from drbo.errors import DataError, ResultError

pyarrow = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def _varint(number):
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def _zigzag(number):
    return _varint(number << 1)


def test_tables_come_back_from_every_kind_of_page(tmp_path, rng):
    frame = pd.DataFrame(
        {"a": rng.normal(size=5000), "b": rng.integers(0, 9, 5000), "c": rng.choice(["x", "yy"], 5000)}
    )
    table, path = pyarrow.Table.from_pandas(frame), tmp_path / "t.parquet"
    for codec in ("none", "snappy", "gzip", "zstd", "lz4", "brotli"):
        for version, dictionary in (("1.0", True), ("2.0", False)):
            pq.write_table(
                table, path, compression=codec, data_page_version=version, use_dictionary=dictionary,
                row_group_size=1500, data_page_size=2000,
            )  # fmt: skip
            pd.testing.assert_frame_equal(read_table(path), frame.astype({"c": read_table(path)["c"].dtype}))


def test_the_headers_of_pages_tell_what_they_unpack_to(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pyarrow.table({"a": np.zeros(10_000)}), path, compression="gzip", use_dictionary=False)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    with path.open("rb") as stream:
        unpacked, packed, length = parquet._page_sizes(stream, chunk.data_page_offset)
    assert packed + length == chunk.total_compressed_size
    assert unpacked + length == chunk.total_uncompressed_size
    assert unpacked >= 80_000


def test_a_table_of_zeros_that_fills_the_memory(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pyarrow.table({"a": np.zeros(FREE_BYTES // 4)}), path, compression="zstd")
    with pytest.raises(DataError, match="over 100 times its size"):
        read_table(path)
    assert len(read_table(path, max_input=3 * FREE_BYTES)) == FREE_BYTES // 4


def test_texts_are_counted_written_out(tmp_path):
    path = tmp_path / "t.parquet"
    for kind in (pyarrow.string(), pyarrow.binary()):
        pq.write_table(pyarrow.table({"a": pyarrow.array(["x" * 10_000] * 10_000, kind), "b": range(10_000)}), path)
        assert path.stat().st_size < 10**5
        with pytest.raises(DataError, match="over 100 times its size"):
            read_table(path)


def test_a_page_that_claims_more_than_the_footer_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pyarrow.table({"a": np.zeros(1000)}), path, compression="zstd", use_dictionary=False)
    raw = path.read_bytes()
    (chunk,) = parquet.chunks_of(parquet.footer_of(io.BytesIO(raw), len(raw), "t"), "t")
    start = pq.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    assert chunk == (0, 0, 1000, start, pq.ParquetFile(path).metadata.row_group(0).column(0).total_compressed_size)
    claimed = _zigzag(parquet._page_sizes(io.BytesIO(raw), start)[0])
    forged = io.BytesIO(raw[:start] + raw[start:].replace(claimed, _zigzag(2**31 - 1), 1))
    parquet.check_pages(io.BytesIO(raw), [chunk], len(raw), InputLimit(), "t")
    with pytest.raises(ResultError, match="over 100 times its size"):
        parquet.check_pages(forged, [chunk], len(raw), InputLimit(), "t")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x15",
        b"\x15\x00\x15" + b"\xff" * 20,
        b"\x18" + _varint(2**40),
        b"\x1c" * 100,
        b"\x19\xf1" + _varint(2**40),
        b"\x1e",
        b"\x15\x00\x00",
    ],
)
def test_headers_that_are_none(raw):
    with pytest.raises(OSError, match=r"."):
        parquet._page_sizes(io.BytesIO(raw), 0)


def test_columns_of_lists_are_refused_by_name(tmp_path):
    pq.write_table(pyarrow.table({"a": [1, 2, 3], "l": [[1], [2], [3]]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"column 'l' contains list<.*only numbers and text are allowed"):
        read_table(tmp_path / "t.parquet")


def test_a_footer_beyond_measure(tmp_path):
    with (tmp_path / "t.parquet").open("wb") as stream:
        stream.seek(2**30)  # takes no room on the disk
        stream.write((2**30 - 100).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ResultError, match="footer of more than"):
        read_parquet(tmp_path / "t.parquet", [], InputLimit())


def test_chunks_of_several_row_groups(tmp_path, rng):
    path = tmp_path / "t.parquet"
    columns = {"a": rng.normal(size=1000), "b": rng.choice(["x", "y"], 1000), "c": rng.integers(0, 9, 1000)}
    pq.write_table(pyarrow.table(columns), path, row_group_size=300, write_statistics=True)
    metadata = pq.ParquetFile(path).metadata
    expected = [metadata.row_group(i).column(j) for i in range(4) for j in range(3)]
    with path.open("rb") as stream:
        found = list(parquet.chunks_of(parquet.footer_of(stream, path.stat().st_size, "t"), "t"))
    assert [chunk.column for chunk in found] == [0, 1, 2] * 4
    assert [chunk.n_cells for chunk in found] == [chunk.num_values for chunk in expected]
    assert [chunk.size for chunk in found] == [chunk.total_compressed_size for chunk in expected]
    starts = [chunk.dictionary_page_offset or chunk.data_page_offset for chunk in expected]
    assert [chunk.start for chunk in found] == starts


@pytest.mark.parametrize(("kind", "item"), [(1, b"\1"), (5, b"\0"), (9, b"\3"), (12, b"\0")])
def test_a_footer_of_countless_values_is_refused_in_time(tmp_path, monkeypatch, kind, item):
    monkeypatch.setattr(parquet, "MAX_VALUES", 1000)
    path, count = tmp_path / "t.parquet", 1001
    for ways in (b"\x19", b"\x49\x1c\x19"):  # a list that nobody asked for; the columns of a row group
        footer = ways + bytes([0xF0 | kind]) + _varint(count) + item * count + b"\0\0"
        path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
        with pytest.raises(DataError, match="not a complete Parquet file"):
            parquet.n_cells(path)
