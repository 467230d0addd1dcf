import numpy as np
import pytest

from drbo.data.statistics.table import Table
from drbo.scores.families import Families
from drbo.scores.linear import BicNV
from drbo.search.evaluation.prices import additive_prices

D = 5


class CountsPairs(BicNV):
    """A price that does not add up over parents."""

    def parameters(self, families):
        return families.sizes**2


@pytest.fixture
def table(rng):
    return Table.from_array(rng.normal(size=(60, D)))


def test_prices_that_add_up_are_found(table, rng):
    score = BicNV(table, penalty="ebic", edge_prior=rng.normal(size=(D, D)))
    empty, each = additive_prices(score)
    families = Families.from_sets(D, [(0, (1, 3)), (2, ()), (4, (0, 1, 2, 3))])
    for node, parents, price in zip(families.nodes, families.parents, score.family_price(families), strict=True):
        assert empty[node] + each[node] @ parents == pytest.approx(price, rel=1e-12)


def test_prices_of_some_candidates_are_those_among_all(table, rng):
    score = BicNV(table, edge_prior=rng.normal(size=(D, D)))
    candidates = np.array([[1, 3], [4, -1], [0, 1], [2, -1], [0, 3]], dtype=np.int32)
    empty, each = additive_prices(score, candidates)
    all_empty, of_all = additive_prices(score)
    assert empty == pytest.approx(all_empty)
    for node, own in enumerate(candidates):
        assert each[node, own >= 0] == pytest.approx(of_all[node, own[own >= 0]])
        assert (each[node, own < 0] == 0).all()


def test_prices_that_do_not_add_up_are_noticed(table):
    assert additive_prices(CountsPairs(table)) is None
