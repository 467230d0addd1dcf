import sys
import types

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from drbo.claims.answer import prune as module
from drbo.claims.answer.prune import PRUNERS, f_test, prune
from drbo.data.statistics.regressions import edge_weights
from drbo.errors import DataError, SettingsError
from tests.data.statistics.test_regressions import linear_data, random_dag


class TestFTest:
    @pytest.mark.parametrize(("seed", "n"), [(0, 200), (1, 30), (2, 12), (3, 9)])
    def test_against_statsmodels(self, seed, n):
        rng = np.random.default_rng(seed)
        dag = random_dag(rng, 8, density=0.6)
        values = linear_data(rng, dag, n)
        expected = np.full((8, 8), np.nan)
        for node in range(8):
            parents = np.flatnonzero(dag[:, node])
            if len(parents) and n > len(parents) + 1:
                fit = sm.OLS(values[:, node], sm.add_constant(values[:, parents])).fit()
                expected[parents, node] = fit.pvalues[1:]
            elif len(parents):
                expected[parents, node] = 1.0
        np.testing.assert_allclose(f_test(values, dag), expected, rtol=1e-6, atol=1e-15)

    def test_null_p_values_are_uniform(self):
        rng = np.random.default_rng(4)
        dag = np.triu(np.ones((6, 6), dtype=bool), 1)
        found = np.array([f_test(rng.normal(size=(25, 6)), dag)[dag] for _ in range(600)])
        assert stats.kstest(found.ravel(), "uniform").pvalue > 0.01
        for alpha in (0.2, 0.05, 0.01):
            rejected = int((found < alpha).sum())
            low, high = stats.binom.interval(0.999, found.size, alpha)
            assert low <= rejected <= high

    def test_corrected_level_of_the_pruner(self):
        """The chance of any false edge in a full graph over independent columns is at most alpha."""
        rng = np.random.default_rng(5)
        dag = np.triu(np.ones((4, 4), dtype=bool), 1)
        wrong = sum(prune("f-test", rng.normal(size=(20, 4)), dag, threshold=0.4)[0].any() for _ in range(400))
        # 6 edges at 0.4 / 12 each: about 0.18.
        low, high = stats.binom.interval(0.999, 400, 1 - (1 - 0.4 / 12) ** 6)
        assert low <= wrong <= high

    def test_does_not_depend_on_units(self):
        rng = np.random.default_rng(6)
        dag = random_dag(rng, 7)
        values = linear_data(rng, dag, 50)
        np.testing.assert_allclose(f_test(values * 10.0 ** np.arange(-3, 4) + 7, dag), f_test(values, dag), rtol=1e-6)

    @pytest.mark.parametrize("n", [2, 3, 4])
    def test_as_many_parents_as_rows_support_nothing(self, n):
        values = np.random.default_rng(7).normal(size=(n, 4))
        dag = np.zeros((4, 4), dtype=bool)
        dag[:3, 3] = True
        np.testing.assert_array_equal(f_test(values, dag)[:3, 3], 1.0)
        assert not prune("f-test", values, dag)[0].any()

    def test_one_of_two_equal_parents_stays(self):
        rng = np.random.default_rng(8)
        x, z, noise = rng.normal(size=(3, 100))
        values = np.column_stack([x, 3 * x + 1, z, x + 0.5 * z + 0.3 * noise])
        dag = np.zeros((4, 4), dtype=bool)
        dag[:3, 3] = True
        p_values = f_test(values, dag)
        assert sorted(p_values[:2, 3] == 1.0) == [False, True]
        kept = prune("f-test", values, dag)[0]
        assert kept[:2, 3].sum() == 1
        assert kept[2, 3]
        reference = sm.OLS(values[:, 3], sm.add_constant(values[:, [0, 2]])).fit().pvalues
        np.testing.assert_allclose(p_values[:2, 3].min(), reference[1], rtol=1e-6)

    def test_of_collinear_parents_the_closest_stay(self):
        rng = np.random.default_rng(15)
        x, z, noise = rng.normal(size=(3, 100))
        values = np.column_stack([x, z, x + z, x + z + noise])
        dag = np.zeros((4, 4), dtype=bool)
        dag[:3, 3] = True
        assert np.argwhere(prune("f-test", values, dag)[0]).tolist() == [[2, 3]]

    def test_nearly_collinear_parents_never_fail(self):
        rng = np.random.default_rng(14)
        dag = np.zeros((7, 7), dtype=bool)
        dag[:6, 6] = True
        for size in 10.0 ** rng.uniform(-12, -2, 200):
            values = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 7)) + size * rng.normal(size=(40, 7))
            p_values = f_test(values, dag)[:6, 6]
            assert ((p_values >= 0) & (p_values <= 1)).all()
            assert np.isfinite(edge_weights(values, dag)[0]).all()

    def test_perfect_fit_and_constant_columns(self):
        x = np.arange(10.0)
        values = np.column_stack([x, np.ones(10), 2 * x, np.full(10, 3.0)])
        dag = np.zeros((4, 4), dtype=bool)
        dag[[0, 1], 2] = dag[0, 3] = True
        p_values = f_test(values, dag)
        assert p_values[0, 2] < 1e-20
        assert p_values[1, 2] == 1.0
        assert p_values[0, 3] == 1.0
        assert prune("f-test", values, dag)[0].sum() == 1


