import warnings

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from drbo.data.table import Table
from drbo.errors import ScoreError
from drbo.scores.base import Families
from drbo.scores.gp import GpScore, standardized, winsorized

N = 90


@pytest.fixture
def values(rng):
    x = rng.normal(size=(N, 4))
    x[:, 1] += 1.5 * np.sin(2 * x[:, 0])
    x[:, 2] += x[:, 1] ** 2 - x[:, 0]
    return x


FAMILIES = Families.from_sets(4, [(1, (0,)), (0, (1,)), (2, (0, 1)), (2, (1,)), (3, (0,)), (3, (0, 1, 2)), (1, ())])


def _sklearn(columns, family, kernel, optimizer):
    node, parents = int(FAMILIES.nodes[family]), np.flatnonzero(FAMILIES.parents[family])
    model = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=optimizer, n_restarts_optimizer=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # parameters at the end of their range
        return model.fit(columns[:, parents], columns[:, node]).log_marginal_likelihood_value_


def test_the_evidence_is_sklearns_at_the_same_parameters_and_not_below_its_optimum(values):
    score = GpScore(Table.from_array(values))
    columns = standardized(winsorized(values))
    fit = score.fit(FAMILIES)
    for family in range(6):
        if fit.amplitude[family] > 0:
            kernel = ConstantKernel(fit.amplitude[family]) * RBF(fit.length_scale[family])
            kernel += WhiteKernel(fit.noise[family])
            assert fit.log_evidence[family] == pytest.approx(_sklearn(columns, family, kernel, None), abs=1e-4)
        start = ConstantKernel(1.0, (1e-6, 1e6)) * RBF(1.0, (1e-3, 1e4)) + WhiteKernel(0.5, (1e-6, 1e3))
        assert fit.log_evidence[family] >= _sklearn(columns, family, start, "fmin_l_bfgs_b") - 0.05


def test_the_empty_family_is_a_normal_distribution(values):
    local = GpScore(Table.from_array(values)).local(FAMILIES)
    column = standardized(winsorized(values))[:, 1]
    assert local[6] == pytest.approx(-0.5 * (N * np.log(2 * np.pi) + column @ column))


def test_units_do_not_matter(values):
    scaled = values * np.array([0.01, 100.0, 1.0, 30.0]) + 5.0
    first, second = (GpScore(Table.from_array(x)).local(FAMILIES) for x in (values, scaled))
    assert first == pytest.approx(second, abs=1e-3)


def test_a_nonlinear_cause_is_found_and_noise_does_not_pay(values):
    score = GpScore(Table.from_array(values))
    share = score.gain * score.local(FAMILIES) + score.family_price(FAMILIES)
    assert share[0] > share[6] + 20  # 0 -> 1
    empty = Families.from_sets(4, [(3, ())])
    assert share[4] < score.gain * score.local(empty)[0]  # nothing causes 3


def test_long_tables_are_refused(rng):
    with pytest.raises(ScoreError, match=r"2,?000"):
        GpScore(Table.from_array(rng.normal(size=(2001, 2))))
