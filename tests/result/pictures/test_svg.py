"""Pictures that need no plotting library, and what the others say where it is missing."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from drbo.errors import ResultError
from drbo.result.pictures.svg import graph_svg, picture, plots, write_svg
from drbo.result.records import Scoring, SearchRecord
from drbo.result.result import Result

SVG = "{http://www.w3.org/2000/svg}"
CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])


def _result(weights=None, equivalent=False, names=("a", "b", "c")):
    return Result(
        names=names, dag=CHAIN, pruned_score=0.0, search=SearchRecord(dag=CHAIN, score=0.0),
        scoring=Scoring(name="bic-nv", equivalent=equivalent), standardised_weights=weights, weights=weights,
    )  # fmt: skip


def _texts(result):
    root = ET.fromstring(graph_svg(result))
    return root, [element.text for element in root.iter(f"{SVG}text")]


def test_the_file_is_xml_with_all_names_and_a_legend():
    root, texts = _texts(_result(0.5 * CHAIN * [[0], [-1], [0]] + 0.5 * CHAIN * [[1], [0], [0]]))
    assert texts[:3] == ["a", "b", "c"]
    assert texts[3:] == [
        "blue: positive effect",
        "orange: negative effect",
        "line width: absolute standardised weight",
        "hollow arrowhead: the direction is assumed",
    ]
    assert float(root.get("height")) > 0
    left, top, width, height = map(float, root.get("viewBox").split())
    assert (left, top) == (0, 0)
    inner = root.find(f"{SVG}svg")
    assert float(inner.get("width")) <= width
    assert float(inner.get("height")) < height


def test_undirected_edges_are_explained():
    assert _texts(_result(equivalent=True))[1][3:] == ["no arrowhead: the data do not determine the direction"]


def test_assumed_directions_have_hollow_arrowheads():
    root, texts = _texts(_result())
    assert texts[3:] == ["hollow arrowhead: the direction is assumed"]
    edges = [group for group in root.iter(f"{SVG}g") if "edge" in group.get("class")]
    assert len(edges) == 2
    assert all("hollow" in edge.get("class") for edge in edges)
    assert ".hollow polygon { fill: #ffffff" in root.find(f"{SVG}style").text


def test_names_are_escaped():
    texts = _texts(_result(names=("<script>", "b & c", '"d"')))[1]
    assert texts[:3] == ["<script>", "b & c", '"d"']


def test_an_svg_file_needs_no_matplotlib(tmp_path, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")

    monkeypatch.setattr("drbo.result.pictures.svg.import_module", missing)
    write_svg(_result(), tmp_path / "one.svg")
    assert picture(_result(), tmp_path / "two.SVG", None) is None
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.SVG").read_bytes()
    for draw in (lambda: picture(_result(), tmp_path / "graph.png", None), plots):
        with pytest.raises(ResultError, match="this picture needs matplotlib, which is not installed") as caught:
            draw()
        assert "pip install 'drbo[plot]'" in caught.value.hint


def test_other_files_are_drawn_by_matplotlib(tmp_path):
    pytest.importorskip("matplotlib")
    assert picture(_result(), tmp_path / "graph.png", None).texts
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")
