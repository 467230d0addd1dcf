"""Graphs with marks at both ends, against the matrices and the search that they come from."""

import pickle

import numpy as np
import pytest

from drbo.errors import DataError
from drbo.graph.dag import dag_to_cpdag
from drbo.graph.marks import TAIL, MarkedGraph
from drbo.graph.pag import pag_of
from tests.search.ancestral.graphs import all_mags

V_SHAPE = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=bool)
NAMES = tuple("abcd")
#: a o-> b <-> c, and c -> d
MIXED = MarkedGraph(NAMES, np.array([[0, 2, 0, 0], [1, 0, 2, 0], [0, 2, 0, 2], [0, 0, 3, 0]]), "pag")


def test_a_dag_and_its_class_are_read_back():
    dag, cpdag = MarkedGraph.of(V_SHAPE, NAMES), dag_to_cpdag(np.eye(4, k=1))
    assert dag.kind == "dag"
    assert (dag.adjacency == V_SHAPE).all()
    found = MarkedGraph.of(cpdag, NAMES, "cpdag")
    assert (found.adjacency == cpdag).all()
    assert (found.undirected == cpdag).all()
    assert found.n_edges == 3
    assert [(edge.first, edge.second) for edge in dag.edges()] == [(0, 2), (1, 2), (2, 3)]
    assert [(edge.at_first, edge.at_second) for edge in found.edges()] == [(TAIL, TAIL)] * 3


def test_every_mag_and_its_class_are_legal_and_the_class_has_the_mag_as_a_member():
    for graph in all_mags():
        found = MarkedGraph(NAMES, graph.marks(), "mag")
        assert (found.directed == graph.directed).all()
        assert (found.bidirected == graph.bidirected).all()
        assert MarkedGraph(NAMES, pag_of(graph), "pag").has_member(found)
        assert found.n_edges == graph.n_edges


def test_arrows_point_to_the_second_node():
    turned = MIXED.take([3, 2, 1, 0])
    assert turned.names == ("d", "c", "b", "a")
    assert [(turned.names[e.first], turned.names[e.second]) for e in turned.edges()] == [
        ("c", "d"),
        ("c", "b"),
        ("a", "b"),
    ]
    assert turned.reordered(NAMES) == MIXED
    assert turned != MIXED
    assert MIXED.take([0, 1]).names == ("a", "b")
    assert MIXED.circles.sum() == 1


@pytest.mark.parametrize(
    ("marks", "kind", "words"),
    [
        ([[0, 2], [3, 0]], "tree", "kind must be one of dag, cpdag, mpdag, mag, pag, got 'tree'"),
        ([[0, 2]], "dag", "needs a square matrix of marks"),
        ([[0, 4], [3, 0]], "dag", "must be 0, 1, 2 or 3"),
        ([[0, 0.5], [3, 0]], "dag", "must be 0, 1, 2 or 3"),
        ([[0, 2], [0, 0]], "pag", "a mark at both ends"),
        ([[1, 2], [3, 0]], "pag", "must join two nodes"),
        ([[0, 3], [3, 0]], "dag", "'a' and 'b' has marks that no dag has: tail and tail"),
        ([[0, 2], [2, 0]], "cpdag", "no cpdag has: arrow and arrow"),
        ([[0, 2], [1, 0]], "mpdag", "no mpdag has: circle and arrow"),
        ([[0, 1], [3, 0]], "mag", "no mag has: tail and circle"),
        ([[0, 2, 3], [3, 0, 2], [2, 3, 0]], "mpdag", "the graph has a cycle: a -> b -> c -> a"),
        ([[0, 2, 2], [3, 0, 2], [2, 3, 0]], "mag", "must not join a node and its ancestor"),
    ],
)
def test_marks_that_no_graph_of_the_kind_has_are_refused(marks, kind, words):
    with pytest.raises(DataError, match=words):
        MarkedGraph(NAMES[: len(marks)], np.array(marks), kind)


def test_a_class_has_its_members_and_no_other_graph():
    names, chain = ("a", "b", "c"), np.eye(3, k=1, dtype=bool)
    found = MarkedGraph.of(dag_to_cpdag(chain), names)
    assert found.has_member(MarkedGraph.of(chain.T, names))
    assert not found.has_member(MarkedGraph.of(chain | chain @ chain, names))
    assert not MarkedGraph.of(chain, names).has_member(MarkedGraph.of(chain.T, names))
    assert not found.has_member(MarkedGraph.of(chain, ("a", "b", "d")))


def test_it_travels_as_plain_data_and_between_processes():
    for graph in (MIXED, MarkedGraph.of(V_SHAPE, NAMES), MarkedGraph.of(np.zeros((1, 1)), "a")):
        assert MarkedGraph.from_plain(graph.to_plain(), graph.names) == graph
        assert pickle.loads(pickle.dumps(graph)) == graph
    assert MIXED != "a graph"
    with pytest.raises(ValueError, match="read-only"):
        MIXED.marks[0, 1] = 0


@pytest.mark.parametrize("plain", [{}, {"kind": "pag", "marks": "00"}, {"kind": "pag", "marks": 7}, {"marks": "0" * 8}])
def test_plain_data_of_other_graphs_are_refused(plain):
    with pytest.raises(DataError):
        MarkedGraph.from_plain(plain, NAMES)
