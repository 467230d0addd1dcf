"""Window graphs hold every edge at its lag, however the columns of a window are ordered."""

import numpy as np

from drbo.graph.window import WindowGraph, places

NAMES, LAGS = ["a", "b", "a[-1]", "b[-1]", "a[-2]", "b[-2]"], [0, 0, 1, 1, 2, 2]


def _dag(*edges):
    dag = np.zeros((6, 6), dtype=bool)
    for cause, effect in edges:
        dag[NAMES.index(cause), NAMES.index(effect)] = True
    return dag


def test_edges_stand_at_their_lags_in_any_order_of_columns():
    dag = _dag(("a", "b"), ("a[-1]", "a"), ("b[-2]", "a"), ("a[-2]", "a"))
    expected = [(0, 1, 0), (0, 0, 1), (0, 0, 2), (1, 0, 2)]
    assert list(WindowGraph.of(dag, NAMES, LAGS).edges()) == expected
    order = np.array([3, 0, 5, 2, 1, 4])  # the series keep their order
    mixed = WindowGraph.of(dag[np.ix_(order, order)], [NAMES[k] for k in order], [LAGS[k] for k in order])
    assert list(mixed.edges()) == expected
    assert mixed.names == ("a", "b")


def test_mechanisms_and_lags_that_are_used():
    graph = WindowGraph.of(_dag(("a[-1]", "b"), ("a[-2]", "b"), ("b", "a")), NAMES, LAGS)
    assert graph.mechanisms() == {(0, 1): (1, 2), (1, 0): (0,)}
    assert graph.used == (0, 1, 2)
    assert graph.max_lag == 2


def test_links_are_those_of_tigramite():
    links = WindowGraph.of(_dag(("a", "b"), ("b[-2]", "a")), NAMES, LAGS).links()
    assert links.shape == (2, 2, 3)
    assert links[0, 1].tolist() == ["-->", "", ""]
    assert links[1, 0].tolist() == ["<--", "", "-->"]
    open_links = WindowGraph.of(_dag(("a", "b"), ("b", "a"), ("a[-1]", "a")), NAMES, LAGS).links()
    assert open_links[:, :, 0].tolist() == [["", "o-o"], ["o-o", ""]]
    assert open_links[0, 0, 1] == "-->"


def test_a_column_may_lack_its_present():
    names, place = places(["a", "b[-1]"], [0, 1])
    assert names == ("a",)
    assert place.tolist() == [0, -1]
