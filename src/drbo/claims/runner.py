"""Runs the claims about an answer: each is made, does not apply, or is skipped, and the result says which.

An arrow is supported only if every claim that could deny it was made and did not deny it.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from drbo.claims.claim import Claim, Context, Ruling
from drbo.claims.denial import ClaimRecord, Denial, Status
from drbo.deadline import OutOfTimeError, current

#: Why a claim is skipped when the run has to end.
NO_TIME = "time ran out"


class Rulings(NamedTuple):
    """What the claims about an answer say."""

    records: dict[str, Any]  # by the name of the claim; only of claims that were made
    denials: tuple[Denial, ...]
    made: tuple[ClaimRecord, ...]


def run_claims(claims: Iterable[Claim], context: Context) -> Rulings:
    """Make all claims about an answer, in their order; the deadline that holds here ends them.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> class Silent(Claim):
    ...     name, title, denies = "silent", "a test", ("class",)
    ...     def relevant(self, context): return True
    ...     def too_much(self, context): return "too many columns"
    ...     def run(self, context): return Ruling()
    >>> run_claims([Silent()], SimpleNamespace(done={})).made[0].status
    'skipped'
    """
    denied: list[Denial] = []
    made: list[ClaimRecord] = []
    for claim in claims:
        status, why, ruling = _asked(claim, context, made)
        if status == "ran":
            context.done[claim.name] = ruling.record
        denied += ruling.denied
        made.append(ClaimRecord(name=claim.name, status=status, why=why, grounds=claim.denies))
    return Rulings(dict(context.done), tuple(denied), tuple(made))


def _asked(claim: Claim, context: Context, made: list[ClaimRecord]) -> tuple[Status, str, Ruling]:
    """Make one claim, or say why not."""
    before = {one.name: one.status for one in made}
    if any(before[name] == "irrelevant" for name in claim.after) or not claim.relevant(context):
        return "irrelevant", "", Ruling()
    if missing := next((name for name in claim.after if before[name] == "skipped"), None):
        return "skipped", next(one.why for one in made if one.name == missing), Ruling()
    if why := claim.too_much(context):
        return "skipped", why, Ruling()
    if current().over():
        return "skipped", NO_TIME, Ruling()
    try:
        ruling = claim.run(context)
    except OutOfTimeError:
        return "skipped", NO_TIME, Ruling()
    return "skipped" if ruling.skipped else "ran", ruling.skipped, ruling
