"""The rows of the edge table, for results with and without claims."""

import numpy as np

from drbo.claims.confidence import Confidence
from drbo.knowledge import Knowledge
from drbo.result import edge_rows
from drbo.result.records import Scoring, SearchRecord
from drbo.result.result import Result

DAG = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])


def _result(**given):
    usual = {"names": ("a", "b", "c"), "dag": DAG, "pruned_score": 0.0, "search": SearchRecord(dag=DAG, score=0.0)}
    return Result(**usual | {"scoring": Scoring(name="bge", equivalent=True)} | given)


def test_one_row_per_edge_with_direction_and_reason():
    table = edge_rows.of_result(_result())
    assert table[["source", "target"]].to_numpy().tolist() == [["a", "b"], ["b", "c"]]
    assert table["direction"].tolist() == ["open", "open"]
    assert table["reason"].tolist() == list(edge_rows.reasons(_result()).values())
    assert "frequency" not in table


def test_knowledge_shows_in_the_rows_and_reasons():
    result = _result(knowledge=Knowledge(required=["a -> b"]))
    assert edge_rows.of_result(result)["ground"].tolist()[0] == "given"
    assert set(edge_rows.reasons(result)) == {("a", "b"), ("b", "c")}


def test_resamples_add_frequencies():
    counted = Confidence.of([DAG, DAG + DAG.T, np.zeros((3, 3))], names=["a", "b", "c"])
    table = edge_rows.of_result(_result(confidence=counted))
    assert table["link_frequency"].round(6).tolist() == [0.666667, 0.666667]
    assert table["frequency"].round(6).tolist() == [0.333333, 0.333333]  # undirected in one of three
