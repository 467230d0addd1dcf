import numpy as np
import pytest

from drbo.graph.mag import Mag
from drbo.graph.pag import pag_of
from drbo.search.ancestral.climb import climb
from drbo.search.ancestral.listing import MOST_COLUMNS, REACH, proved
from drbo.search.ancestral.ricf import DistrictScores
from tests.search.ancestral.graphs import all_mags, random_table

N = 400


def _scores(rng, d=4, **given):
    return DistrictScores(np.corrcoef(random_table(rng, N, d, 2, degree=1.5).T), N, price=9.0, **given)


def _none(d=4):
    return np.zeros((d, d), dtype=bool)


@pytest.mark.floats
def test_no_graph_that_scores_enough_is_left_out(rng):
    for _ in range(4):
        scores = _scores(rng)
        totals = np.array([scores.total(graph) for graph in all_mags()])
        least = totals.max() - 12.0
        edges, values = scores.listed(_none(), least)
        np.testing.assert_allclose(np.sort(values), np.sort(totals[totals >= least]), atol=1e-9)
        assert edges.shape == (len(values), 6)


@pytest.mark.floats
def test_the_lead_is_that_over_the_best_graph_of_another_class(rng):
    classes = [pag_of(graph).tobytes() for graph in all_mags()]
    for _ in range(4):
        scores = _scores(rng)
        found = proved(scores, climb(scores, _none(), 0).graph, _none())
        own = pag_of(found.graph).tobytes()
        others = max(scores.total(graph) for graph, one in zip(all_mags(), classes, strict=True) if one != own)
        expected = scores.total(found.graph) - others
        assert found.lead == pytest.approx(min(expected, REACH * scores.price), abs=0.01)
        assert found.lead > -scores.price


def test_a_graph_that_is_far_from_the_best_is_replaced_and_one_that_is_near_is_kept(rng):
    scores = _scores(rng)
    found = proved(scores, Mag.of(_none()), _none())
    assert found.gain == pytest.approx(scores.total(found.graph) - scores.total(Mag.of(_none())), abs=1e-6)
    again = proved(scores, found.graph, _none())
    assert again.gain == 0
    assert again.graph is found.graph
    assert again.lead == pytest.approx(found.lead, abs=1e-6)


@pytest.mark.floats
def test_without_reach_the_same_graph_is_found_and_hardly_another_one_is_fitted(rng):
    d, replaced = MOST_COLUMNS, 0
    for degree in (1.5, 2.5, 4.0):
        correlation = np.corrcoef(random_table(rng, N, d, 2, degree=degree).T)
        near, far = (DistrictScores(correlation, N, price=9.0) for _ in range(2))
        start = climb(near, np.triu(np.ones((d, d), dtype=bool), 1), 0).graph
        before = near._core.known
        gaining = proved(near, start, _none(d), least=0.0, reach=0.0)
        everything = proved(far, start, _none(d), least=0.0, reach=0.5)
        assert near._core.known - before < 1000  # of up to 101,368 districts
        assert (gaining.graph.marks() == everything.graph.marks()).all()
        assert gaining.gain == pytest.approx(everything.gain, abs=1e-6)
        replaced += gaining.gain > 0
    assert replaced > 0


def test_it_obeys_what_is_known(rng):
    never, required = _none(), _none()
    never[0] = required[3, 2] = True
    never[0, 0] = False
    scores = _scores(rng, never=never)
    edges, _ = scores.listed(required, -1e6)
    legal = [graph for graph in all_mags() if scores.is_legal(graph) and graph.directed[3, 2]]
    assert len(edges) == len(legal)


def test_more_columns_are_refused():
    d = MOST_COLUMNS + 1
    scores = DistrictScores(np.eye(d), 10, 1.0)
    with pytest.raises(ValueError, match="too many columns"):
        scores.listed(_none(d), 0.0)
