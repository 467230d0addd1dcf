import warnings

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from drbo.data.table import Table
from drbo.errors import SettingsError
from drbo.scores.base import Families
from drbo.scores.gp_paper import GpEV, GpNV

N = 80


@pytest.fixture
def values(rng):
    x = rng.normal(size=(N, 4))
    x[:, 1] += 2 * np.sin(2 * x[:, 0])
    x[:, 2] += x[:, 1] ** 2 - x[:, 0]
    return 2 * x


def _all_families(d):
    masks = [(i, [j for j in range(d) if m >> j & 1]) for i in range(d) for m in range(1, 1 << d) if not m >> i & 1]
    return Families.from_sets(d, masks)


@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_the_regression_is_sklearns(values, alpha):
    families = _all_families(4)
    score = GpNV(Table.from_array(values), alpha=alpha)
    fit, local = score.fit(families), score.local(families)
    for row in range(len(families)):
        x, y = values[:, families.parents[row]], values[:, families.nodes[row]]
        fixed = GaussianProcessRegressor(RBF(fit.length_scale[row], "fixed"), alpha=alpha, optimizer=None).fit(x, y)
        assert fit.log_likelihood[row] == pytest.approx(fixed.log_marginal_likelihood_value_, rel=1e-6, abs=1e-4)
        mse = np.mean((y - fixed.predict(x)) ** 2)
        assert local[row] == pytest.approx(np.log(mse + 1 / N), abs=1e-4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a length scale at the end of its range
            fitted = GaussianProcessRegressor(RBF(1.0, (1.0, 1e5)), alpha=alpha).fit(x, y)
        assert fit.log_likelihood[row] >= fitted.log_marginal_likelihood_value_ - 1e-3


def test_without_parents_the_mse_is_the_variance(values):
    local = GpNV(Table.from_array(values)).local(Families.from_sets(4, [(2, ())]))
    assert local[0] == pytest.approx(np.log(values[:, 2].var() + 1 / N))


def test_equal_variances_combine_as_in_the_paper(values):
    score = GpEV(Table.from_array(values))
    families = Families.from_dags(np.triu(np.ones((1, 4, 4), dtype=bool), 1))
    local, price = torch.as_tensor(score.local(families)), torch.as_tensor(score.family_price(families))
    expected = -N * 4 * np.log(np.exp(local.numpy()).mean()) - 6 * np.log(N)
    assert float(score.combine(local, price)) == pytest.approx(expected)


def test_the_fingerprints_of_the_true_graphs(data_dir):
    """Scores of the true graphs of the paper's data, by the authors' rules."""
    sets = np.load(data_dir / "gran_dag" / "p10_e40_n1000_gp_ids1to5.npz")
    for number, expected in ((1, 2.025187), (4, 1.595706)):
        x, dag = sets["X"][number - 1], sets["A"][number - 1].astype(bool)
        score = GpNV(Table.from_array(x))
        families = Families.from_dags(dag[None])
        local, price = torch.as_tensor(score.local(families)), torch.as_tensor(score.family_price(families))
        assert float(score.combine(local, price)) / x.size == pytest.approx(expected, abs=2e-4)


def test_alpha_has_a_range(values):
    with pytest.raises(SettingsError, match="alpha"):
        GpNV(Table.from_array(values), alpha=0.0)
