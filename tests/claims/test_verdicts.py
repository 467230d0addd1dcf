import numpy as np

from drbo.claims.denial import ClaimRecord, Denial
from drbo.claims.verdicts import supported, verdicts
from drbo.data.statistics.statistics import Statistics
from drbo.scores.linear import BicNV
from tests.claims.contexts import context_of

COLLIDER = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)


def test_what_is_supported_so_far_follows_from_the_claims_made_so_far(rng):
    table = Statistics.from_array(rng.normal(size=(50, 3)), list("abc"))
    context = context_of(BicNV(table), table, COLLIDER)
    assert supported(context) == {}  # nothing was checked
    context.made.append(ClaimRecord(name="colliders", status="ran", grounds=("class",)))
    assert supported(context) == {("a", "c"): "class", ("b", "c"): "class"}
    context.denied.append(Denial(cause="a", effect="c", claim="colliders", grounds=("class",), sentence="No."))
    assert supported(context) == {("b", "c"): "class"}
    assert verdicts(context)[0].sentence.startswith("No.")
    context.made.append(ClaimRecord(name="ranks", status="skipped", why="no time", grounds=("class",)))
    assert supported(context) == {}
