from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from drbo.data.checks.check import check_table, recheck
from drbo.data.statistics import blocks
from drbo.deadline import Deadline
from drbo.errors import DataError
from tests.data.frames import GOOD, RNG, N, numbers, refused


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_every_library_gives_the_same_table(make: Callable[[Any], Any]) -> None:
    columns = {"a": [1.5, 2.0, 0.5, 7.0], "b": [4, 1, 2, 9], "c": ["u", "v", "u", "u"], "d": [True, True, False, False]}
    expected = check_table(pd.DataFrame(columns))
    table, notes = check_table(make(columns))
    assert (table.values == expected[0].values).all()
    assert (table.names, table.kinds, table.levels) == (("a", "b", "c", "d"), expected[0].kinds, expected[0].levels)
    assert notes == expected[1]


def test_names_of_arrays() -> None:
    assert check_table(RNG.normal(size=(5, 3)))[0].names == ("x0", "x1", "x2")


def test_data_is_left_alone_and_not_shared() -> None:
    array = RNG.normal(size=(6, 2))
    frame = pd.DataFrame({"a": array[:, 0].copy(), "b": list("xyxyxx"), "c": 1.0})
    before, array_before = frame.copy(deep=True), array.copy()
    check_table(frame, on_constant="drop")
    table, _ = check_table(array)
    table.values[:] = 0
    pd.testing.assert_frame_equal(frame, before)
    assert (array == array_before).all()


def test_read_only_data_is_fine() -> None:
    array = RNG.normal(size=(6, 2))
    array.flags.writeable = False
    assert (check_table(array)[0].values == array).all()


# Sizes: the sentences are those that scikit-learn's estimator checks look for


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((0, 3), "Found array with 0 sample(s) (shape=(0, 3)) while a minimum of 3 is required."),
        ((1, 10), "Found array with 1 sample(s) (shape=(1, 10)) while a minimum of 3 is required."),
        ((2, 10), "Found array with 2 sample(s) (shape=(2, 10)) while a minimum of 3 is required."),
        ((12, 0), "Found array with 0 feature(s) (shape=(12, 0)) while a minimum of 2 is required."),
        ((12, 1), "Found array with 1 feature(s) (shape=(12, 1)) while a minimum of 2 is required."),
    ],
)
@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame])
def test_sizes(make: Callable[[Any], Any], shape: tuple[int, int], message: str) -> None:
    with pytest.raises(DataError) as caught:
        check_table(make(RNG.uniform(size=shape)))
    assert caught.value.message == message


def test_sparse_and_complex_are_named() -> None:
    with pytest.raises(ValueError, match="sparse"):
        check_table(sparse.csr_array(np.eye(4)))
    with pytest.raises(ValueError, match="Complex data not supported"):
        check_table(RNG.uniform(size=(10, 1)) + 1j)


# Values that cannot be used


@pytest.mark.parametrize(
    "column",
    [
        [1.0, np.nan, 3, 4, 5, 6, np.nan, 8],
        pd.Series([1, None, 3, 4, 5, 6, None, 8], dtype="Int64"),
        pd.Series(["u", None, "v", "u", "u", "v", float("nan"), "u"], dtype=object),
        pd.Series(["u", "", "v", "u", "u", "v", "  ", "u"]),
        pd.Series([True, None, False, True, True, False, pd.NA, True], dtype="boolean"),
        pd.Categorical(["u", None, "v", "u", "u", "v", None, "u"]),
        pd.Series([pd.Timestamp("2024-01-01"), pd.NaT] * 1 + [pd.Timestamp("2024-01-02")] * 5 + [pd.NaT]),
    ],
    ids=["float", "Int64", "object", "blank text", "boolean", "category", "dates"],
)
def test_missing_values(column: Any) -> None:
    error = refused(column)
    assert error.message == "Input contains NaN: missing values in column 'z' (2 of 8 rows)"
    assert 'missing="drop"' in str(error.hint)


def test_all_columns_with_missing_values_are_named() -> None:
    frame = pd.DataFrame(np.where(np.eye(8) > 0, np.nan, RNG.normal(size=(8, 8))))
    with pytest.raises(DataError, match=r"column '0' \(1 of 8 rows\); column '1'.*; and 3 more"):
        check_table(frame)


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        ([7] * N, "7"),
        ([0.1 + 0.2, *[0.3] * (N - 1)], "0.3"),
        ([0.0] * N, "0"),
        ([1e-200] * N, "1e-200"),
        (["same"] * N, "same"),
        (["x" * 10**6] * N, "x" * 80),
        ([True] * N, "True"),
        (pd.Categorical(["u"] * N, categories=["t", "u"]), "u"),
    ],
    ids=["integer", "rounding", "zero", "tiny", "text", "long text", "boolean", "category"],
)
def test_constant_columns(column: Any, shown: str) -> None:
    error = refused(column)
    assert error.message == f"column 'z' is constant (every row contains {shown})"
    assert 'on_constant="drop"' in str(error.hint)
    table, notes = check_table(pd.DataFrame(GOOD | {"z": column}), on_constant="drop")
    assert table.names == ("a", "b")
    assert notes[-1] == f"dropped column 'z', because it is constant (every row contains {shown})"


