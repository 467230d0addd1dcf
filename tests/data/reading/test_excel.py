import pytest

from drbo.data.reading.read import read_table
from drbo.errors import DataError
from tests.data.workbooks import write_xlsx

pytest.importorskip("python_calamine")

ROWS = [["height", "city", "member"], [1.8, "Ulm", True], [1.65, "Bonn", False], [None, "Ulm", True]]


def test_the_first_sheet_or_the_one_asked_for(tmp_path):
    path, notes = tmp_path / "t.xlsx", []
    write_xlsx(path, {"people": ROWS, "other": [["a", "b"], [1, 2], [3, 4]]})
    frame = read_table(path, notes=notes)
    assert notes == ["sheet 'people' of 2"]
    assert frame["city"].tolist() == ["Ulm", "Bonn", "Ulm"]
    assert frame["height"].tolist()[:2] == [1.8, 1.65]
    assert frame["height"].isna().tolist() == [False, False, True]
    assert frame["member"].tolist() == [True, False, True]
    for sheet in ("other", "2"):
        assert read_table(path, sheet=sheet).to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    with pytest.raises(DataError, match="no sheet 'third'") as caught:
        read_table(path, sheet="third")
    assert caught.value.hint == "the sheets are people, other"


def test_titles_empty_rows_errors_and_numbers_as_text(tmp_path):
    path, notes = tmp_path / "t.xlsx", []
    rows = [
        ["Report of 2024", None, None],
        [None] * 3,
        ["price", None, "n"],
        ["1.250,50 €", None, 3],
        ["#N/A", None, 4],
    ]
    write_xlsx(path, {"s": [*rows, [None] * 3, ["7,5 €", None, 5]]})
    frame = read_table(path, notes=notes)
    assert frame["price"].fillna(-1).tolist() == [1250.5, -1, 7.5]
    assert frame["n"].tolist() == [3, 4, 5]
    assert notes[0] == "1 line above the column names ignored"
    assert "decimal comma in 'price'" in notes


def test_no_header(tmp_path):
    write_xlsx(tmp_path / "t.xlsx", {"s": [[1, 2], [3, 4]]})
    assert read_table(tmp_path / "t.xlsx", header=False).to_dict("list") == {"x0": [1, 3], "x1": [2, 4]}


@pytest.mark.parametrize(
    ("sheet", "message"),
    [
        ('<c r="XFD1048576"><v>1</v></c>', "needs more than"),  # calamine would hold 17 billion cells
        ("<c r = 'XFD1048576'><v>1</v></c>", "needs more than"),
        ('<c r="A&#49;"><v>1</v></c>', "has a cell at"),
        ('<c r="A9999999"><v>1</v></c>', "has a cell at"),
    ],
)
def test_a_sheet_that_fills_the_memory_is_refused_before_it_is_read(tmp_path, sheet, message):
    content = f'<worksheet><sheetData><row r="1"><c r="A1"><v>1</v></c>{sheet}</row></sheetData></worksheet>'
    write_xlsx(tmp_path / "t.xlsx", {"s": ROWS}, sheet1=content)
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / "t.xlsx")


def test_a_long_text_in_many_cells_is_refused_before_it_is_copied(tmp_path):
    rows = [["a", "b"], *([["x" * 30_000, "y"]] * 500)]
    write_xlsx(tmp_path / "t.xlsx", {"s": rows})
    with pytest.raises(DataError, match="needs more than 10000000 bytes"):
        read_table(tmp_path / "t.xlsx", max_input=10_000_000)
    assert len(read_table(tmp_path / "t.xlsx")) == 500


def test_parts_in_other_encodings_are_refused(tmp_path):
    write_xlsx(tmp_path / "t.xlsx", {"s": ROWS}, sheet1="a\0b")
    with pytest.raises(DataError, match="not plain text"):
        read_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize("content", [b"", b"PK\3\4 not a workbook", b"\xd0\xcf\x11\xe0 an old one"])
def test_what_is_no_workbook(tmp_path, content):
    (tmp_path / "t.xlsx").write_bytes(content)
    with pytest.raises(DataError, match=r"t\.xlsx"):
        read_table(tmp_path / "t.xlsx")


def test_without_calamine(tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("drbo.data.reading.excel.import_module", missing)
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    with pytest.raises(DataError, match="needs python-calamine") as caught:
        read_table(tmp_path / "t.xlsx")
    assert caught.value.hint == "pip install drbo[excel]"
