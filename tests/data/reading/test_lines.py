import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drbo.data.files.packed import InputLimit
from drbo.data.reading import lines as cutting
from drbo.data.reading.read import read_table
from drbo.errors import DataError

SMALL = 512


def _read(path, block=None, **options):
    with pytest.MonkeyPatch.context() as patch:
        if block is not None:
            patch.setattr(cutting, "BLOCK_BYTES", block)
        return read_table(path, **options)


@pytest.mark.parametrize("quote", ["", '"'])
def test_the_line_of_a_wrong_cell_count_is_named_in_every_block(tmp_path, quote):
    for place in (1, 57, 299):
        rows = [f"{quote}{k}{quote},{k}" for k in range(300)]
        rows[place] = "1,2,3"
        (tmp_path / "t.csv").write_text("\n".join(["a,b", "", *rows]))
        with pytest.raises(DataError, match=f"line {place + 3}: 3 cells, but the first line has 2"):
            _read(tmp_path / "t.csv", SMALL)


def test_the_place_of_a_wrong_byte_is_named_in_every_block(tmp_path):
    raw = b"\xef\xbb\xbfa,b\n" + "1,é\n".encode() * 300 + b"1,\xe9\n" + b"1,2\n" * 100
    (tmp_path / "t.csv").write_bytes(raw)
    offset = raw.index(b"\xe9\n")
    for block in (SMALL, SMALL + 1, None):
        with pytest.raises(DataError, match=rf"byte 0xe9 at offset {offset} \(line 302\)"):
            _read(tmp_path / "t.csv", block)


def test_a_line_longer_than_a_block(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1," + "9" * 5000 + "\n")
    for quote in ("", '"'):
        (tmp_path / "t.csv").write_text(f"a,b\n1,{quote}" + "x" * 5000 + f"{quote}\n")
        with pytest.raises(DataError, match="line 2 is longer than 512 bytes"):
            _read(tmp_path / "t.csv", SMALL)
    (tmp_path / "t.csv").write_text(" " * 5000)
    with pytest.raises(DataError, match="line 1 is longer than 512 bytes"):
        _read(tmp_path / "t.csv", SMALL)
    (tmp_path / "t.csv").write_text("\n" * 5000 + "a,b\n1,2\n")
    assert len(_read(tmp_path / "t.csv", SMALL)) == 1


def test_too_many_columns_are_refused_at_the_first_line(tmp_path):
    (tmp_path / "t.csv").write_text(",".join(f"c{k}" for k in range(20_000)) + "\n1\n")
    with pytest.raises(DataError, match="has 20000 columns, but at most 16384"):
        read_table(tmp_path / "t.csv")


def test_the_table_is_bounded_by_what_it_takes_in_memory(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 1000)
    size = (tmp_path / "t.csv").stat().st_size
    assert len(read_table(tmp_path / "t.csv", max_input=16_000)) == 1000
    with pytest.raises(DataError, match="needs more than 15999 bytes") as caught:
        read_table(tmp_path / "t.csv", max_input=15_999)
    assert "max_input=..." in caught.value.hint
    with pytest.raises(DataError, match="needs more than"):
        read_table(tmp_path / "t.csv", max_input=size - 1)


def test_a_file_that_grows_is_still_bounded(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 1000)
    with pytest.raises(Exception, match="needs more than 2000 bytes"):
        list(cutting.pieces_of(tmp_path / "t.csv", False, InputLimit.of(2000)))


CELLS = st.sampled_from(["", "1", "2.5", "x", " ", "é", '"q"', '"a,b"', '"a\nb"', "-1e3"])


@given(st.lists(st.lists(CELLS, min_size=1, max_size=3), min_size=1, max_size=30), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=300, deadline=None)
def test_cells_are_counted_as_the_csv_module_counts_them(tmp_path_factory, rows, end):
    raw = end.join(["h,i", *(",".join(row) for row in rows)]).encode()
    records = [
        cells
        for cells in csv.reader(io.StringIO(raw.decode(), newline=""))
        if any(c.strip() for c in cells[:1]) or len(cells) > 1
    ]
    lines = cutting.Lines(tmp_path_factory.getbasetemp(), ",")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "BLOCK_BYTES", 16)
        pieces = (raw[k : k + 7] for k in range(0, len(raw), 7))
        if any(len(cells) != 2 for cells in records):
            with pytest.raises(DataError, match="cells, but the first line has 2"):
                list(lines.blocks(pieces))
            return
        try:
            found = list(lines.blocks(pieces))
        except DataError as error:
            assert "is longer than" in error.message  # noqa: PT017 - a quoted cell beyond two blocks
            return
    assert b"".join(block for block, _ in found).strip() == raw.strip()
    assert sum(count for _, count in found) == len(records)
