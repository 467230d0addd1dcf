import numpy as np

from drbo.claims.answer.stages import Answer
from drbo.claims.record import CheckedEdge, EdgePosterior, Margins, RankedClass
from drbo.claims.runner import Rulings
from drbo.claims.told import claims_of

COLUMNS = np.array([3, 0, 4, 1, 2])  # where each canonical column was given
PLACES = np.ix_(COLUMNS, COLUMNS)


def _restored(matrix):
    given = np.empty_like(matrix)
    given[PLACES] = matrix
    return given


def _answer():
    others = type("Others", (), {"over": "all DAGs"})()
    return Answer(outcome=None, dag=np.zeros((5, 5), dtype=bool), score=0.0, others=others)


def test_columns_go_back_to_their_places(rng):
    margins, posterior = Margins(*rng.normal(size=(2, 5, 5)), True), EdgePosterior(rng.random((5, 5)), "a prior")
    ranked = RankedClass(score=1.0, behind=0.0, edges=(("e", "a"), ("a", "e"), ("a", "b")))
    noise = (CheckedEdge(cause="b", effect="a"), CheckedEdge(cause="a", effect="b"))
    records = {"margins": margins, "posterior": posterior, "classes": (ranked,), "noise check": noise}
    found = claims_of(_answer(), Rulings(records, (), ()), _restored, "abcde")
    np.testing.assert_array_equal(found.margins.removed[PLACES], margins.removed)
    np.testing.assert_array_equal(found.margins.reversed[PLACES], margins.reversed)
    np.testing.assert_array_equal(found.posterior[PLACES], posterior.probability)
    assert not found.posterior.flags.writeable
    assert found.classes[0].edges == (("a", "b"), ("a", "e"), ("e", "a"))
    assert [one.cause for one in found.noise] == ["a", "b"]
    assert (found.over, found.prior) == ("all DAGs", "a prior")


def test_claims_that_were_not_made_leave_nothing():
    found = claims_of(_answer(), Rulings({}, (), ()), _restored, "abcde")
    assert (found.margins, found.classes, found.over, found.posterior, found.prior) == (None, (), "", None, "")
