"""What a claim is made from."""

from types import SimpleNamespace

from drbo.claims.claim import denials
from drbo.claims.denial import by_edge, in_order


def test_denials_carry_the_claim_and_its_grounds():
    claim = SimpleNamespace(name="colliders", denies=("class",))
    found = denials(claim, {("b", "a"): "First.", ("a", "c"): "Second."})
    assert [(one.cause, one.effect, one.claim, one.grounds, one.sentence) for one in found] == [
        ("b", "a", "colliders", ("class",), "First."),
        ("a", "c", "colliders", ("class",), "Second."),
    ]
    assert [(one.cause, one.effect) for one in in_order(found, "abc")] == [("a", "c"), ("b", "a")]
    twice = by_edge([*found, *found])
    assert {edge: len(some) for edge, some in twice.items()} == {("b", "a"): 2, ("a", "c"): 2}
