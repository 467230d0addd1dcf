import csv
import gzip
import io
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drbo.data import text
from drbo.data.packed import InputLimit
from drbo.data.read import read_table
from drbo.errors import DataError

SMALL = 512


def _read(path, block=None, **options):
    with pytest.MonkeyPatch.context() as patch:
        if block is not None:
            patch.setattr(text, "BLOCK_BYTES", block)
        return read_table(path, **options)


def _same(path, block=SMALL, **options):
    """Read in one block and in many: the same frame, with the same types."""
    whole = _read(path, **options)
    pd.testing.assert_frame_equal(_read(path, block, **options), whole)
    return whole


def test_many_blocks_give_the_frame_of_one(tmp_path, rng):
    frame = pd.DataFrame(
        {
            "whole": rng.integers(-5, 5, 400),
            "part": rng.normal(size=400),
            "word": rng.choice(["yes", "no", "é"], 400),
            "truth": rng.random(400) < 0.5,
            "holes": np.where(rng.random(400) < 0.2, np.nan, rng.normal(size=400)),
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = _same(tmp_path / "t.csv")
    pd.testing.assert_frame_equal(found, frame.astype({"word": found["word"].dtype}))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    pd.testing.assert_frame_equal(_same(tmp_path / "t.csv.gz"), found)


def test_numbers_are_joined_column_by_column_in_the_order_of_the_file(tmp_path, rng):
    values = rng.normal(size=(300, 3))
    path = tmp_path / "t.csv"
    pd.DataFrame(values, columns=["a", "b", "c"]).to_csv(path, index=False)
    found = _read(path, SMALL).to_numpy()
    assert found.flags.f_contiguous
    assert found.tolist() == values.tolist()


def test_a_column_that_changes_its_kind_late_is_what_one_block_makes_of_it(tmp_path):
    rows = [f"{k},{k},1,{'True' if k % 2 else 'False'},{k}" for k in range(300)]
    rows[250] = "250,2.5,01x,NA,"
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,d,e", *rows, ""]))
    found = _same(tmp_path / "t.csv")
    assert found.dtypes.map(lambda kind: kind.kind).tolist()[:2] == ["i", "f"]
    assert found["c"][:2].tolist() == ["1", "1"]
    assert found["c"][250] == "01x"
    assert found["d"][:2].tolist() == [False, True]
    assert found["e"].isna().sum() == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_of_all_systems(tmp_path, end, last):
    rows = [f"{k},{k + 0.5}" for k in range(200)]
    rows.insert(100, "")
    rows.insert(150, "   ")
    (tmp_path / "t.csv").write_bytes((end.join(["a,b", *rows]) + end * last).encode())
    for block in (SMALL, SMALL + 1, SMALL + 2):
        assert len(_same(tmp_path / "t.csv", block)) == 200


def test_lines_within_quotes_may_cross_blocks(tmp_path):
    cells = ['"a\nb"', '"a\r\nb;"";"', '"c"', "d"]
    rows = [f"{k};{cell}" for k, cell in zip(range(300), itertools.cycle(cells), strict=False)]
    (tmp_path / "t.csv").write_bytes(("\n".join(["n;word", *rows]) + "\n").encode())
    for block in range(SMALL, SMALL + 20):
        found = _same(tmp_path / "t.csv", block)
        assert found["word"][:4].tolist() == ["a\nb", 'a\r\nb;";', "c", "d"]
        assert len(found) == 300


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


def test_a_character_may_cross_blocks(tmp_path):
    (tmp_path / "t.csv").write_text("é,ü\n" + "ä,ö\n" * 500)
    for block in range(SMALL, SMALL + 4):
        assert _same(tmp_path / "t.csv", block).columns.tolist() == ["é", "ü"]


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
        list(text._pieces(tmp_path / "t.csv", False, InputLimit.of(2000)))


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
    lines = text._Lines(tmp_path_factory.getbasetemp(), None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK_BYTES", 16)
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
