"""Where cells are missing, and what is said about it."""

import numpy as np
import pandas as pd
import pytest

from drbo.data.checks.missing import complete_rows, is_marker, missing_cells, note, refuse, without_markers
from drbo.errors import DataError


@pytest.fixture
def frame():
    return pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0, 5.0], "b": ["x", "y", " ", "x", None], "c": range(5)})


def test_all_kinds_of_holes_are_seen(frame):
    assert missing_cells(frame).astype(int).tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 1, 0]]


def test_blanks_are_holes_whatever_the_type_of_the_column(frame):
    texts = frame["b"].tolist()
    columns = {kind: pd.Series(texts, dtype=kind) for kind in ("object", "string", "category")}
    found = missing_cells(pd.DataFrame(columns).assign(n=frame["a"], t=pd.Timestamp("2026-01-01")))
    assert found.astype(int).tolist() == [[0] * 5, [0, 0, 0, 1, 0], [1, 1, 1, 0, 0], [0] * 5, [1, 1, 1, 0, 0]]


def test_complete_rows(frame):
    with pytest.raises(DataError, match="2 of 5 rows have no missing value") as caught:
        complete_rows(frame)
    assert "column 'b' (2 of 5 rows)" in str(caught.value)
    assert complete_rows(frame[["a", "c"]]).tolist() == [True, False, True, True, True]


def test_a_table_without_holes_passes(frame):
    refuse(frame[["c"]], missing_cells(frame[["c"]]))
    with pytest.raises(DataError, match="Input contains NaN"):
        refuse(frame, missing_cells(frame))


@pytest.mark.parametrize(("policy", "words"), [("drop", "MCAR"), ("em", "MAR"), ("impute", "MAR")])
def test_every_policy_says_what_it_takes_for_granted(frame, policy, words):
    text = note(frame, missing_cells(frame), policy)
    assert words in text
    assert "3 of 5 rows" in text


def test_markers_become_missing_wherever_they_are():
    notes = list[str]()
    frame = pd.DataFrame({
        "self": [1, -9, 3], "x": [1.5, -9.0, np.inf], "text": ["7", "*", " -9 "], "arm": ["a", "*", "b"],
        "mixed": [-9, "a", None], "flag": [True, False, True], "kind": pd.Categorical(["u", "*", "u"]),
    })  # fmt: skip
    found = without_markers(frame, ["*", "-9", "inf"], notes)
    assert found.isna().sum().to_dict() == {"self": 1, "x": 2, "text": 2, "arm": 1, "mixed": 2, "flag": 0, "kind": 1}
    assert found["text"].dtype == float  # what is left are numbers
    assert notes == ["'*' means missing in 3 cells", "'-9' means missing in 4 cells", "'inf' means missing in 1 cells"]
    assert frame["arm"].tolist() == ["a", "*", "b"]
    assert without_markers(frame, [], notes).equals(frame)
    assert is_marker(frame["self"], "-9.0").tolist() == [False, True, False]
