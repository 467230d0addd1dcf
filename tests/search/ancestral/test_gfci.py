import numpy as np
import pytest
from scipy.stats import norm

from drbo.graph.mag import Mag
from drbo.graph.marks import ARROW
from drbo.graph.pag import pag_of
from drbo.search.ancestral.gfci import PartialCorrelations, second_opinion

N = 1000


def test_p_values_are_those_of_regression_residuals(rng):
    X = rng.normal(size=(N, 5)) @ rng.normal(size=(5, 5))
    given = [2, 4]
    design = np.column_stack([np.ones(N), X[:, given]])
    residuals = [X[:, k] - design @ np.linalg.lstsq(design, X[:, k], rcond=None)[0] for k in (0, 1)]
    r = np.corrcoef(residuals)[0, 1]
    expected = 2 * norm.sf(abs(0.5 * np.log((1 + r) / (1 - r))) * np.sqrt(N - 2 - 3))
    assert PartialCorrelations(np.corrcoef(X.T), N).best(0, 1, given, 2)[0] == pytest.approx(expected, rel=1e-6)


def test_collinear_sets_separate():
    correlation = np.ones((3, 3))
    assert PartialCorrelations(correlation, N).best(0, 1, [2], 1) == (1.0, (2,))


def test_an_edge_that_only_cancels_another_is_removed():
    """a -> b <- H -> c <- d: the best DAG has a -> c or d -> b as well."""
    right = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        a, d, hidden = rng.normal(size=(3, N))
        X = np.column_stack([a, a + hidden + rng.normal(size=N), d + hidden + rng.normal(size=N), d])
        dag = np.zeros((4, 4), dtype=bool)
        dag[0, 1] = dag[0, 2] = dag[1, 2] = dag[3, 2] = True
        marks = second_opinion(dag, PartialCorrelations(np.corrcoef(X.T), N))
        right += bool(marks[0, 2] == 0 and marks[1, 2] == marks[2, 1] == ARROW)
    assert right >= 8


def test_without_hidden_causes_the_marks_are_those_of_the_dag(rng):
    dag = np.zeros((5, 5), dtype=bool)
    dag[0, 2] = dag[1, 2] = dag[2, 3] = dag[2, 4] = dag[3, 4] = True
    X = rng.normal(size=(N, 5)) @ np.linalg.inv(np.eye(5) - 0.6 * dag)
    np.testing.assert_array_equal(second_opinion(dag, PartialCorrelations(np.corrcoef(X.T), N)), pag_of(Mag.of(dag)))