def test_several_constant_columns_are_all_named() -> None:
    with pytest.raises(DataError, match=r"column 'p' is constant .*; column 'q' is constant"):
        check_table(pd.DataFrame(GOOD | {"p": 1, "q": 2}))


def test_too_little_is_left_after_dropping() -> None:
    with pytest.raises(
        DataError, match=r"only 1 column\(s\) left, but at least 2 are needed: dropped column 'p', which is constant"
    ):
        check_table(pd.DataFrame({"a": GOOD["a"], "p": 1.0}), on_constant="drop")


def test_collinear_columns() -> None:
    frame = pd.DataFrame(GOOD | {"z": GOOD["a"] + 2 * GOOD["b"]})
    fault = "is an exact linear combination of 'a', 'b'"
    with pytest.raises(DataError, match=f"column 'z' {fault}") as caught:
        check_table(frame)
    assert 'on_collinear="drop"' in str(caught.value.hint)
    assert 'on_collinear="keep"' in str(caught.value.hint)
    dropped, notes = check_table(frame, on_collinear="drop")
    assert (dropped.names, notes) == (("a", "b"), (f"dropped column 'z', because it {fault}",))
    kept, notes = check_table(frame, on_collinear="keep")
    assert (kept.names, notes) == (("a", "b", "z"), (f"kept column 'z', although it {fault}",))


def test_relabelled_categories_are_kept_and_said() -> None:
    frame = pd.DataFrame({"a": list("xyxyxz"), "b": list("pqpqpr"), "c": list("uuvvuv")})
    fault = "divides the rows into the same groups as column 'a'"
    for policy in ("error", "keep"):
        table, notes = check_table(frame, on_collinear=policy)
        assert (table.names, notes[-1]) == (("a", "b", "c"), f"kept column 'b', although it {fault}")
    dropped, notes = check_table(frame, on_collinear="drop")
    assert (dropped.names, notes[-1]) == (("a", "c"), f"dropped column 'b', because it {fault}")


def test_few_rows_get_notes() -> None:
    table, notes = check_table(RNG.normal(size=(4, 5)))
    assert table.n_columns == 5
    assert notes == (
        "there are too few rows to check for linear combinations: numeric columns were compared only in pairs",
        "there are fewer rows (4) than columns (5): expect false edges",
    )
    assert check_table(RNG.normal(size=(6, 5)))[1] == ()


# Order


KINDS: dict[str, Any] = {
    "number": RNG.normal(size=N),
    "text": list("uvuvuuvw"),
    "flag": [True, False, True, True, False, False, True, False],
    "copy": GOOD["a"] * 2,
    "constant": [1.0] * N,
    "typo": numbers("1", "x2"),
    "missing": [1.0, None, 3, 4, 5, 6, 7, 8],
    "infinite": [1.0, np.inf, 3, 4, 5, 6, 7, 8],
}


@settings(deadline=None, max_examples=40)
@given(
    extra=st.sets(st.sampled_from(sorted(KINDS)), max_size=3),
    order=st.randoms(use_true_random=False),
    drop=st.booleans(),
)
def test_order_of_rows_and_columns_does_not_decide(extra: set[str], order: Any, drop: bool) -> None:
    frame = pd.DataFrame(GOOD | {name: KINDS[name] for name in sorted(extra)})
    columns = order.sample(list(frame.columns), frame.shape[1])
    moved = frame[columns].iloc[order.sample(range(N), N)]
    policy: dict[str, Any] = {"on_constant": "drop", "on_collinear": "drop"} if drop else {}

    def outcome(data: pd.DataFrame) -> Any:
        try:
            table, notes = check_table(data, **policy)
        except DataError:
            return "refused"  # in the words of the first column with a problem
        return table.digest(), sorted(notes)

    assert outcome(frame) == outcome(moved)


