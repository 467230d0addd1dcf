from dataclasses import replace

import numpy as np
import pytest

from drbo.claims.checks.proof import CUT_SHORT, TOO_MANY, ProofClaim
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Stop
from drbo.scores.linear import BicNV
from drbo.search.exact.proof import Certificate
from drbo.search.outcome import Evaluated, Outcome
from drbo.settings import Settings
from tests.claims.contexts import context_of

ARROW = np.array([[0, 1], [0, 0]], dtype=bool)
BEST = Evaluated(ARROW[None], np.zeros((1, 2)), np.zeros(1))


def _context(rng, stop=Stop.CONVERGED, certificate=None, **inquiry):
    table = Statistics.from_array(rng.normal(size=(50, 2)))
    found = context_of(BicNV(table), table, ARROW, **inquiry)
    outcome = Outcome(BEST, "order search", 1, 1, stop, "")
    return replace(found, answer=replace(found.answer, outcome=outcome, certificate=certificate))


def test_the_proof_is_what_the_certificate_says(rng):
    certificate = Certificate(best=BEST, upper_bound=1.5, tolerance=1e-9, valid_for="all DAGs on 2 columns")
    proof = ProofClaim().run(_context(rng, certificate=certificate)).record
    assert (proof.upper_bound, proof.valid_for, proof.gap(0.5)) == (1.5, "all DAGs on 2 columns", 1.0)


@pytest.mark.parametrize(("stop", "why"), [(Stop.CONVERGED, TOO_MANY), (Stop.INTERRUPTED, CUT_SHORT)])
def test_without_a_certificate_it_is_said_why(rng, stop, why):
    assert ProofClaim().run(_context(rng, stop)).skipped == why


@pytest.mark.parametrize(
    ("exact", "rationed", "relevant"),
    [("on", True, True), ("auto", False, True), ("auto", True, False), ("off", False, False)],
)
def test_nothing_is_proved_unasked_where_evaluations_are_rationed(rng, exact, rationed, relevant):
    context = _context(rng, rationed=rationed)
    inquiry = replace(context.inquiry, settings=Settings(exact=exact))
    assert ProofClaim().relevant(replace(context, inquiry=inquiry)) == relevant


def test_a_proof_that_cost_nothing_is_told(rng):
    """All families were known already."""
    certificate = Certificate(best=BEST, upper_bound=0.0, tolerance=1e-9, valid_for="all DAGs on 2 columns")
    assert ProofClaim().relevant(_context(rng, certificate=certificate, rationed=True))
