import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from drbo.data.statistics.statistics import Statistics
from drbo.scores.families import Families
from drbo.scores.gp import random_features as module
from drbo.scores.gp.random_features import RandomFeatures


@pytest.fixture
def values(rng):
    x = rng.normal(size=(120, 4))
    x[:, 3] = x[:, 0] * x[:, 1] + 0.3 * x[:, 3]
    return (x - x.mean(axis=0)) / x.std(axis=0)


def test_the_evidence_is_that_of_a_gaussian_process_with_the_kernel_of_the_waves(values):
    """The best of the grid, by scikit-learn's Gaussian process with many waves: it approaches the exact kernel."""
    score = RandomFeatures(Statistics.from_array(values))
    found = score.local(Families.from_sets(4, [(3, (0, 1))]))[0]
    best = -np.inf
    for scale in module.LONGEST / 2.0 ** np.arange(module.HALVINGS + 1):
        for noise in module.NOISES:
            kernel = RBF(scale * 2**0.5, "fixed") + WhiteKernel(noise, "fixed")
            inverse = np.linalg.inv(kernel(values[:, :2]))
            size = values[:, 3] @ inverse @ values[:, 3] / len(values)
            process = GaussianProcessRegressor(size * kernel, optimizer=None, alpha=0).fit(values[:, :2], values[:, 3])
            best = max(best, process.log_marginal_likelihood_value_)
    assert found == pytest.approx(best, abs=6.0)
    assert found - score.local(Families.from_sets(4, [(3, ())]))[0] == pytest.approx(best + 0.5 * 120 * 2.8379, abs=6.0)


def test_it_sees_causes_that_act_together_and_no_others(values):
    score = RandomFeatures(Statistics.from_array(values))
    nothing, alone, both, other = score.local(Families.from_sets(4, [(3, ()), (3, (0,)), (3, (0, 1)), (2, (0, 1))]))
    assert both > alone + 30
    assert nothing == pytest.approx(-0.5 * 120 * (np.log(2 * np.pi) + 1))
    assert other == pytest.approx(nothing, abs=3.0)


def test_a_family_has_one_value_whatever_it_is_computed_with(values):
    score, families = (
        RandomFeatures(Statistics.from_array(values)),
        Families.from_sets(4, [(3, (0, 1)), (2, (1,)), (1, ())]),
    )
    together = score.local(families)
    assert together.tolist() == [score.local(families[row : row + 1])[0] for row in range(3)]


def test_rows_set_by_an_intervention_are_left_out(values):
    targets = np.zeros(values.shape, dtype=bool)
    targets[:60, 3] = True
    part = RandomFeatures(Statistics.from_array(values), targets=targets)
    rest = RandomFeatures(Statistics.from_array(values[60:]))
    family = Families.from_sets(4, [(3, (0, 1))])
    assert part.local(family) == pytest.approx(rest.local(family))
