import numpy as np
import pytest

from drbo.claims import likely_families as module
from drbo.claims.known_margins import KnownAlternatives
from drbo.claims.likely_families import likely_families, neighbours
from drbo.claims.probabilities.edge_prior import edge_log_odds
from drbo.claims.probabilities.posterior import edge_sums, evidence
from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.knowledge import Knowledge
from drbo.scores.families import Families
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import all_tables, count_legal, families_of, legal_rows, tables_of
from drbo.settings import Settings

D = 10


@pytest.fixture
def data():
    return simulate(f"{D}ER2", "linear", n=300, seed=4)


def _evaluator(data, score="bge"):
    return Evaluator(build_score(score, Statistics.from_array(data.X)), Settings())


def _sets(families):
    return {(int(node), tuple(np.flatnonzero(row))) for node, row in zip(families.nodes, families.parents, strict=True)}


def test_neighbours_are_one_edge_away():
    dag = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    assert _sets(neighbours(dag)) == {
        *((0, ()), (2, ()), (1, ()), (0, (1,)), (2, (1,)), (0, (2,)), (2, (0,)), (1, (0, 2)))
    }


def test_what_was_scored_before_changes_nothing(data):
    free = Constraints.none(D)
    found = likely_families(_evaluator(data), free, data.dag, None)
    busy = _evaluator(data)
    for node in range(D):
        busy.families(families_of(D, node)[np.arange(node, 1 << (D - 1), 3)])
    assert likely_families(busy, free, data.dag, None).keys() == found.keys()
    assert len(found) < D << (D - 1)
    apart = [KnownAlternatives(one, data.dag, None, found).margins for one in (busy, _evaluator(data))]
    np.testing.assert_array_equal(apart[0].removed, apart[1].removed)


def test_the_graph_and_those_one_edge_away_are_among_them(data):
    found = _sets(likely_families(_evaluator(data), Constraints.none(D), data.dag, None))
    assert _sets(neighbours(data.dag)) | _sets(Families.from_dags(data.dag[None])) <= found


def test_few_families_are_all_taken():
    data = simulate("5ER1", "linear", n=50, seed=1)
    assert len(likely_families(_evaluator(data), Constraints.none(5), data.dag, None)) == 5 * 16


def test_all_obey_the_knowledge(data, monkeypatch):
    monkeypatch.setattr(module, "FEW", 0)
    names = [f"x{k}" for k in range(D)]
    known = Knowledge(required=["x0 -> x1"], forbidden=["x2 -> x3"], roots=["x4"], max_parents=3)
    limits = Constraints.of(known, names)
    dag = limits.required
    found = likely_families(_evaluator(data), limits, dag, None)
    assert len(legal_rows(found, limits)) == len(found) <= count_legal(limits)
    assert found.sizes.max() == 3


def _probabilities(logs):
    return edge_sums(logs, "orders")


@pytest.mark.parametrize("seed", [4, 5])
def test_probabilities_over_them_are_those_over_all_families(seed):
    """Independent of chains: both by exact sums over orders; the families one edge away alone are far off."""
    data = simulate(f"{D}ER2", "linear", n=300, seed=seed)
    free, evaluator = Constraints.none(D), _evaluator(data)
    odds = edge_log_odds(D, 1.0, "orders") * np.bitwise_count(np.arange(1 << (D - 1)))

    def of(tables):
        return _probabilities(evidence(tables.shares(evaluator.score), evaluator.score) + odds)

    exact = of(all_tables(evaluator, free))
    likely = likely_families(evaluator, free, data.dag, None)
    error = [np.abs(of(tables_of(some, evaluator, free)) - exact).mean() for some in (likely, neighbours(data.dag))]
    assert error[0] < 0.02
    assert error[0] < error[1] / 3
