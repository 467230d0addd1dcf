"""Rows that belong together: groups are read, and their means removed."""

import numpy as np
import pandas as pd
import pytest

from drbo.data.checks.check import check_table
from drbo.data.checks.groups import in_larger_groups, one_left_out, split_groups, steps_within, within_groups
from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError, SettingsError

SIZES = np.array([2, 3, 5, 9, 20])
CODES = np.repeat(np.arange(5), SIZES)


def _table(seed=0, d=3):
    rng = np.random.default_rng(seed)
    return Statistics.from_array(rng.normal(size=(len(CODES), d)) + 3 * rng.normal(size=(5, d))[CODES])


class TestSplit:
    def test_a_column_is_taken_out_and_labels_are_numbered(self):
        frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "who": [7, 3, 7]})
        rest, codes = split_groups(frame, "who")
        assert list(rest) == ["a"]
        assert codes.tolist() == [1, 0, 1]
        assert split_groups(frame, ["x", "y", "x"])[1].tolist() == [0, 1, 0]
        assert list(split_groups(frame, ["x", "y", "x"])[0]) == ["a", "who"]

    @pytest.mark.parametrize("groups", [None, False])
    def test_no_groups(self, groups):
        frame = pd.DataFrame({"a": [1.0]})
        assert split_groups(frame, groups) == (frame, None)

    @pytest.mark.parametrize(
        ("groups", "message"),
        [
            ("whom", "there is no column 'whom' to group rows by"),
            ([1, 2], r"one label for each of 3 rows, got shape \(2,\)"),
            (7, "one label for each of 3 rows, got 7"),
            ("who", "column 'who' has no label in 1 of 3 rows, first in row 1"),
            ([1.0, np.nan, 2.0], "groups has no label in 1 of 3 rows"),
        ],
    )
    def test_wrong_groups_are_refused_in_words(self, groups, message):
        frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "who": ["x", None, "y"]})
        with pytest.raises((SettingsError, DataError), match=message):
            split_groups(frame, groups)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([0, 0, 0, 0, 0], "a single group, so nothing is grouped"),
        ([0, 1, 2, 3], "every group has one row, so nothing is grouped"),
        ([0, 0, 1, 1], "only 2 rows are left"),
    ],
)
def test_groups_with_nothing_to_compare_are_refused(codes, message):
    with pytest.raises(DataError, match=message):
        in_larger_groups(np.array(codes))


class TestWithin:
    def test_the_regression_is_that_with_a_dummy_per_group(self):
        table = _table()
        found, notes = within_groups(table, CODES)
        design = np.column_stack([table.values[:, 1:], np.eye(5)[CODES]])
        slopes, residual = np.linalg.lstsq(design, table.values[:, 0])[:2]
        covariance = found.moments.covariance
        assert np.linalg.solve(covariance[1:, 1:], covariance[1:, 0]) == pytest.approx(slopes[:2])
        left = covariance[0, 0] - covariance[0, 1:] @ np.linalg.solve(covariance[1:, 1:], covariance[1:, 0])
        assert left * found.moments.n == pytest.approx(residual[0])
        assert found.moments.n == pytest.approx(len(CODES) - 5)
        assert "5 groups: group means were removed" in notes[0]
        assert "39 rows are worth 34" in notes[0]

    def test_what_is_constant_within_groups_does_not_matter(self):
        table, shift = _table(), np.random.default_rng(1).normal(size=(5, 3))
        moved = Statistics.from_array(table.values + shift[CODES])
        one, other = (within_groups(each, CODES)[0].values for each in (table, moved))
        assert one == pytest.approx(other)

    def test_small_groups_have_the_variance_of_large_ones(self):
        codes = np.repeat(np.arange(4000), np.tile([2, 6], 2000))
        found, _ = within_groups(Statistics.from_array(np.random.default_rng(0).normal(size=(len(codes), 2))), codes)
        small = np.bincount(codes)[codes] == 2
        assert found.values[small].var() == pytest.approx(1.0, abs=0.05)
        assert found.values[~small].var() == pytest.approx(1.0, abs=0.05)

    def test_a_column_that_varies_between_groups_only(self):
        frame = pd.DataFrame(_table().values, columns=list("abc"))
        frame["sex"] = np.array(["f", "m", "f", "m", "m"])[CODES]
        frame["age"] = np.array([30.1, 40.7, 50.3, 35.9, 60.2])[CODES]
        table, _ = check_table(frame)
        with pytest.raises(DataError, match="column 'sex' never changes within a group") as caught:
            within_groups(table, CODES)
        assert 'on_constant="drop"' in caught.value.hint
        found, notes = within_groups(table, CODES, on_constant="drop")
        assert found.names == ("a", "b", "c")
        assert sum("dropped column" in note for note in notes) == 2

    def test_categories_that_vary_within_groups_are_refused(self):
        frame = pd.DataFrame(_table().values, columns=list("abc"))
        frame["arm"] = np.tile(["x", "y"], 20)[: len(frame)]
        with pytest.raises(DataError, match="'arm' is categorical and varies within groups"):
            within_groups(check_table(frame)[0], CODES)

    def test_columns_that_are_copies_within_groups(self):
        table = _table()
        values = np.column_stack([table.values, table.values[:, 0] + np.arange(5.0)[CODES]])
        with pytest.raises(DataError, match="x3"):
            within_groups(Statistics.from_array(values), CODES)
        assert within_groups(Statistics.from_array(values), CODES, on_collinear="drop")[0].n_columns == 3

    def test_missing_cells_stay_missing_and_are_no_part_of_a_mean(self):
        values = _table().values.copy()
        values[[4, 20], 1] = np.nan
        found, _ = within_groups(Statistics.from_array(values), CODES)
        assert np.isnan(found.values).sum() == 2
        inside = np.flatnonzero(CODES == 1)
        assert np.nansum(found.values[inside, 1]) == pytest.approx(0)


def test_one_row_of_each_group_is_left_out():
    rows = one_left_out(CODES, np.random.default_rng(0))
    assert (np.bincount(CODES[rows]) == SIZES - 1).all()
    assert (np.diff(rows) > 0).all()


def test_a_column_of_few_values_has_few_steps():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.integers(2, size=len(CODES)), rng.integers(3, size=len(CODES)) / 3, rng.random(39)])
    found, _ = within_groups(Statistics.from_array(values), CODES)
    distinct = [len(np.unique(column)) for column in steps_within(found).T]
    assert distinct[0] == 3
    assert distinct[1] == 5
    assert distinct[2] > 30
