from dataclasses import replace

import numpy as np
import pytest

from drbo import Knowledge
from drbo.errors import ResultError
from drbo.graph.dag import dag_to_cpdag
from drbo.graph.marks import MarkedGraph
from drbo.result.words.answer import told_by
from tests.hidden import confounded_table, hidden_model, with_hidden
from tests.results import FULL_DAG, FULL_NAMES, full_result


@pytest.fixture
def result():
    return hidden_model().result_


@pytest.mark.parametrize(
    ("directed", "bidirected", "second", "words"),
    [
        ([[0, 1], [1, 0]], [[0, 0], [0, 0]], None, "at most one edge"),
        ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], np.zeros((3, 3)), None, "not a maximal ancestral"),
        ([[0, 1], [0, 0]], [[0, 0], [0, 0]], [[0, 7], [0, 0]], "second"),
    ],
)
def test_files_with_other_graphs_are_refused(directed, bidirected, second, words):
    with pytest.raises(ResultError, match=words):
        with_hidden(directed, bidirected, second)


@pytest.mark.parametrize("what", ["probabilities", "to_pgmpy", "next_experiments"])
def test_what_is_made_for_dags_is_refused_in_words(result, what):
    arguments = (confounded_table(), "a", "low", "b") if what == "probabilities" else ()
    with pytest.raises(ResultError, match="does not support a graph with hidden causes"):
        getattr(result, what)(*arguments)


def test_the_graph_is_the_class_where_the_score_finds_one_and_else_the_dag():
    assert full_result().graph == MarkedGraph.of(dag_to_cpdag(FULL_DAG), FULL_NAMES, "cpdag")
    known = full_result(knowledge=Knowledge(required=[("a", "b,c")]))
    assert known.graph == MarkedGraph.of(FULL_DAG, FULL_NAMES, "mpdag")
    assert full_result(score_equivalent=False).graph == MarkedGraph.of(FULL_DAG, FULL_NAMES, "dag")


def test_what_was_told_is_told_again(result):
    for one in (full_result(), full_result(score_equivalent=False), result):
        told = replace(told_by(one), reasons=("because",) * len(one.directions))
        again = replace(one, told=told)
        assert again.graph == one.graph
        assert again.directions == one.directions
        assert set(again.why().values()) == {"because"}
        assert (again.mpdag == one.mpdag).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "dag"}, "told.kind must be cpdag or mpdag here, got 'dag'"),
        ({"marks": np.full((4, 4), 1)}, "told.marks: an edge must join two nodes"),
        ({"marks": np.zeros((4, 4))}, "told.marks are not those of the graph"),
        ({"marks": MarkedGraph.of(FULL_DAG.T, FULL_NAMES).marks}, "told.marks are not those of the graph"),
        ({"marks": np.full((4, 4), 9)}, "told.marks: marks must be 0, 1, 2 or 3"),
        ({"directions": ()}, "told must have an entry for each of 3 edges"),
        ({"reasons": ("x",)}, "told must have an entry for each of 3 edges"),
    ],
)
def test_a_file_cannot_tell_about_another_graph(change, words):
    one = full_result()
    with pytest.raises(ResultError, match=words):
        replace(one, told=replace(told_by(one), **change))
