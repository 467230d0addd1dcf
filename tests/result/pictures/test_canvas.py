"""The sheet that graphs are drawn on; what is drawn on it is tested with the pictures."""

import numpy as np
import pytest
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Polygon

from drbo.errors import ResultError
from drbo.graph.layout import layered_routes
from drbo.result.pictures.canvas import Stroke, draw_edge, sheet, sheet_frame, write_picture

LINE = np.column_stack([np.zeros(20), -np.linspace(0, 60, 20)])


def test_an_arrow_has_a_head_at_its_end_and_a_line_without_one_none():
    axes = Figure().subplots()
    draw_edge(axes, LINE, Stroke("#000000"), scale=1.0)
    head = next(patch for patch in axes.patches if isinstance(patch, Polygon))
    assert head.get_xy()[0].tolist() == [0.0, -60.0]
    draw_edge(axes, LINE, Stroke("#000000", head="none"), scale=1.0)
    assert sum(isinstance(patch, Polygon) for patch in axes.patches) == 1


def test_a_hollow_head_is_white_inside():
    axes = Figure().subplots()
    draw_edge(axes, LINE, Stroke("#0072B2", head="hollow"), scale=1.0)
    head = next(patch for patch in axes.patches if isinstance(patch, Polygon))
    assert head.get_facecolor()[:3] == (1.0, 1.0, 1.0)
    assert same_color(head.get_edgecolor()[:3], "#0072B2")


def test_dashes_reach_the_line():
    axes = Figure().subplots()
    draw_edge(axes, LINE, Stroke("#000000", dashes=(0, (4, 3))), scale=1.0)
    (line,) = [patch for patch in axes.patches if isinstance(patch, PathPatch)]
    assert line.get_linestyle() == (0, (4, 3))


def test_the_frame_leaves_room_for_the_legend():
    layout = layered_routes([[0, 1], [0, 0]])
    centres, widths = layout.positions * 64, np.array([40.0, 40.0])
    bare = sheet_frame(centres, widths, layout, [])
    noted = sheet_frame(centres, widths, layout, [(Stroke("#000000"), "meaning")])
    assert noted[1] < bare[1]
    assert (noted[[0, 2, 3]] == bare[[0, 2, 3]]).all()


def test_a_picture_that_cannot_be_written_says_so(tmp_path):
    axes, _ = sheet(np.array([0.0, 0.0, 100.0, 100.0]), path="x.png", ax=None)
    with pytest.raises(ResultError, match="cannot be written"):
        write_picture(axes, tmp_path / "graph.nonsense")
