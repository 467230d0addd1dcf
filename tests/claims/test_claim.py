"""What a claim is made from."""

from types import SimpleNamespace

from drbo.claims.claim import denials


def test_denials_carry_the_claim_and_its_grounds():
    claim = SimpleNamespace(name="colliders", denies=("class",))
    found = denials(claim, {("b", "a"): "First.", ("a", "c"): "Second."})
    assert [(one.cause, one.effect, one.claim, one.grounds, one.sentence) for one in found] == [
        ("b", "a", "colliders", ("class",), "First."),
        ("a", "c", "colliders", ("class",), "Second."),
    ]
