"""Runs the claims about an answer: each is made, does not apply, or is skipped, and the result says which.

An arrow is supported only if every claim that could deny it was made and did not deny it.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from drbo.claims.claim import Claim, Context, Ruling
from drbo.claims.denial import ClaimRecord, Denial, Status
from drbo.deadline import INTERRUPTED, OutOfTimeError, Stop, current

#: Why a claim is skipped when the run has to end.
NO_TIME = "time ran out"


class Rulings(NamedTuple):
    """What the claims about an answer say."""

    records: dict[str, Any]  # by the name of the claim; only of claims that were made
    denials: tuple[Denial, ...]
    made: tuple[ClaimRecord, ...]


def run_claims(claims: Iterable[Claim], context: Context, unasked: str = "") -> Rulings:
    """Make all claims about an answer, in their order; the deadline that holds here ends them.

    ``unasked``: why only those are made that always are; empty: all of them are.
    """
    for claim in claims:
        status, why, ruling = _asked(claim, context, unasked)
        if status == "ran":
            context.done[claim.name] = ruling.record
        context.claims.append(claim)
        context.denied.extend(ruling.denied)
        context.made.append(ClaimRecord(name=claim.name, status=status, why=why, grounds=claim.denies))
    return Rulings(dict(context.done), tuple(context.denied), tuple(context.made))


def _asked(claim: Claim, context: Context, unasked: str) -> tuple[Status, str, Ruling]:
    """Make one claim, or say why not."""
    before = {one.name: one for one in context.made if one.name in claim.after}
    if any(one.status == "irrelevant" for one in before.values()) or not claim.relevant(context):
        return "irrelevant", "", Ruling()
    if missing := next((one for one in before.values() if one.status == "skipped"), None):
        return "skipped", missing.why, Ruling()
    if why := "" if claim.always else unasked:
        return "skipped", why, Ruling()
    if (reason := current().reason) is not None and not claim.at_hand:
        return "skipped", reason.words if reason.why is Stop.INTERRUPTED else NO_TIME, Ruling()
    if why := claim.too_much(context):
        return "skipped", why, Ruling()
    try:
        ruling = claim.run(context)
    except OutOfTimeError:
        return "skipped", NO_TIME, Ruling()
    except KeyboardInterrupt:  # it ends the claims, not the run
        current().stop()
        return "skipped", INTERRUPTED.words, Ruling()
    return "skipped" if ruling.skipped else "ran", ruling.skipped, ruling
