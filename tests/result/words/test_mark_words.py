import pytest

from drbo.graph.marks import ARROW, CIRCLE, TAIL
from drbo.result.words.mark_words import SIGNS, mark_notes, meaning, sign_of


@pytest.mark.parametrize(
    ("marks", "words"),
    [
        ((TAIL, ARROW), "'a' is a cause of 'b'"),
        ((ARROW, TAIL), "'b' is a cause of 'a'"),
        ((CIRCLE, ARROW), "'b' is not a cause of 'a'"),
        ((CIRCLE, CIRCLE), "do not tell"),
        ((ARROW, ARROW), "Neither"),
        ((TAIL, CIRCLE), "linked"),
    ],
)
def test_every_pair_of_marks_has_its_sentence(marks, words):
    assert words in meaning(marks, "a", "b", visible=False)


def test_only_the_marks_in_a_picture_are_explained():
    assert mark_notes({}) == []
    assert len(mark_notes({(0, 1): ("hollow", "solid"), (1, 2): ("circle", "solid")})) == 3


def test_the_signs_that_are_explained_are_those_of_marks():
    assert {sign_of(a, b) for a in (TAIL, CIRCLE, ARROW) for b in (ARROW, CIRCLE)} >= {sign for sign, _ in SIGNS}
