import numpy as np
import pytest
from scipy.optimize import minimize

from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError
from drbo.graph.mag import Mag
from drbo.scores.families import Families
from drbo.scores.linear import BicEV, BicNV
from drbo.search.ancestral.ricf import BACKWARD, BOTH, FORWARD, LARGEST_DISTRICT, NONE, DistrictScores, changed
from tests.search.ancestral.graphs import all_mags, random_mag, random_table

N = 400


def _best_likelihood(graph, correlation):
    """-2/n of the log likelihood without constants, maximised over all parameters at once."""
    d = len(correlation)
    arrows, both = np.argwhere(graph.directed), np.argwhere(np.triu(graph.bidirected))

    def deviance(x):
        weights, noise = np.zeros((d, d)), np.diag(np.exp(x[:d]))
        weights[tuple(arrows.T)] = x[d : d + len(arrows)]
        noise[tuple(both.T)] = x[d + len(arrows) :]
        noise[tuple(both.T[::-1])] = x[d + len(arrows) :]
        sign, log = np.linalg.slogdet(noise)
        if sign <= 0 or np.linalg.eigvalsh(noise)[0] <= 1e-9:
            return 1e3
        residual = np.eye(d) - weights
        return log + np.trace(np.linalg.solve(noise, residual.T @ correlation @ residual)) - d

    start = np.zeros(d + len(arrows) + len(both))
    return min(minimize(deviance, start + shift, method="BFGS", options={"gtol": 1e-7}).fun for shift in (0.0, 0.05))


@pytest.mark.floats
def test_the_fit_is_the_maximum_of_the_likelihood(rng):
    for _ in range(8):
        graph = random_mag(rng, 4, 2, degree=1.5)
        correlation = np.corrcoef(random_table(rng, N, 4, 2, degree=1.5).T)
        scores = DistrictScores(correlation, N, price=3.0)
        found = -(scores.total(graph) + 3.0 * graph.n_edges) / N
        assert found == pytest.approx(_best_likelihood(graph, correlation), abs=2e-4)


@pytest.mark.floats
def test_a_dag_has_the_score_of_bic_nv(rng):
    table = Statistics.from_array(random_table(rng, N, 6, 2))
    score = BicNV(table, penalty=1.5)
    scores = DistrictScores.of(score)
    dag = np.triu(rng.random((6, 6)) < 0.5, 1)
    families = Families.from_dags(dag[None])
    expected = float(score.combine(score.local(families), score.family_price(families)))
    constant = N * score.groups[0][0].sum()
    assert scores.total(Mag.of(dag)) == pytest.approx(expected + constant, rel=1e-9)


@pytest.mark.floats
def test_gains_are_differences_of_totals_and_illegal_graphs_have_none(rng):
    scores = DistrictScores(np.corrcoef(random_table(rng, N, 4, 2).T), N, price=4.0)
    legal = {graph.marks().tobytes() for graph in all_mags()}
    for graph in all_mags()[::97]:
        moves = np.array([[i, j, kind] for i in range(4) for j in range(i) for kind in range(4)])
        for move, gain in zip(moves, scores.gains(graph, moves), strict=True):
            after = changed(graph, *move)
            if np.isfinite(gain):
                assert gain == pytest.approx(scores.total(after) - scores.total(graph), abs=1e-9)
            assert np.isfinite(gain) == (after.marks().tobytes() in legal) == scores.is_legal(after)


def test_large_districts_and_forbidden_ancestors_are_not_legal():
    d = LARGEST_DISTRICT + 1
    both = np.eye(d, k=1, dtype=bool)
    scores = DistrictScores(np.eye(d), 10, 1.0)
    assert not scores.is_legal(Mag.of(np.zeros((d, d)), both | both.T))
    both[0, 1] = False
    assert scores.is_legal(Mag.of(np.zeros((d, d)), both | both.T))
    never = np.zeros((3, 3), dtype=bool)
    never[0, 2] = True
    chain = np.eye(3, k=1, dtype=bool)
    assert DistrictScores(np.eye(3), 10, 1.0).is_legal(Mag.of(chain))
    assert not DistrictScores(np.eye(3), 10, 1.0, never).is_legal(Mag.of(chain))  # not even through 1


def test_districts_are_fitted_once(rng):
    scores = DistrictScores(np.corrcoef(random_table(rng, N, 4, 1).T), N, 1.0)
    graph = Mag.of(np.zeros((4, 4)))
    moves = np.array([[0, 1, BOTH], [0, 1, FORWARD], [0, 1, BACKWARD], [0, 1, NONE]])
    first = scores.gains(graph, moves)
    known = scores._core.known
    assert known == 5  # 0 and 1 alone, 0 <-> 1, 0 | 1, 1 | 0
    np.testing.assert_array_equal(scores.gains(graph, moves), first)
    assert scores._core.known == known


def test_scores_that_cannot_be_extended_are_refused(rng):
    table = Statistics.from_array(rng.normal(size=(30, 3)))
    targets = np.zeros((30, 3), dtype=bool)
    targets[:5, 0] = True
    for score, words in (
        (BicEV(table), "bic-ev"),
        (BicNV(table, targets=targets), "interventions"),
        (BicNV(table, edge_prior=np.ones((3, 3))), "edge prior"),
    ):
        with pytest.raises(ScoreError, match=words):
            DistrictScores.of(score)


@pytest.mark.parametrize("move", [[0, 3, 1], [0, 0, 1], [0, 1, 4], [-1, 0, 1]])
def test_moves_out_of_range_are_refused(move):
    with pytest.raises(ValueError, match="must"):
        DistrictScores(np.eye(3), 10, 1.0).gains(Mag.of(np.zeros((3, 3))), np.array([move]))
