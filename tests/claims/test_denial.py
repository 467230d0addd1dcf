"""Records of what speaks against arrows."""

from drbo.claims.denial import Denial, by_edge, in_order


def test_denials_are_sorted_and_grouped_by_edge():
    told = {"claim": "colliders", "grounds": ("class",), "sentence": "No."}
    found = [Denial(cause=cause, effect=effect, **told) for cause, effect in (("b", "a"), ("a", "c"))]
    assert [(one.cause, one.effect) for one in in_order(found, "abc")] == [("a", "c"), ("b", "a")]
    twice = by_edge([*found, *found])
    assert {edge: len(some) for edge, some in twice.items()} == {("b", "a"): 2, ("a", "c"): 2}