class TestPrune:
    def test_none(self):
        dag = np.array([[0, 1], [0, 0]], dtype=bool)
        pruned, details = prune("none", np.zeros((3, 2)), dag)
        np.testing.assert_array_equal(pruned, dag)
        assert pruned is not dag
        assert details["statistic"] is None

    @pytest.mark.parametrize("threshold", [None, 0.2, 0.8])
    def test_threshold_is_on_raw_weights(self, threshold):
        rng = np.random.default_rng(9)
        dag = random_dag(rng, 10)
        values = linear_data(rng, dag, 100)
        pruned, details = prune("threshold", values, dag, threshold=threshold)
        weights, _ = edge_weights(values, dag)
        np.testing.assert_array_equal(pruned, np.abs(weights) > (0.3 if threshold is None else threshold))
        np.testing.assert_array_equal(details["values"][dag], weights[dag])
        assert np.isnan(details["values"][~dag]).all()
        assert 0 < pruned.sum() < dag.sum()

    def test_significance_is_corrected_for_all_pairs(self):
        rng = np.random.default_rng(10)
        dag = np.triu(np.ones((5, 5), dtype=bool), 1)
        values = linear_data(rng, dag, 25)
        pruned, details = prune("f-test", values, dag)
        assert details["threshold"] == 0.01
        np.testing.assert_array_equal(pruned, dag & (details["values"] < 0.01 / 20))
        assert (details["values"][dag & ~pruned] < 0.01).any()

    def test_tests_use_the_unpruned_parents_and_remove_together(self):
        rng = np.random.default_rng(11)
        x, noise, small = rng.normal(size=(3, 100))
        values = np.column_stack([x, x + 1e-3 * small, x + noise])
        dag = np.zeros((3, 3), dtype=bool)
        dag[:2, 2] = True
        assert f_test(values, dag)[:2, 2].min() > 0.01 / 6  # each of the twins adds nothing to the other
        alone = dag.copy()
        alone[1, 2] = False
        assert prune("f-test", values, alone)[0][0, 2]
        assert not prune("f-test", values, dag)[0].any()

    @pytest.mark.parametrize("name", ["threshold", "f-test"])
    def test_required_edges_stay(self, name):
        values = np.random.default_rng(12).normal(size=(50, 3))
        dag = np.triu(np.ones((3, 3), dtype=bool), 1)
        required = np.zeros((3, 3), dtype=bool)
        required[0, 2] = required[2, 0] = True  # the second one is no edge of the DAG: it is not added
        pruned, _ = prune(name, values, dag, required=required, threshold=1e-6 if name == "f-test" else 9.0)
        assert np.argwhere(pruned).tolist() == [[0, 2]]

    @pytest.mark.parametrize(
        ("name", "module_name"), [("cam", "drbo.claims.answer.cam"), ("kci", "drbo.claims.answer.kci")]
    )
    @pytest.mark.parametrize("threshold", [None, 0.05])
    def test_nonlinear_pruners_are_imported_when_used(self, monkeypatch, name, module_name, threshold):
        asked = {}

        def pruner(values, dag, *, required, alpha):
            asked.update(shape=values.shape, required=required.sum(), alpha=alpha)
            return np.zeros_like(dag), np.where(dag, 1.0, np.nan)

        fake = types.ModuleType(module_name)
        setattr(fake, f"prune_{name}", pruner)
        monkeypatch.setitem(sys.modules, module_name, fake)
        required = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]])
        dag = np.triu(np.ones((3, 3), dtype=bool), 1)
        pruned, details = prune(name, np.zeros((5, 3)), dag, required=required, threshold=threshold)
        assert asked == {"shape": (5, 3), "required": 1, "alpha": 0.001 if threshold is None else 0.05}
        np.testing.assert_array_equal(pruned, required)  # even if the pruner forgets them
        assert (details["pruner"], details["statistic"]) == (name, "p-value")
        assert (details["values"][dag] == 1.0).all()

    @pytest.mark.parametrize(
        ("name", "arguments", "message"),
        [
            ("hope", {}, "prune must be one of none, threshold, f-test, odds, cam, cam-sequential, kci, got 'hope'"),
            ("f-test", {"threshold": 0.0}, r"in \(0, 1\], got 0.0"),
            ("f-test", {"threshold": 1.5}, r"in \(0, 1\], got 1.5"),
            ("threshold", {"threshold": -0.1}, "at least 0, got -0.1"),
            ("threshold", {"threshold": float("nan")}, "at least 0, got nan"),
            ("none", {"required": np.zeros((3, 3))}, "required must be a"),
        ],
    )
    def test_bad_options(self, name, arguments, message):
        with pytest.raises(SettingsError, match=message):
            prune(name, np.eye(4)[:, :2], [[0, 1], [0, 0]], **arguments)

    @pytest.mark.parametrize("values", [np.zeros((4, 3)), np.zeros(2), np.full((4, 2), np.nan)])
    def test_bad_data(self, values):
        with pytest.raises(DataError, match="finite table of 2 columns"):
            prune("f-test", values, [[0, 1], [0, 0]])

    def test_cyclic_graph(self):
        with pytest.raises(DataError, match="cycle"):
            prune("f-test", np.eye(4)[:, :2], [[0, 1], [1, 0]])

    def test_arguments_are_left_alone(self):
        rng = np.random.default_rng(13)
        dag = random_dag(rng, 5)
        values, required = rng.normal(size=(20, 5)), random_dag(rng, 5)
        copies = values.copy(), dag.copy(), required.copy()
        for name in ("none", "threshold", "f-test"):
            prune(name, values, dag, required=required)
        for array, copy in zip((values, dag, required), copies, strict=True):
            np.testing.assert_array_equal(array, copy)

    def test_every_pruner_has_a_default(self):
        assert set(PRUNERS) == set(module.DEFAULT_THRESHOLDS)
