import numpy as np

from drbo.graph.metrics import compare
from drbo.result.compare import SHOWN_EDGES, ArrowComparison, few, other_columns


def test_words_and_json_name_every_edge():
    learned, truth = [[0, 1, 1], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [1, 0, 1], [0, 0, 0]]
    made = ArrowComparison(("a", "b", "c"), compare(learned, truth))
    lines = made.text(("est", "truth")).splitlines()
    assert lines[0] == "2 edges in est, 2 edges in truth"
    assert [line.split()[:2] for line in lines[2:9:2]] == [["correct", "0"], ["a", "->"], ["b", "->"], ["a", "->"]]
    found = made.to_dict()
    assert (found["reversed"], found["missing"], found["extra"]) == ([["a", "b"]], [["b", "c"]], [["a", "c"]])


def test_a_long_list_is_cut():
    complete = np.triu(np.ones((11, 11)), 1)
    made = ArrowComparison(tuple("abcdefghijk"), compare(complete, complete))
    assert f"and {55 - SHOWN_EDGES} more" in made.text(("a", "b"))


def test_other_columns_are_named():
    error = other_columns(("run1", "run2"), (("a", "b"), ("a", "c")))
    assert error.message == "the tables of run1 and run2 have different columns"
    assert f"these have {few(('a', 'b'))} and 'a', 'c'" in error.hint
