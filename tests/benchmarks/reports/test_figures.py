"""Figures have honest bands and are the same whenever they are drawn."""

import pytest

from benchmarks.reports import figures


def test_a_band_is_that_of_students_t():
    middle, half = figures.band([1.0, 2.0, 3.0])
    assert middle == 2.0
    assert half == pytest.approx(4.302653 * 3**-0.5, abs=1e-5)  # t with 2 degrees of freedom at 97.5%
    assert figures.band([5.0]) == (5.0, 0.0)


def test_a_figure_is_the_same_whenever_it_is_drawn():
    points = {"a": [(1.0, [1.0, 2.0]), (10.0, [0.0, 1.0])]}
    first = figures.lines(points, "rows", "SHD", log_x=True)
    assert first == figures.lines(points, "rows", "SHD", log_x=True)
    assert b"Date" not in first


def test_a_curve_starts_where_all_data_sets_have_begun():
    steps = [("0", 1, 9), ("0", 5, 3), ("1", 2, 8)]
    found = [{"seed": seed, "step": str(step), "shd": str(shd)} for seed, step, shd in steps]
    assert figures.curve(found, "step", [1, 2, 6]) == [(2.0, [9.0, 8.0]), (6.0, [3.0, 8.0])]
