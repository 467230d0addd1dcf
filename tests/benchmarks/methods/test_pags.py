"""Rivals that give PAGs: their marks are read the right way round, and they end when their time is over."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.gran_dag import Unavailable
from benchmarks.methods import pags
from benchmarks.methods.pags import fci, limited


def test_the_marks_of_causallearn_are_read_the_right_way_round(rng):
    a, b = rng.normal(size=(2, 800))
    c = a + b + rng.normal(size=800)
    found = fci(np.column_stack([a, b, c, c + 0.7 * rng.normal(size=800)]), 0.01)
    np.testing.assert_array_equal(found, [[0, 0, 2, 0], [0, 0, 2, 0], [1, 1, 0, 2], [0, 0, 3, 0]])


def _edge(first, second, mark_first, mark_second):
    node = {name: SimpleNamespace(getName=lambda name=name: name) for name in (first, second)}
    return SimpleNamespace(
        getNode1=lambda: node[first],
        getNode2=lambda: node[second],
        getEndpoint1=lambda: mark_first,
        getEndpoint2=lambda: mark_second,
    )


def test_the_marks_of_tetrad_are_read_the_right_way_round():
    graph = SimpleNamespace(getEdges=lambda: [_edge("x0", "x2", "TAIL", "ARROW"), _edge("x2", "x1", "CIRCLE", "ARROW")])
    np.testing.assert_array_equal(pags._read(graph, 3), [[0, 0, 2], [0, 0, 1], [3, 2, 0]])


def test_tetrad_says_what_it_needs(monkeypatch):
    monkeypatch.delenv("TETRAD_JAR", raising=False)
    with pytest.raises(Unavailable, match="TETRAD_JAR"):
        pags.tetrad_jar()


def test_a_method_answers_fails_or_runs_out_of_time():
    answer, seconds = limited(lambda: np.eye(2, dtype=np.int8), 10)
    np.testing.assert_array_equal(answer, np.eye(2))
    assert 0 <= seconds < 10
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        limited(lambda: 1 / 0, 10)
    assert limited(_endless, 1) == (None, 1.0)


def _endless():
    while True:
        pass
