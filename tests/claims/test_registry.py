"""All claims pass the same door."""

import numpy as np
import pytest

from drbo import DrBO
from drbo.claims.registry import CLAIMS
from tests import rain

NAMES = [claim.name for claim in CLAIMS]


def test_names_are_unique_and_claims_build_on_earlier_ones():
    assert len(set(NAMES)) == len(NAMES)
    for k, claim in enumerate(CLAIMS):
        assert set(claim.after) <= set(NAMES[:k])


@pytest.mark.parametrize("kind", ["numbers", "mixed", "categories", "nothing linked"])
def test_a_result_says_of_every_claim_whether_it_was_made(kind, rng):
    frame = rain.frame()
    if kind == "mixed":
        frame[frame.columns[0]] = np.where(frame[frame.columns[0]] > 0, "yes", "no")
    if kind == "categories":
        frame = frame.map(lambda value: "yes" if value > 0 else "no")
    if kind == "nothing linked":
        frame[:] = rng.normal(size=frame.shape)
    result = DrBO(random_state=0).fit(frame).result_
    assert [one.name for one in result.claims.made] == NAMES
    assert {one.status for one in result.claims.made} <= {"ran", "irrelevant"}
