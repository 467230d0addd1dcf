"""What a single column looks like: row numbers, units, codes, markers of missing values, labels with an order."""

import numpy as np
import pytest

from drbo.data.checks import doubts


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("k", np.arange(5, 25), "only counts the rows (5, 6, ...)"),
        ("rownames", np.arange(20)[::-1] * 7, "is an identifier"),
        ("chosen", np.cumsum(np.tile([1, 3, 2, 1], 10)), "rises in every row"),
        ("schoolNR", np.repeat(np.arange(10), 3), "names 10 units with 3.0 rows each"),
    ],
)
def test_numbers_that_are_no_quantity(name, values, words):
    (problem,) = doubts.counter(name, values.astype(float))
    assert words in problem.text
    assert problem.remedy == "drop"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("price index", np.repeat(np.arange(10.0), 3)),  # an index of prices repeats, too
        ("income", np.sort(np.arange(20.0) ** 2 * 100)),  # sorted, with large gaps
        ("id", np.tile([1.0, 2.0], 10)),  # two units are two groups
        ("id", np.array([1.0, 2.0])),
    ],
)
def test_numbers_that_may_be_one(name, values):
    assert doubts.counter(name, values) == []


@pytest.mark.parametrize(
    ("values", "markers"),
    [
        ([1, 2, -9, 3, -9], ["-9"]),
        ([1, 2, 99, 3, 99, 4], ["99"]),
        ([-999, -999, 0.5, 0.7, 12], ["-999"]),
        ([1, 2, -9, 3], []),  # once
        ([60, 70, 99, 99, 80], []),  # an age
        ([-5, -9, -9, 3, 4], []),  # other values are negative
        ([2, 2, -9, -9, 2], []),  # nothing varies without it
    ],
)
def test_markers_are_far_from_all_other_numbers(values, markers):
    assert [one.marker for one in doubts.number_markers("x", np.array(values, dtype=float))] == markers


def test_labels_for_nothing_known():
    (problem,) = doubts.text_markers("arm", ["a", "b", "Unknown"])
    assert (problem.marker, problem.remedy, problem.blocks) == ("Unknown", "", False)
    assert doubts.text_markers("arm", ["none", "low"]) == []  # no drug is a value


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["3_Poor", "1_Good", "2_Fair"], "1_Good<2_Fair<3_Poor"),
        (["(2) b", "(1) a", "(10) c"], "(1) a<(2) b<(10) c"),
        (["Very High", "Low", "High", "*"], "Low<High<Very High"),
        (["low", "high"], ""),  # two levels
        (["red", "green", "blue"], ""),
        (["1_a", "1_b", "2_c"], ""),
        (["1 < 2", "2 < 3", "3 < 4"], ""),  # cannot be written as an order
    ],
)
def test_labels_with_an_order(labels, order):
    assert [one.remedy for one in doubts.ordered_text("x", labels)] == ([order] if order else [])


def test_a_column_with_few_values():
    assert doubts.empty("x", 0.5) == []
    assert "no value in 96% of the rows" in doubts.empty("x", 0.96)[0].text
