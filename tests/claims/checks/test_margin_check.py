import numpy as np
import pytest

from drbo.claims.checks.margin_check import UNKNOWN, MarginCheck
from drbo.claims.record import Margins
from drbo.data.statistics.statistics import Statistics
from drbo.scores.linear import BicEV, BicNV
from tests.claims.contexts import context_of

COLLIDER = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)


def _ruling(rng, margin, *, exact=True, score=BicNV):
    table = Statistics.from_array(rng.normal(size=(50, 3)), list("abc"))
    found = context_of(score(table), table, COLLIDER)
    margins = None if margin is None else Margins(np.full((3, 3), 9.0), np.full((3, 3), margin), exact)
    found.done["margins"] = margins
    return MarginCheck().run(found)


@pytest.mark.parametrize(("margin", "denied"), [(9.22, 0), (9.20, 2)])  # odds of 100 are 9.21 on the scale of a BIC
def test_a_margin_is_decisive_from_odds_of_100_on(rng, margin, denied):
    found = _ruling(rng, margin).denied
    assert len(found) == denied
    if denied:
        assert found[0].sentence == "The best graph with the reverse of this arrow scores only 9.2 lower."
        assert found[0].grounds == ("experiment", "class")


@pytest.mark.parametrize("exact", [True, False])
def test_an_arrow_that_no_graph_has_the_other_way_is_decided_by_a_search_of_all_graphs(rng, exact):
    found = _ruling(rng, np.nan, exact=exact).denied
    assert [one.sentence for one in found] == ([] if exact else [UNKNOWN] * 2)


def test_without_margins_or_evidence_the_claim_is_not_made(rng):
    assert "not computed" in _ruling(rng, None).skipped
    if BicEV.evidence_scale is None:
        assert _ruling(rng, 99.0, score=BicEV).skipped
