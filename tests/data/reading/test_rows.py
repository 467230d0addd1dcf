import pytest

from drbo.data.reading.rows import cells_as_frame
from drbo.errors import DataError


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "has no table"),
        ([["title"], ["text"]], "has no table"),
        ([["a", "b"]], "column names but no rows"),
        ([["a", "a"], [1, 2]], "'a' is used more than once"),
        ([["a", None, "c"], [1, 2, 3]], "column 2 of 3 has no name"),
        ([[f"c{k}" for k in range(2**14 + 1)], [1] * (2**14 + 1)], "at most 16384"),
    ],
)
def test_what_is_no_table(rows, message):
    with pytest.raises(DataError, match=message):
        cells_as_frame(rows, "sheet", header=True, notes=[])
