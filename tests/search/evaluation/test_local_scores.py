import sys

import numpy as np
import pytest

from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline, OutOfTimeError
from drbo.errors import ScoreError
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.search.evaluation.local_scores import family_words, local_scores

FAMILIES = Families.from_sets(4, [(node, parents) for node in (2, 3) for parents in ((), (0,), (0, 1))])


class Listed(Score):
    """Knows the cells it was asked for, and answers as it is told."""

    name = "listed"

    def __init__(self, table, answer=lambda node, parents: float(node + 10 * sum(parents)), cell=None):
        super().__init__(table)
        self.answer, self.cell, self.asked = answer, cell, []

    def local(self, families):
        self.asked.append(len(families))
        return super().local(families)

    def local_one(self, node, parents):
        return self.answer(node, parents)


@pytest.fixture
def table(rng):
    return Statistics.from_array(rng.normal(size=(20, 4)))


def test_a_batch_is_cut_into_cells(table):
    whole, cells = Listed(table), Listed(table, cell=4)
    expected = [2.0, 2.0, 12.0, 3.0, 3.0, 13.0]
    assert local_scores(whole, FAMILIES).tolist() == local_scores(cells, FAMILIES).tolist() == expected
    assert (whole.asked, cells.asked) == ([6], [4, 2])
    assert local_scores(whole, FAMILIES[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda node, parents: np.nan if parents == (0, 1) else 0.0, "is nan for"),
        (lambda node, parents: 1 / (len(parents) - 2), "failed for"),
        (lambda node, parents: sys.exit(0) if parents == (0, 1) else 0.0, "failed for"),
    ],
    ids=["a bad number", "an exception", "an exit"],
)
def test_the_family_that_fails_is_named(table, answer, words):
    with pytest.raises(ScoreError, match=rf"{words} node 'x2' with parents \['x0', 'x1'\]"):
        local_scores(Listed(table, answer), FAMILIES)


def test_what_was_finished_before_the_time_was_over_is_kept(table):
    done = []

    def answer(node, parents):
        if (node, parents) == (3, (0,)):
            raise OutOfTimeError
        return 1.0

    with Deadline(60), pytest.raises(OutOfTimeError):
        local_scores(Listed(table, answer, cell=2), FAMILIES, done)
    assert done == [1.0] * 4


def test_a_family_in_words(table):
    assert family_words(Listed(table), FAMILIES, 2) == "node 'x2' with parents ['x0', 'x1']"
