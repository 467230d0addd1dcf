import pandas as pd
import pytest

from drbo.data.reading.number_text import numbers_from_text, written_numbers
from drbo.data.reading.read import read_table


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1,5", "-2,25"], [1.5, -2.25]),
        (["1.234,5", "7"], [1234.5, 7]),
        (["1,234.5", "7"], [1234.5, 7]),
        (["1 234,5", "1\u202f000"], [1234.5, 1000]),
        (["12'500.25", "3"], [12500.25, 3]),
        (["$1,250", "-$3", "$ -4"], [1250, -3, -4]),
        (["1,5 €", "EUR 2"], [1.5, 2]),
        (["45%", "7 %"], [45, 7]),
        (["\u22123,5", "1"], [-3.5, 1]),
        (["0,125", "0,250"], [0.125, 0.25]),  # no thousand begins with 0
        (["1,5e3", "2"], [1500, 2]),
    ],
)
def test_numbers_in_many_spellings(texts, values):
    found = written_numbers(texts)
    assert [found.values[text] for text in texts] == values


@pytest.mark.parametrize(
    "texts", [["a"], ["1,5", "x"], ["2024-01-01"], ["12.05.2020"], ["1,2,3"], ["?"], ["--1"], ["1" * 80], ["$"]]
)
def test_texts_that_are_no_numbers(texts):
    assert written_numbers(texts) is None


def test_what_could_be_both_follows_the_other_numbers(tmp_path):
    path, notes = tmp_path / "t.csv", []
    path.write_text("a;b;c\n1,5;1.250;2.5\n2,5;3.000;0.1\n")
    frame = read_table(path, notes=notes)
    assert frame.to_dict("list") == {"a": [1.5, 2.5], "b": [1250, 3000], "c": [2.5, 0.1]}
    assert notes == ["separator ';'", "decimal comma in 'a'", "thousands marks in 'b'"]
    path.write_text('a,b\n"1,250",1.5\n"3,000",2.5\n')
    assert read_table(path)["a"].tolist() == [1250, 3000]
    assert read_table(path, decimal=",")["a"].tolist() == [1.25, 3]
    path.write_text("a;b\n1,250;1\n3,000;2\n")
    assert read_table(path)["a"].tolist() == [1.25, 3]
    assert read_table(path, decimal=".")["a"].tolist() == [1250, 3000]


def test_words_for_a_missing_value():
    notes = []
    frame = pd.DataFrame(
        {"age": ["31,5", "?", None, "-", " "], "word": ["?", "a", "b", "-", "c"], "n": [1, "2", 3, 4, 5]}
    )
    found = numbers_from_text(frame, notes)
    assert found["age"].isna().tolist() == [False, True, True, True, True]
    assert found["word"].tolist() == frame["word"].tolist()
    assert found["n"].tolist() == frame["n"].tolist()
    assert notes == ["decimal comma in 'age'", "'-' means missing in 'age'", "'?' means missing in 'age'"]


def test_many_columns_are_named_shortly():
    notes = []
    numbers_from_text(pd.DataFrame({f"c{k}": ["1,5", "2,5"] for k in range(5)}), notes)
    assert notes == ["decimal comma in 'c0', 'c1', 'c2' and 2 more"]
