"""The result in plain words."""

import numpy as np

from drbo.claims.denial import ClaimRecord
from drbo.claims.record import Margins
from drbo.data.checks.facts import Audit, Finding
from drbo.deadline import Stop
from drbo.knowledge import Knowledge
from drbo.result.report.plain_words import plain_words
from tests.results import make_result, shares

V_SHAPE = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)
DECISIVE = Margins(np.full((4, 4), 50.0), np.full((4, 4), 50.0), exact=True)


def words(dag, **changes):
    return plain_words(make_result(dag, names=tuple("abcdefgh"[: len(dag)]), n_rows=500, **changes))


def test_an_open_edge_is_a_link_without_a_direction():
    found = words([[0, 1], [0, 0]])
    assert found.says == ("a and b are linked.", "The data cannot tell which causes which.")
    assert found.next[0].startswith("Ask somebody who knows the field whether a or b comes first")


def test_supported_arrows_say_who_supports_them():
    made = (ClaimRecord(name="colliders", status="ran", grounds=("class",)),)
    found = words(V_SHAPE, margins=DECISIVE, made=made, knowledge=Knowledge(required=["a -> c"]))
    assert "The data support that b causes c." in found.says
    assert "As you stated, a causes c." in found.says
    assert "Nothing in the table is directly linked to d." in found.says
    assert not any("cannot tell" in sentence for sentence in found.says)


def test_an_order_that_was_stated_is_not_a_statement_that_one_causes_the_other():
    found = words([[0, 1], [0, 0]], knowledge=Knowledge(roots=["a"]))
    assert "Linked, and by what you stated only this way round: a causes b." in found.says
    assert not any("As you stated" in sentence for sentence in found.says)


def test_assumed_arrows_are_called_a_guess():
    assert any("Hollow arrows are guesses" in sentence for sentence in words(V_SHAPE).says)


def test_the_strongest_links_come_first():
    dag = np.triu(np.ones((5, 5), dtype=bool), 1)
    weights = np.where(dag, 0.1, 0.0)
    weights[2, 4] = -0.9
    found = words(dag, standardised_weights=weights)
    assert found.says[0].startswith("10 of the 10 pairs of variables are directly linked; the strongest links are c–e,")


def test_no_edges_and_few_rows():
    empty = words(np.zeros((3, 3)))
    assert empty.says == ("In 500 rows, none of the 3 variables is linked to another.",)
    assert empty.next == ("Collect more rows, or add the variables that are thought to be causes.",)
    few = plain_words(make_result(V_SHAPE, n_rows=12))
    assert "With 12 rows for 4 variables, some links may be chance." in few.doubt


def test_what_to_doubt_includes_the_data_and_hidden_causes():
    audit = Audit((), (Finding("scale", "mild", serious=False), Finding("rows", "too few rows", serious=True)))
    found = words(V_SHAPE, audit=audit, stop=Stop.TIME_LIMIT)
    assert found.doubt[0].startswith("The run was stopped early")
    assert "About the data: too few rows." in found.doubt
    assert "not in the table" in found.doubt[-1]


def test_after_a_bootstrap_weak_links_are_named_and_no_other_is_asked_for():
    both, one = V_SHAPE.copy(), V_SHAPE.copy()
    one[1, 2] = False
    confidence = shares([both, *[one] * 9], names=tuple("abcd"))
    found = words(V_SHAPE, confidence=confidence)
    assert "1 of the links is weak (dashed) and may not be there." in found.doubt
    assert not any("--bootstrap" in sentence for sentence in found.next)
