"""The static pictures of the report."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from drbo.graph.layout import layered_routes
from drbo.knowledge import Knowledge
from drbo.result.report.drawing import HEAD_LENGTH, Drawing
from tests.results import make_result


def directed(dag, **changes):
    return make_result(dag, score_equivalent=False, **changes)


def random_dag(rng, d=25):
    order = rng.permutation(d)
    return np.triu(rng.random((d, d)) < 4 / d, 1)[np.ix_(order, order)]


def test_the_svg_is_xml_with_a_line_per_edge_and_a_box_per_node(rng):
    dag = random_dag(rng)
    root = ET.fromstring(Drawing.of(directed(dag)).svg("a < b"))
    groups = [element.get("class") for element in root]
    assert groups.count("node") == 25
    assert sum(group.startswith("edge") for group in groups) == dag.sum()
    assert root.get("aria-label") == "a < b"


def test_no_style_is_carried_along(rng):
    assert "style" not in Drawing.of(directed(random_dag(rng))).svg()


def test_lines_run_from_the_cause_down_to_the_effect(rng):
    drawing = Drawing.of(directed(random_dag(rng)))
    for line in drawing.lines:
        assert (
            drawing.centres[line.source, 1] < line.points[0, 1] < line.points[-1, 1] < drawing.centres[line.target, 1]
        )
        assert (np.diff(line.points[:, 1]) > 0).all()


def test_the_cubics_follow_the_points(rng):
    """The path of SVG and the points of the interactive graph are one curve."""
    line = max(Drawing.of(directed(random_dag(rng))).lines, key=lambda line: len(line.down))
    numbers = [float(word) for word in re.findall(r"-?[\d.]+(?:e-?\d+)?", line.path)]
    start, pieces = np.array(numbers[:2]), np.array(numbers[2:]).reshape(-1, 3, 2)
    assert start == pytest.approx(line.points[0], abs=0.05)
    first = pieces[0]
    middle = (start + 3 * first[0] + 3 * first[1] + first[2]) / 8
    near = np.abs(line.points[:, 1] - middle[1]).argmin()
    assert abs(np.interp(middle[1], line.points[:, 1], line.points[:, 0]) - middle[0]) < 1.0, near
    assert pieces[-1, -1, 1] == pytest.approx(line.down[-1] - HEAD_LENGTH, abs=0.1)


def test_everything_is_inside_the_picture(rng):
    drawing = Drawing.of(directed(random_dag(rng)))
    left, top, width, height = drawing.box
    for line in drawing.lines:
        assert (line.points > (left, top)).all()
        assert (line.points < (left + width, top + height)).all()


def test_tiers_become_bands_in_their_order(rng):
    dag = np.triu(rng.random((12, 12)) < 0.3, 1)
    names = tuple(f"x{k}" for k in range(12))
    known = Knowledge(tiers=[names[:4], names[4:7], names[7:]])
    drawing = Drawing.of(directed(dag, knowledge=known))
    assert [name for name, *_ in drawing.bands] == ["tier 1", "tier 2", "tier 3"]
    for (_, top, bottom), members in zip(drawing.bands, (slice(0, 4), slice(4, 7), slice(7, 12)), strict=True):
        assert (drawing.centres[members, 1] > top).all()
        assert (drawing.centres[members, 1] < bottom).all()


def test_tiers_that_leave_variables_out_are_not_drawn():
    assert Drawing.of(directed([[0, 1], [0, 0]], knowledge=Knowledge(tiers=[["x0"]]))).bands == []


def test_a_layout_with_tiers_refuses_an_edge_back():
    with pytest.raises(ValueError, match="earlier tier"):
        layered_routes([[0, 1], [0, 0]], tiers=[1, 0])
