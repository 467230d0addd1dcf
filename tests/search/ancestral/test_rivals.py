import numpy as np
import pytest

from drbo.graph.mag import Mag
from drbo.graph.marks import ARROW, TAIL
from drbo.graph.pag import pag_of
from drbo.search.ancestral.ricf import DistrictScores
from drbo.search.ancestral.rivals import losses_of_marks
from tests.search.ancestral.graphs import PAIRS, all_mags, random_table

N = 400


def _changes(graph, other):
    """Return the pairs whose edges differ."""
    marks, others = graph.marks(), other.marks()
    return [pair for pair in PAIRS if marks[pair] != others[pair] or marks[pair[::-1]] != others[pair[::-1]]]


@pytest.mark.floats
def test_the_loss_is_that_to_the_best_graph_two_changes_away(rng):
    scores = DistrictScores(np.corrcoef(random_table(rng, N, 4, 2, degree=1.5).T), N, price=9.0)
    graph = max(all_mags(), key=scores.total)
    pag = pag_of(graph)
    found = losses_of_marks(scores, graph, pag)
    for i, j in PAIRS:
        best = -np.inf
        for other in all_mags():
            changes, marks = _changes(graph, other), other.marks()
            contradicts = any(
                pag[a, b] in (ARROW, TAIL) and marks[a, b] not in (0, pag[a, b]) for a, b in ((i, j), (j, i))
            )
            if contradicts and len(changes) <= 2 and (i, j) in changes:
                best = max(best, scores.total(other))
        if found[i, j] < np.inf:  # the first of two changes must leave the graph legal
            assert found[i, j] >= scores.total(graph) - best - 1e-6
        if best == -np.inf:
            assert found[i, j] == np.inf


def test_required_edges_have_no_rivals():
    chain = Mag.of(np.eye(3, k=1))
    required = np.eye(3, k=1, dtype=bool)
    scores = DistrictScores(np.array([[1.0, 0.6, 0.4], [0.6, 1.0, 0.6], [0.4, 0.6, 1.0]]), 100, 4.0)
    assert np.isinf(losses_of_marks(scores, chain, chain.marks(), required)).all()
    assert np.isfinite(losses_of_marks(scores, chain, chain.marks())[0, 1])
