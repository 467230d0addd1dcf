"""Where cells are missing, and what is said about it."""

import numpy as np
import pandas as pd
import pytest

from drbo.data.checks.missing import complete_rows, missing_cells, note, refuse
from drbo.errors import DataError


@pytest.fixture
def frame():
    return pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0, 5.0], "b": ["x", "y", " ", "x", None], "c": range(5)})


def test_all_kinds_of_holes_are_seen(frame):
    assert missing_cells(frame).astype(int).tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 1, 0]]


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
