import numpy as np
import pytest

from drbo.claims.ancestral import LEVELS, ancestral_answer, known_causes
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.errors import KnowledgeError
from drbo.graph.mag import Mag
from drbo.graph.marks import ARROW
from drbo.graph.pag import pag_of
from drbo.knowledge import Knowledge
from drbo.scores.linear import BicNV
from drbo.search.ancestral.gfci import PartialCorrelations, second_opinion
from drbo.search.ancestral.ricf import DistrictScores
from drbo.search.ancestral.rivals import losses_of_marks
from tests.hidden import confounded_table

NAMES = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("knowledge", "never"),
    [
        (Knowledge(forbidden=["a -> b"]), {("a", "b")}),
        (Knowledge(tiers=[["a"], ["b", "c"]]), {("b", "a"), ("c", "a")}),
        (Knowledge(roots=["a"]), {("b", "a"), ("c", "a")}),
        (Knowledge(leaves=["c"]), {("c", "a"), ("c", "b")}),
        (Knowledge(context=["a"]), {("b", "a"), ("c", "a")}),
        (Knowledge(max_parents=0), set()),
        (Knowledge(required=["a -> b"], max_parents=1), {("b", "a")}),
    ],
)
def test_knowledge_is_a_statement_about_causes(knowledge, never):
    found, always = known_causes(Constraints.of(knowledge, NAMES))
    assert {(NAMES[i], NAMES[j]) for i, j in np.argwhere(found)} == never
    assert {(NAMES[i], NAMES[j]) for i, j in np.argwhere(always)} == set(knowledge.required)


def test_the_answer_has_the_hidden_cause_and_both_methods_agree_on_it():
    table = Statistics.from_array(confounded_table().to_numpy())
    dag = np.zeros((5, 5), dtype=bool)
    dag[0, 1] = dag[0, 2] = dag[1, 2] = dag[3, 2] = dag[1, 4] = True
    found = ancestral_answer(BicNV(table, penalty=1.5), dag, Constraints.none(5), 0)
    assert found.bidirected[1, 2]
    assert found.gain > 0
    assert found.whole
    assert found.second[1, 2] == found.second[2, 1] == 2
    order = np.array([4, 3, 2, 1, 0])
    moved = found.rearranged(lambda matrix: matrix[np.ix_(order, order)])
    assert moved.bidirected[3, 2]
    assert moved.gain == found.gain


def test_marks_are_confirmed_at_all_levels_and_by_a_score_that_could_compare_them(rng):
    d = 9
    dag = np.triu(rng.random((d, d)) < 0.4, 1)
    X = rng.normal(size=(800, d)) @ np.linalg.inv(np.eye(d) - dag * rng.uniform(0.4, 1.2, (d, d)))
    score = BicNV(Statistics.from_array(X), penalty=1.5)
    found = ancestral_answer(score, dag, Constraints.none(d), 0)
    scores, graph = DistrictScores.of(score), Mag.of(found.directed, found.bidirected)
    losses = losses_of_marks(scores, graph, pag_of(graph))
    edges = graph.adjacent
    assert np.isinf(losses[edges]).any()
    assert (losses[edges] >= scores.price / 2).any()
    np.testing.assert_array_equal(~found.close[edges], (losses[edges] >= scores.price / 2) & np.isfinite(losses[edges]))
    tests = PartialCorrelations(scores.correlation, scores.n_rows)
    opinions = [second_opinion(dag, tests, alpha) for alpha in LEVELS]
    everywhere = np.all([one == ARROW for one in opinions], axis=0)
    np.testing.assert_array_equal(found.second == ARROW, everywhere)


def test_required_edges_that_make_a_forbidden_cause_are_refused():
    knowledge = Knowledge(required=["a -> b", "b -> c"], forbidden=["a -> c"])
    with pytest.raises(KnowledgeError, match="make 'a' a cause of 'c', which is forbidden"):
        known_causes(Constraints.of(knowledge, NAMES))
