"""The kind of a column, and columns that are refused."""

import datetime
import pickle
import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from drbo.data.checks.check import check_table
from drbo.data.checks.columns import CellTypeError
from drbo.errors import DataError
from tests.data.frames import GOOD, RNG, N, checked, numbers, refused

# What is accepted


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "int64", "int8", "uint64", "Int64", "Float64", "int64[pyarrow]"]
)
def test_numbers_are_numeric(dtype: str) -> None:
    assert checked(pd.Series([3, 1, 4, 1, 5, 9, 2, 6], dtype=dtype)) == ("numeric", [3, 1, 4, 1, 5, 9, 2, 6], None, ())


def test_sparse_columns_are_numeric() -> None:
    assert checked(pd.arrays.SparseArray([0.0, 1, 0, 0, 2, 0, 0, 3]))[:2] == ("numeric", [0, 1, 0, 0, 2, 0, 0, 3])


def test_objects_that_are_numbers_are_numeric() -> None:
    column = pd.Series([Decimal("1.5"), Fraction(1, 4), 3, 2.5, np.int8(7), np.float32(1), 0, 9], dtype=object)
    assert checked(column) == ("numeric", [1.5, 0.25, 3, 2.5, 7, 1, 0, 9], None, ())


def test_zero_and_one_stay_numeric() -> None:
    assert checked([0, 1, 1, 0, 1, 0, 0, 0])[:1] == ("numeric",)


@pytest.mark.parametrize("dtype", ["bool", "boolean", "object", "bool[pyarrow]"])
def test_booleans_are_categorical(dtype: str) -> None:
    column = pd.Series([True, False, False, True, True, False, True, False], dtype=dtype)
    kind, values, levels, notes = checked(column)
    assert (kind, values, levels) == ("categorical", [1, 0, 0, 1, 1, 0, 1, 0], ("False", "True"))
    assert notes == ("column 'z' contains booleans and is treated as categorical",)


@pytest.mark.parametrize("dtype", ["object", "string", "str"])
def test_text_is_categorical_with_sorted_levels(dtype: str) -> None:
    kind, values, levels, notes = checked(pd.Series(list("cabbacca"), dtype=dtype))
    assert (kind, values, levels) == ("categorical", [2, 0, 1, 1, 0, 2, 2, 0], ("a", "b", "c"))
    assert notes == ("column 'z' contains text and is treated as categorical with 3 levels",)


def test_categories_are_sorted_as_text() -> None:
    column = pd.Categorical([10, 2, 2, 10, 9, 9, 2, 10])
    assert checked(column) == ("categorical", [0, 1, 1, 0, 2, 2, 1, 0], ("10", "2", "9"), ())


def test_ordered_categories_keep_their_order() -> None:
    column = pd.Categorical(
        ["mid", "low", "high", "low", "mid", "high", "low", "low"], categories=["low", "mid", "high"], ordered=True
    )
    assert checked(column) == ("categorical", [1, 0, 2, 0, 1, 2, 0, 0], ("low", "mid", "high"), ())


def test_categories_that_never_occur_are_left_out_with_a_note() -> None:
    column = pd.Categorical(list("caacacca"), categories=list("abc"), ordered=True)
    kind, values, levels, notes = checked(column)
    assert (kind, values, levels) == ("categorical", [1, 0, 0, 1, 0, 1, 1, 0], ("a", "c"))
    assert notes == ("column 'z': ignored 'b', which no row uses",)


def test_numeric_labels_pass_as_categories() -> None:
    assert checked(pd.Series(list("12121212")).astype("category"))[2] == ("1", "2")


def test_intervals_of_a_cut_are_ordered_categories() -> None:
    column = pd.cut([0.5, 12.0, 3.0, 11.0, 0.1, 7.0, 8.0, 15.0], bins=[0, 2, 10, 20])
    assert checked(column)[2] == ("(0, 2]", "(2, 10]", "(10, 20]")


def test_many_levels_are_fine_with_many_rows() -> None:
    n = 200
    frame = pd.DataFrame({"a": RNG.normal(size=n), "z": [f"g{k % 90}" for k in range(n)]})
    assert len(check_table(frame)[0].levels[1] or ()) == 90


@pytest.mark.parametrize(("value", "text"), [(np.inf, "row 5 is inf"), (-np.inf, "row 5 is -inf")])
def test_infinity(value: float, text: str) -> None:
    error = refused([1.0, 2, 3, 4, 5, value, 7, 8])
    assert error.message == f"Input contains infinity: column 'z', {text}"


def test_integers_beyond_floating_point() -> None:
    assert "row 1 is inf" in refused(pd.Series([1, 10**400, 3, 4, 5, 6, 7, 8], dtype=object)).message
    assert "row 1 is inf" in refused(np.array([1, 1e400, 3, 4, 5, 6, 7, 8], dtype=np.longdouble)).message


@pytest.mark.parametrize("value", [1e308, -1e151])
def test_huge_values(value: float) -> None:
    error = refused([1.0, 2, 3, value, 5, 6, 7, 8])
    assert f"contains {value:g} in row 3, but absolute values must be below 1e+150" in error.message
    assert "rescale" in str(error.hint)
    assert check_table(pd.DataFrame(GOOD | {"z": np.arange(N) * 1e148}))


