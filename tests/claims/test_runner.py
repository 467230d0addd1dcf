"""The runner: every claim is made, does not apply, or is skipped with a reason."""

from dataclasses import dataclass

import pytest

from drbo.claims.claim import Context, Ruling, denials
from drbo.claims.runner import NO_TIME, run_claims
from drbo.deadline import Deadline, OutOfTimeError


@dataclass
class Fake:
    name: str
    after: tuple = ()
    applies: bool = True
    large: str = ""
    fails: bool = False
    denies: tuple = ("class",)
    title: str = "A test"
    always: bool = False
    at_hand: bool = False
    ends: type = OutOfTimeError
    runs: int = 0

    def relevant(self, context):
        return self.applies

    def too_much(self, context):
        return self.large

    def run(self, context):
        self.runs += 1
        if self.fails:
            raise self.ends
        return Ruling(f"{self.name} after {sorted(context.done)}", denials(self, {("a", "b"): "No."}))


def _run(*claims, **options):
    return run_claims(claims, Context(inquiry=None, answer=None), **options)


def _status(rulings):
    return {one.name: (one.status, one.why) for one in rulings.made}


def test_claims_see_the_records_of_those_before_them():
    found = _run(Fake("first"), Fake("second", after=("first",)))
    assert found.records == {"first": "first after []", "second": "second after ['first']"}
    assert [one.claim for one in found.denials] == ["first", "second"]
    assert _status(found) == {"first": ("ran", ""), "second": ("ran", "")}


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"applies": False}, ("irrelevant", "")),
        ({"large": "too many edges"}, ("skipped", "too many edges")),
        ({"fails": True}, ("skipped", NO_TIME)),
    ],
)
def test_a_claim_that_is_not_made_says_why_and_ends_those_that_build_on_it(options, status):
    after = Fake("second", after=("first",))
    found = _run(Fake("first", **options), after, Fake("third"))
    assert _status(found) == {"first": status, "second": status, "third": ("ran", "")}
    assert after.runs == 0
    assert set(found.records) == {"third"}
    assert found.made[0].grounds == ("class",)


def test_nothing_is_made_after_the_deadline():
    claim = Fake("first")
    with Deadline(0.0):
        found = _run(claim)
    assert (claim.runs, _status(found)) == (0, {"first": ("skipped", NO_TIME)})


def test_claims_that_nobody_asked_for_are_skipped_but_for_those_that_take_a_moment():
    some = Fake("first", always=True), Fake("second"), Fake("third", applies=False)
    found = _run(*some, unasked="nobody asked")
    assert [claim.runs for claim in some] == [1, 0, 0]
    assert _status(found) == {"first": ("ran", ""), "second": ("skipped", "nobody asked"), "third": ("irrelevant", "")}


def test_what_is_at_hand_is_told_when_the_time_is_over():
    with Deadline(0.0):
        found = _run(Fake("known", at_hand=True), Fake("other"))
    assert _status(found) == {"known": ("ran", ""), "other": ("skipped", NO_TIME)}


def test_who_interrupts_a_claim_gets_those_that_were_made():
    with Deadline() as deadline:
        found = _run(Fake("first"), Fake("second", fails=True, ends=KeyboardInterrupt), Fake("third"))
    assert _status(found) == {
        "first": ("ran", ""), "second": ("skipped", "interrupted"), "third": ("skipped", "interrupted"),
    }  # fmt: skip
    assert deadline.interrupted