class TestMissingPolicies:
    FRAME = pd.DataFrame(
        {
            "a": [0.5, np.nan, 2.5, 1.0, 4.0, 3.3],
            "g": ["x", "y", None, "y", "x", "x"],
            "b": [True, False, None, True, True, False],
        }
    )

    def test_dropped_rows_are_told_and_the_rest_is_as_if_they_had_never_been(self):
        table, notes = check_table(self.FRAME, missing="drop")
        alone, _ = check_table(self.FRAME.dropna(), missing="error")
        assert table.digest() == alone.digest()
        assert (
            notes[0]
            == 'missing="drop": dropped 2 of 6 rows; valid only if values are missing completely at random (MCAR)'
        )

    def test_kept_cells_are_nan_in_columns_of_every_kind(self):
        table, _ = check_table(self.FRAME, missing="keep")
        assert np.isnan(table.values).astype(int).tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 1], *[[0, 0, 0]] * 3]
        assert table.levels == (None, ("x", "y"), ("False", "True"))

    def test_columns_that_others_determine_are_found_in_the_complete_rows(self):
        frame = self.FRAME.assign(copy=2 * self.FRAME["a"])
        with pytest.raises(DataError, match="'copy' is a linear function of column 'a'"):
            check_table(frame, missing="keep")

    def test_too_few_complete_rows_are_told(self):
        frame = pd.DataFrame({"a": [1.0, 2.5, np.nan, 4.0, np.nan], "b": [2.0, np.nan, 3.5, np.nan, 1.0]})
        _, notes = check_table(frame, missing="keep")
        assert "there are too few complete rows to check for collinear columns" in notes

    def test_a_constant_is_found_beside_holes(self):
        with pytest.raises(DataError, match="'c' is constant"):
            check_table(self.FRAME.assign(c=[1.0, 1.0, np.nan, 1.0, 1.0, 1.0]), missing="keep")

    def test_data_are_left_alone(self):
        before = self.FRAME.copy()
        check_table(self.FRAME, missing="keep")
        pd.testing.assert_frame_equal(before, self.FRAME)


def test_a_table_that_was_checked_passes_again_and_others_do_not() -> None:
    frame = pd.DataFrame(GOOD | {"c": list("xyxyxyxy")})
    frame.loc[0, "a"] = np.nan
    table, _ = check_table(frame, missing="keep")
    recheck(table)
    values = table.values.copy()
    values[1, 0] = np.inf
    strange: list[tuple[dict[str, Any], str]] = [
        ({"values": values}, "infinity"),
        ({"values": values[:2]}, "minimum of 3"),
        ({"values": np.full_like(values, np.nan)}, "is constant"),
        ({"values": table.values * [1, 1, 3]}, "'c' is not categorical"),
        ({"names": ("a", "a", "c")}, "same name"),
        ({"levels": (None, ("x",), ("x", "y"))}, "'b' is not numeric"),
        ({"levels": (None, None, None)}, "'c' is not categorical"),
        ({"weights": np.arange(8.0)}, "weight 0"),
        ({"weights": np.full(8, 1e300)}, "at most 1e\\+12"),
        ({"weights": np.full(8, np.nan)}, "finite"),
    ]
    for change, message in strange:
        with pytest.raises(DataError, match=message):
            recheck(replace(table, **change))


class TestLargeTables:
    @pytest.fixture(autouse=True)
    def _large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(blocks, "LARGE_CELLS", 100)

    @pytest.mark.skipif(int(pd.__version__.split(".")[0]) < 3, reason="pandas 2 copies the columns of a frame")
    def test_numbers_stay_where_the_frame_has_them(self, rng: np.random.Generator) -> None:
        frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
        table, _ = check_table(frame)
        assert np.shares_memory(table.values, frame.to_numpy())
        assert (table.values == frame.to_numpy()).all()

    def test_mixed_columns_are_gathered_once(self, rng: np.random.Generator) -> None:
        frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=list("ab")).assign(c=["u", "v"] * 30, d=range(60))
        table, _ = check_table(frame)
        assert table.values.flags.f_contiguous
        assert table.values[:, 2].tolist() == [0.0, 1.0] * 30
        assert table.values[:, 3].tolist() == list(range(60))

    def test_missing_cells_stay_missing(self, rng: np.random.Generator) -> None:
        frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
        frame.loc[3, "b"] = np.nan
        table, _ = check_table(frame, missing="keep")
        assert np.argwhere(np.isnan(table.values)).tolist() == [[3, 1]]

    def test_combinations_are_not_looked_for_when_the_time_is_over(self, rng: np.random.Generator) -> None:
        values = rng.normal(size=(60, 3))
        values[:, 2] = values[:, 0] + values[:, 1]
        with Deadline(0.0):
            _, notes = check_table(values)
        assert any("time ran out" in note for note in notes)
        with pytest.raises(DataError, match="linear combination"):
            check_table(values)


def test_many_columns_of_text_have_one_note(rng):
    frame = pd.DataFrame({name: rng.choice(["u", "v"], size=30) for name in "abcde"})
    assert check_table(frame)[1] == (
        "5 columns contain text and are treated as categorical: 'a' (2 levels), 'b' (2 levels), 'c' (2 levels) and "
        "2 more",
    )
    assert len(check_table(frame[["a", "b"]])[1]) == 2
