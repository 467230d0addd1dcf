import json

import numpy as np
import pandas as pd
import pytest

from drbo.errors import ResultError
from drbo.graph.mag import ARROW, CIRCLE, TAIL
from drbo.result.files import pag_files
from tests.hidden import hidden_model

PAG = np.array([[0, ARROW, 0], [CIRCLE, 0, ARROW], [0, TAIL, 0]], dtype=np.int8)  # a o-> b -> c
NAMES = ("a", "b", "c")


def test_causallearn_prints_the_same_edges():
    pytest.importorskip("causallearn")
    graph = pag_files.to_causallearn(PAG, NAMES)
    assert sorted(str(edge) for edge in graph.get_graph_edges()) == ["a o-> b", "b --> c"]


def test_arrows_of_dagitty_point_to_the_right():
    turned = pag_files.to_dagitty(PAG[::-1, ::-1].copy(), ("c", "b", "a"))
    assert '"a" @-> "b"' in turned
    assert '"b" -> "c"' in turned
    both = np.array([[0, ARROW], [ARROW, 0]], dtype=np.int8)
    assert '"a" <-> "b"' in pag_files.to_dagitty(both, ("a", "b"))


def test_the_matrix_of_pcalg_is_read_back(tmp_path):
    path = hidden_model().result_.export(tmp_path / "graph.pcalg")
    found = pd.read_csv(path, index_col=0)
    assert list(found) == list(hidden_model().result_.names)
    np.testing.assert_array_equal(found.to_numpy(), hidden_model().result_.pag)


def test_tables_hold_both_marks(tmp_path):
    result = hidden_model().result_
    rows = pd.read_csv(result.export(tmp_path / "graph.csv"))
    assert rows["mark_target"].tolist() == result.edges()["mark_target"].tolist()
    content = json.loads(result.export(tmp_path / "graph.json").read_text())
    assert content["nodes"] == list(result.names)
    assert content["mark_source"] == result.edges()["mark_source"].tolist()


def test_graphviz_gets_the_shapes_of_the_marks(tmp_path):
    text = hidden_model().result_.export(tmp_path / "graph.dot").read_text()
    assert '"b" -> "c" [dir=both, arrowtail=normal, arrowhead=normal];' in text


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(ResultError, match="hidden causes can be exported to"):
        hidden_model().result_.export(tmp_path / "graph.lavaan")
