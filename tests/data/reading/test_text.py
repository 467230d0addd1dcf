import gzip
import itertools

import numpy as np
import pandas as pd
import pytest

from drbo.data.reading import lines as cutting
from drbo.data.reading.read import read_table

SMALL = 512


def _read(path, block=None, **options):
    with pytest.MonkeyPatch.context() as patch:
        if block is not None:
            patch.setattr(cutting, "BLOCK_BYTES", block)
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


def test_a_character_may_cross_blocks(tmp_path):
    (tmp_path / "t.csv").write_text("é,ü\n" + "ä,ö\n" * 500)
    for block in range(SMALL, SMALL + 4):
        assert _same(tmp_path / "t.csv", block).columns.tolist() == ["é", "ü"]
