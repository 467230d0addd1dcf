"""The names of parametrized tests."""

from functools import partial

import numpy as np
import pytest

from drbo import DrBO, Knowledge, Settings
from tests.ids import readable


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"n": 0, "kind": "block"}, "n=0, kind=block"),
        (["fit", "table.csv"], "fit table.csv"),
        ({"b", "a", "c"}, "a b c"),
        (b"\xff\x00", "\\\\xff\\\\x00"),
        ("a\nb", "a\\nb"),
        ("x" * 80, "x" * 57 + "..."),
        (np.ones((2, 3)), "array of 2 x 3"),
        (Settings(max_evals=7), "Settings(max_evals=7)"),
        (Knowledge(roots=["a"]), "Knowledge(roots=a)"),
        (DrBO(settings=Settings()), "DrBO"),
        (partial(readable, 1), "readable"),
        (lambda: None, "value"),
        (np.float64, "float64"),
        (object(), "object"),
    ],
    ids=range(14),
)
def test_values_in_words(value, name):
    assert readable(value, "value") == name
