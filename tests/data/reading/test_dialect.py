import pytest
from hypothesis import given
from hypothesis import strategies as st

from drbo.data.reading.dialect import as_utf8, checked_encoding, encoding_of, separator_of, single_spaced
from drbo.data.reading.read import read_table
from drbo.errors import DataError, SettingsError

TEXT = "Größe,Preis €\n1.5,2\n3.5,4\n2.5,9\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings_are_detected(tmp_path, encoding):
    path, notes = tmp_path / "t.csv", []
    path.write_bytes(TEXT.encode(encoding))
    assert read_table(path, notes=notes).to_dict("list") == {"Größe": [1.5, 3.5, 2.5], "Preis €": [2, 4, 9]}
    assert notes == ([] if encoding.startswith("utf-8") else [f"{encoding} encoding"])


def test_an_encoding_may_be_given(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("ц,b\n1,2\n3,4\n".encode("koi8-r"))
    assert read_table(path, encoding="KOI8-R").columns.tolist() == ["ц", "b"]
    with pytest.raises(DataError, match="is not utf-16 text"):
        read_table(path, encoding="utf-16")
    with pytest.raises(DataError, match="is not UTF-8 text"):
        read_table(path, encoding="utf-8")
    for wrong in ("klingon", "rot13", "idna", "a\0b"):
        with pytest.raises(SettingsError, match="unknown encoding"):
            read_table(path, encoding=wrong)


def test_bytes_that_are_no_text_are_not_taken_for_cp1252(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,\xff\x81\n")
    with pytest.raises(DataError, match="byte 0xff at offset 6"):
        read_table(tmp_path / "t.csv")


def test_a_character_may_cross_pieces():
    raw = TEXT.encode("utf-16")
    for size in (1, 3, 7):
        pieces = (raw[k : k + size] for k in range(0, len(raw), size))
        assert b"".join(as_utf8(pieces, "utf-16", "t")).decode() == TEXT
    assert encoding_of(b"") == "utf-8"
    assert checked_encoding("latin-1") == "iso8859-1"


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a, m;b\n1,5;2\n", ";"),
        ("a\tb\n1 2\t3\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ("a  b\n 1   2\n20   3\n", " "),
        ('a,b\n"x;y",1\n"z",2\n', ","),
        ("a,b;c\n1,2\n", ","),  # one line is too short either way
        ("one\n1\n", ","),
    ],
)
def test_separators_are_detected(text, mark):
    assert separator_of(text) == mark


def test_columns_aligned_by_spaces(tmp_path):
    (tmp_path / "t.txt").write_text("   a      b\n 1.5     2\n  10  -3e2  \n\n")
    assert read_table(tmp_path / "t.txt").to_dict("list") == {"a": [1.5, 10.0], "b": [2.0, -300.0]}


@given(st.lists(st.text(" \tab\n", max_size=6).map(str.encode), max_size=6))
def test_pieces_do_not_change_the_spacing(pieces):
    whole = b"".join(single_spaced(iter([b"".join(pieces)])))
    assert b"".join(single_spaced(iter(pieces))).rstrip() == whole.rstrip()
    assert b"  " not in whole
