"""Labels, boxes and lines, in points."""

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator

from drbo.graph.layout import layered_routes
from drbo.result.pictures.routes import (
    BOX_HEIGHT,
    FLATTEST_END,
    LAYER,
    MAX_LABEL,
    box_widths,
    cubic,
    curve,
    knots,
    label,
    text_width,
    with_ports,
)

TRIANGLE = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])


def test_lines_are_the_cubics_of_scipy(rng):
    down, across = np.cumsum(rng.uniform(60, 90, 6)), rng.normal(size=6) * 5
    slopes = PchipInterpolator(down, across).derivative()(down)
    places = np.linspace(down[0], down[-1], 50)
    expected = CubicHermiteSpline(down, across, slopes)(places)
    np.testing.assert_allclose(cubic(down, across, slopes, places), expected, atol=1e-9)
    _, _, tangents = knots(np.column_stack([across, -down]))
    np.testing.assert_allclose(tangents[1:-1:2], slopes[1:-1], atol=1e-9)  # too flat to be cut


def test_long_names_lose_their_middle():
    assert label("short") == "short"
    assert len(label("x" * 100)) == MAX_LABEL
    assert label("a\nb") == "a\\nb"


def test_longer_names_have_wider_boxes():
    short, long = box_widths(["ab", "a name of many letters"])
    assert short < long


def test_widths_are_those_of_the_font():
    textpath = pytest.importorskip("matplotlib.textpath")
    font = pytest.importorskip("matplotlib.font_manager").FontProperties(family="DejaVu Sans", size=10)
    for text in ("Raf", "a name of many letters", "x_1 (mg/L) ~ 50%", "Größe", "café"):
        expected, _, _ = textpath.TextToPath().get_text_width_height_descent(text, font, ismath=False)
        assert text_width(text, 10) == pytest.approx(expected, rel=0.08)


def test_letters_of_other_scripts_have_room():
    assert text_width("日本", 10) == 20
    assert text_width("возраст", 10) == 7 * 8
    assert text_width("e\u0301", 10) == text_width("e", 10)


def test_lines_begin_and_end_at_the_borders():
    layout = layered_routes(TRIANGLE)
    for (i, j), route in zip(layout.edges, with_ports(layout, np.full(3, 40.0)), strict=True):
        centres = layout.positions * LAYER
        assert route[0, 1] == pytest.approx(centres[i, 1] - BOX_HEIGHT / 2)
        assert route[-1, 1] == pytest.approx(centres[j, 1] + BOX_HEIGHT / 2)


def test_the_curve_passes_its_knots_and_is_steep_at_the_ends():
    route = np.array([[0.0, 0.0], [100.0, -64.0], [0.0, -128.0]])
    across, down, slopes = knots(route)
    points = curve(route)
    assert np.interp(down, -points[:, 1], points[:, 0]) == pytest.approx(across, abs=0.5)
    assert np.abs(slopes).max() <= FLATTEST_END
    assert (np.diff(points[:, 1]) < 0).all()
