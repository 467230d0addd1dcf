import numpy as np
import pytest

from drbo.errors import DataError
from drbo.graph.mag import Mag
from drbo.graph.marks import ARROW, CIRCLE
from drbo.graph.pag import pag_of
from drbo.result.compare_marks import Count, compare_marks, pag_over, sign


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
    assert made.bidirected == Count(0, 0, 1)
    assert made.tails.precision is None
    assert made.bidirected.recall == 0
    assert not made.is_equal
    assert made.pairs("same") == ((0, 1),)
    assert made.pairs("different") == ((1, 2), (2, 3))
    assert made.pairs("extra") == ((1, 3),)
    assert made.pairs("missing") == ()
    assert compare_marks(truth, truth).is_equal


def test_words_and_json_name_every_edge():
    made = compare_marks(*_pags(), "abcd")
    text = made.text(("est", "truth"))
    assert "b <-o c, but b <-> c" in text
    assert "a o-> b" in text
    assert "bidirected            -    0.000" in text
    found = made.to_dict()
    assert found["extra"] == [["b", "d", "<-o", "   "]]
    assert found["arrowheads"]["precision"] == pytest.approx(2 / 3)


def test_nodes_that_a_truth_has_beyond_the_columns_are_hidden():
    names = ["a", "b", "c", "d", "H"]
    dag = np.zeros((5, 5), dtype=bool)
    dag[0, 1] = dag[3, 2] = dag[4, 1] = dag[4, 2] = True
    found = pag_over(dag, names, ["d", "c", "b", "a", "z"]).marks
    assert found[1, 2] == found[2, 1] == ARROW
    assert found[3, 2] == ARROW
    assert found[2, 3] == CIRCLE
    assert not found[4].any()
    with pytest.raises(DataError, match="no node in common"):
        pag_over(dag, names, ["p"])


def test_a_long_list_is_cut():
    complete = pag_of(Mag.of(np.triu(np.ones((11, 11)), 1)))
    assert "and 15 more" in compare_marks(complete, complete).text(("a", "b"))
    assert sign(complete, 0, 1) == "o-o"
