import json

import numpy as np

<<<<<<< HEAD
from drbo.errors import DataError
from drbo.graph.mag import Mag
from drbo.graph.marks import ARROW, CIRCLE
from drbo.graph.pag import pag_of
from drbo.result.compare import Count, compare_marks, pag_over, sign


def _pags():
    directed, both = np.zeros((2, 4, 4), dtype=bool)
    directed[0, 1] = directed[3, 2] = both[1, 2] = both[2, 1] = True
    truth = pag_of(Mag.of(directed, both))
    dag = np.zeros((4, 4), dtype=bool)
    dag[0, 1] = dag[2, 1] = dag[3, 1] = dag[3, 2] = True
    return pag_of(Mag.of(dag)), truth


def test_links_and_marks_are_counted_by_hand():
    found, truth = _pags()
    made = compare_marks(found, truth, "abcd")
    assert made.adjacencies == Count(3, 4, 3)
    assert made.arrowheads == Count(2, 3, 4)
    assert made.tails == Count(0, 0, 0)
    assert made.two_headed == Count(0, 0, 1)
    assert made.tails.precision is None
    assert made.two_headed.recall == 0
    assert not made.is_equal
    assert made.pairs("same") == ((0, 1),)
    assert made.pairs("different") == ((1, 2), (2, 3))
    assert made.pairs("extra") == ((1, 3),)
    assert made.pairs("missing") == ()
    assert compare_marks(truth, truth).is_equal
=======
from drbo.graph.metrics import compare
from drbo.result.compare import SHOWN_EDGES, ArrowComparison, few, other_columns
>>>>>>> 0673ca87 (Know a kind of graph by its reading alone)


def test_words_and_json_name_every_edge():
    learned, truth = [[0, 1, 1], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [1, 0, 1], [0, 0, 0]]
    made = ArrowComparison(("a", "b", "c"), compare(learned, truth))
    lines = made.text(("est", "truth")).splitlines()
    assert lines[0] == "2 edges in est, 2 edges in truth"
    assert [line.split()[:2] for line in lines[2:9:2]] == [["correct", "0"], ["a", "->"], ["b", "->"], ["a", "->"]]
    found = json.loads(made.to_json())
    assert (found["reversed"], found["missing"], found["extra"]) == ([["a", "b"]], [["b", "c"]], [["a", "c"]])


def test_a_long_list_is_cut():
    complete = np.triu(np.ones((11, 11)), 1)
    made = ArrowComparison(tuple("abcdefghijk"), compare(complete, complete))
    assert f"and {55 - SHOWN_EDGES} more" in made.text(("a", "b"))


def test_other_columns_are_named():
    error = other_columns(("run1", "run2"), (("a", "b"), ("a", "c")))
    assert error.message == "the tables of run1 and run2 have different columns"
    assert f"these have {few(('a', 'b'))} and 'a', 'c'" in error.hint