def test_tiny_differences() -> None:
    error = refused(np.arange(N) * 1e-200)
    assert "varies by only 7e-200" in error.message
    assert "divide it by 7e-200" in str(error.hint)
    assert check_table(pd.DataFrame(GOOD | {"z": np.arange(N) * 1e-140}))


# Columns that are not what they seem


def test_numbers_stored_as_text() -> None:
    error = refused(["12", " 2.5", "-1e3", ".5", "7.", "+3", "0", "1"])
    assert error.message == "column 'z' contains numbers stored as text, such as '12' in row 0"
    assert "frame['z'].astype(float)" in str(error.hint)
    assert "such as '2' in row 1" in refused([1, *numbers()[:-1]]).message


@pytest.mark.parametrize("cell", ["n/a", "1e5x", "?", "12 kg", "1.2.3", "--"])
def test_a_few_cells_that_are_no_numbers(cell: str) -> None:
    error = refused(numbers("1", cell))
    assert error.message == f"column 'z' is mostly numeric, but row 1 contains '{cell}'"
    assert "astype('category')" in str(error.hint)


def test_the_number_of_bad_cells_is_told() -> None:
    assert "row 0 contains 'x'; 1 more cells are not numbers" in refused(numbers("x", "y")).message
    assert "row 0 contains True" in refused(pd.Series([True, 1, 2, 3, 4, 5, 6, 7], dtype=object)).message


def test_long_cells_are_cut() -> None:
    assert "contains '" + "x" * 36 + "..." in refused(numbers("x" * 5_000)).message


def test_decimal_commas() -> None:
    error = refused(["12,5", "3", "1.234,5", "-0,5", "4,0", "5,1", "6,2", "7"])
    assert error.message == "column 'z' contains numbers with a decimal comma, such as '12,5' in row 0"
    assert "decimal=','" in str(error.hint)


@pytest.mark.parametrize(
    "column",
    [
        [f"person {k}" for k in range(N)],
        list("abcdefgh"),
        pd.Categorical(list("abcdefgh")),
    ],
    ids=["text", "letters", "category"],
)
def test_identifiers(column: Any) -> None:
    error = refused(column)
    assert "column 'z' has 8 distinct values in 8 rows" in error.message
    assert "fewer groups" in str(error.hint)


def test_free_text_with_repeats() -> None:
    frame = pd.DataFrame({"a": RNG.normal(size=100), "z": [f"t{k % 60}" for k in range(100)]})
    with pytest.raises(DataError, match="column 'z' has 60 distinct values in 100 rows"):
        check_table(frame)


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (pd.date_range("2024-01-01", periods=N), "datetime64"),
        (pd.date_range("2024-01-01", periods=N, tz="UTC"), "datetime64"),
        (pd.to_timedelta(range(N), unit="D"), "timedelta64"),
        (pd.period_range("2024-01", periods=N, freq="M"), "period"),
        ([datetime.date(2024, 1, 1 + k) for k in range(N)], "date"),
        ([datetime.time(k) for k in range(N)], "time"),
        (["2024-01-01", "2024-01-02"] * 4, "'2024-01-01'"),
        (["2024-01-01T10:00", "2024-01-02 11:30:00"] * 4, "'2024-01-01T10:00'"),
        (["31.12.2024", "1/2/24"] * 4, "'31.12.2024'"),
    ],
)
def test_dates(column: Any, shown: str) -> None:
    error = refused(column)
    assert error.message == f"column 'z' contains dates or times ({shown})"
    assert "days since" in str(error.hint)


def test_other_types_of_column() -> None:
    error = refused(pd.interval_range(0, N))
    assert "column 'z' has dtype interval" in error.message


@pytest.mark.parametrize("cell", [{"foo": "bar"}, [1, 2], b"bytes", object(), np.array([1.0])])
def test_cells_that_are_no_values(cell: Any) -> None:
    array = RNG.uniform(size=(5, 2)).astype(object)
    array[2, 1] = cell
    with pytest.raises(TypeError, match=r"argument must be .* string.* number") as caught:
        check_table(array)
    assert isinstance(caught.value, CellTypeError)
    assert caught.value.message.startswith("column 'x1', row 2: ")
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), CellTypeError)


def test_complex_cells() -> None:
    assert "Complex data not supported" in refused(pd.Series([1j, *"abcdabc"], dtype=object)).message


def test_categories_that_read_the_same() -> None:
    assert "the same text" in refused(pd.Categorical([1, "1", 2, 2, 1, 1, 2, 2])).message


@pytest.mark.parametrize("cell", ["9" * 100_000 + "x", "2020-01-01 1:" + " " * 100_000 + "\nx"])
def test_long_cells_take_time_in_proportion(cell: str) -> None:
    begin = time.process_time()
    check_table(pd.DataFrame({"a": [cell, "b"] * 10, "c": np.arange(20.0) ** 2}))
    assert time.process_time() - begin < 5  # many minutes if the time grew with the square
