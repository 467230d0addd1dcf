import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.linear_model import LinearRegression

from drbo.data.statistics.regressions import edge_weights, slopes
from drbo.errors import DataError


def random_dag(rng, d, density=0.5):
    order = rng.permutation(d)
    return np.triu(rng.random((d, d)) < density, 1)[np.ix_(order, order)]


def linear_data(rng, dag, n):
    weights = dag * rng.choice([-1, 1], dag.shape) * rng.uniform(0.05, 1.5, dag.shape)
    noise = rng.gumbel(size=(n, len(dag))) * rng.uniform(0.5, 20, len(dag)) + rng.normal(size=len(dag)) * 1e3
    return noise @ np.linalg.inv(np.eye(len(dag)) - weights)


class TestEdgeWeights:
    @pytest.mark.parametrize("seed", range(5))
    def test_against_sklearn(self, seed):
        rng = np.random.default_rng(seed)
        dag = random_dag(rng, 8)
        values = linear_data(rng, dag, 60)
        raw, standardised = edge_weights(values, dag)
        scaled = (values - values.mean(axis=0)) / values.std(axis=0)
        for data, weights in ((values, raw), (scaled, standardised)):
            expected = np.zeros((8, 8))
            for node in range(8):
                parents = np.flatnonzero(dag[:, node])
                if len(parents):
                    expected[parents, node] = LinearRegression().fit(data[:, parents], data[:, node]).coef_
            np.testing.assert_allclose(weights, expected, rtol=1e-7, atol=1e-9)

    def test_from_covariance(self):
        rng = np.random.default_rng(1)
        dag = random_dag(rng, 6)
        values = linear_data(rng, dag, 40)
        for one, two in zip(
            edge_weights(values, dag), edge_weights(np.cov(values.T), dag, covariance=True), strict=True
        ):
            np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-12)

    def test_collinear_parents_fit_as_well_as_the_best_fit(self):
        rng = np.random.default_rng(2)
        x = rng.normal(size=(50, 2))
        y = x @ [1.0, -2.0] + rng.normal(size=50)
        values = np.column_stack([x, x.sum(axis=1), y])
        dag = np.zeros((4, 4), dtype=bool)
        dag[:3, 3] = True
        raw, _ = edge_weights(values, dag)
        assert (raw[:3, 3] == 0).sum() == 1
        centred = values - values.mean(axis=0)
        fit = centred[:, :3] @ np.linalg.lstsq(centred[:, :3], centred[:, 3])[0]
        np.testing.assert_allclose(centred[:, :3] @ raw[:3, 3], fit, atol=1e-9)

    def test_values_of_any_size(self):
        rng = np.random.default_rng(3)
        values = rng.normal(size=(30, 2))
        raw, standardised = edge_weights(values, [[0, 1], [0, 0]])
        far_raw, far = edge_weights(values * [1e-100, 1e200], [[0, 1], [0, 0]])
        np.testing.assert_allclose(far, standardised)
        np.testing.assert_allclose(far_raw / 1e300, raw)

    def test_bad_shapes(self):
        with pytest.raises(DataError, match="finite table of 2 columns"):
            edge_weights(np.zeros((5, 3)), np.zeros((2, 2)))
        with pytest.raises(DataError, match="must be square"):
            edge_weights(np.zeros((5, 2)), np.zeros((2, 2)), covariance=True)


def test_slopes_have_the_errors_of_statsmodels(rng):
    design, weights = rng.normal(size=(40, 2)) + 5, rng.integers(1, 4, size=40)
    outcome = design @ [1.0, -0.5] + rng.normal(size=40) * np.exp(design[:, 0] - 5)
    repeated = np.repeat(np.arange(40), weights)
    model = sm.OLS(outcome[repeated], sm.add_constant(design[repeated]))
    found = slopes(outcome, design, weights.astype(float))
    np.testing.assert_allclose(found.values, model.fit().params[1:])
    np.testing.assert_allclose(found.plain, model.fit().bse[1:])
    np.testing.assert_allclose(found.robust, model.fit(cov_type="HC3").bse[1:])
    assert found.freedom == weights.sum() - 3


def test_columns_that_repeat_each_other_have_no_slopes(rng):
    design = rng.normal(size=(20, 1))
    assert slopes(rng.normal(size=20), np.hstack([design, 2 * design])) is None
    assert slopes(rng.normal(size=20), np.ones((20, 1))) is None
    assert slopes(rng.normal(size=3), rng.normal(size=(3, 3))) is None
