import os
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from threadpoolctl import threadpool_limits

from drbo.claims.answer import kci
from drbo.claims.answer.kci import kci_test, prune_kci
from drbo.errors import DataError, SettingsError

#: causal-learn drops eigenvalues under 1e-5 of the largest, we factorise kernels to 1e-6: the p-values differ by this.
AGREEMENT = 2e-3


@pytest.fixture(autouse=True)
def _one_thread():
    """On busy cores, threads wait for each other longer than such small matrices take."""
    with threadpool_limits(1):
        yield


def rng(seed=0):
    return np.random.default_rng(seed)


def causal_learn(x, y, z=None):
    """Return the p-value of causal-learn's test with its default settings, which are those of its CIT(data, "kci")."""
    module = pytest.importorskip("causallearn.utils.KCI.KCI")
    if z is None:
        return module.KCI_UInd().compute_pvalue(x[:, None], y[:, None])[0]
    return module.KCI_CInd().compute_pvalue(x[:, None], y[:, None], z.reshape(len(x), -1))[0]


def by_definition(x, y, z, width):
    """Return the conditional p-value from full matrices and the formulas of Zhang et al. (2011), Theorem 3, Prop. 5."""

    def kernel(columns):
        squares = np.square(columns[:, None] - columns[None]).sum(axis=2)
        return centre @ np.exp(-squares / (2 * width**2 * z.shape[1])) @ centre

    n = len(x)
    centre = np.eye(n) - 1 / n
    x, y, z = (stats.zscore(part.reshape(n, -1), ddof=1) for part in (x, y, z))
    smoother = 1e-3 * np.linalg.inv(kernel(z) + 1e-3 * np.eye(n))
    rest_x, rest_y = (smoother @ kernel(part) @ smoother for part in (np.hstack([x, z / 2]), y))
    weights = rest_x * rest_y  # has the eigenvalues of the null distribution's chi-square mixture
    mean, variance = np.trace(weights), 2 * np.trace(weights @ weights)
    return stats.gamma.sf(np.trace(rest_x @ rest_y), mean**2 / variance, scale=variance / mean)


def sample(n_rows, n_given, effect, seed):
    """Return x and y with common causes z; x also has an effect on y."""
    generator = rng(seed)
    z = generator.normal(size=(n_rows, n_given))
    x = np.tanh(z.sum(axis=1)) + 0.6 * generator.normal(size=n_rows)
    y = 0.5 * z.sum(axis=1) ** 2 + effect * np.sin(2 * x) + 0.6 * generator.standard_t(5, size=n_rows)
    return x, y, z


@pytest.mark.parametrize(("n_rows", "width"), [(150, 1.2), (200, 0.7)])
@pytest.mark.parametrize("n_given", [1, 4])
@pytest.mark.parametrize("effect", [0.0, 0.3])
def test_conditional_test_agrees_with_causal_learn_and_with_its_definition(n_rows, width, n_given, effect):
    x, y, z = sample(n_rows, n_given, effect, seed=n_given)
    p_value = kci_test(x, y, z)
    assert p_value == pytest.approx(by_definition(x, y, z, width), abs=1e-4)
    assert p_value == pytest.approx(causal_learn(x, y, z), abs=AGREEMENT)


@pytest.mark.parametrize("n_rows", [150, 400, 1300])
@pytest.mark.parametrize("effect", [0.0, 0.1])
def test_unconditional_test_agrees_with_causal_learn(n_rows, effect):
    generator = rng(n_rows)
    x = generator.normal(size=n_rows)
    y = effect * x**2 + generator.normal(size=n_rows)
    p_value = kci_test(x, y)
    assert p_value == pytest.approx(causal_learn(x, y), abs=AGREEMENT)
    assert p_value == pytest.approx(kci_test(y, x), rel=1e-4)


def test_large_samples_have_narrow_conditional_kernels():
    x, y, z = sample(1200, 1, 0.05, seed=2)
    assert kci_test(x, y, z) == pytest.approx(by_definition(x, y, z, 0.4), abs=1e-4)


def test_agrees_with_causal_learn_on_sachs():
    if "DRBO_DATA" not in os.environ:
        pytest.skip("DRBO_DATA is not set")
    values = np.loadtxt(Path(os.environ["DRBO_DATA"], "sachs", "observations.csv"), delimiter=",", skiprows=1)
    x, y, z = values[:400, 3], values[:400, 6], values[:400, [0, 1, 2, 4, 5]]
    p_value = kci_test(x, y, z)
    assert 0.05 < p_value < 0.95
    assert p_value == pytest.approx(causal_learn(x, y, z), abs=AGREEMENT)


def test_rejects_near_the_level_under_independence():
    generator = rng(3)
    p_values = []
    for _ in range(300):
        x, y, z = generator.normal(size=(3, 60))
        p_values.append(kci_test(x + z, y - z, z))
    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.09
    assert 0.4 < np.mean(p_values) < 0.6


def test_finds_dependence_that_opens_and_closes_with_z():
    x, y, noise = rng(4).normal(size=(3, 200))
    collider = x + y + 0.3 * noise
    assert kci_test(x, y) > 0.01
    assert kci_test(x, y, collider) < 1e-6
    assert kci_test(x, collider + x) < 1e-6
    assert kci_test(x, collider, np.column_stack([x + 1e-3 * noise, y])) > 0.001


def test_prune_tests_each_parent_given_the_others():
    generator = rng(5)
    values = generator.normal(size=(150, 5))
    values[:, 3] += values[:, 0] ** 2
    values[:, 4] += values[:, 3]
    dag = np.triu(np.ones((5, 5), dtype=bool), 1)
    pruned, p_values = prune_kci(values, dag)
    expected = np.full((5, 5), np.nan)
    for parent, node in np.argwhere(dag):
        others = [other for other in range(node) if other != parent]
        expected[parent, node] = kci_test(values[:, parent], values[:, node], values[:, others] if others else None)
    np.testing.assert_allclose(p_values, expected, rtol=1e-6)
    assert np.argwhere(pruned).tolist() == [[0, 3], [3, 4]]


def test_required_edges_stay():
    values = rng(6).normal(size=(60, 3))
    required = np.zeros((3, 3), dtype=bool)
    required[0, 2] = required[2, 1] = True
    pruned, p_values = prune_kci(values, [[0, 0, 1], [0, 0, 1], [0, 0, 0]], required=required)
    assert np.argwhere(pruned).tolist() == [[0, 2]]
    assert p_values[0, 2] > 0.001


def test_units_and_order_do_not_matter():
    generator = rng(7)
    values = generator.normal(size=(80, 4))
    dag = np.triu(np.ones((4, 4), dtype=bool), 1)
    _, p_values = prune_kci(values, dag)
    order = np.array([2, 0, 3, 1])
    rows = generator.permutation(80)
    other = values[rows][:, order] * [1e-9, -3.0, 1e200, 5.0] + [0.0, 1.0, 0.0, -7.0]
    _, others = prune_kci(other, dag[np.ix_(order, order)])
    np.testing.assert_allclose(others, p_values[np.ix_(order, order)], atol=1e-4)


def test_constant_and_duplicate_columns():
    generator = rng(8)
    x, y, z = generator.normal(size=(3, 70))
    constant = np.full(70, 0.1)
    for pair in ((constant, y), (x, constant)):
        assert kci_test(*pair) == 1.0
        assert kci_test(*pair, z) == 1.0
    assert kci_test(x, y, np.column_stack([z, z, constant])) > 0.01
    values = np.column_stack([x, x, constant, constant, y, y])
    _, p_values = prune_kci(values, np.triu(np.ones((6, 6)), 1))
    assert np.isfinite(p_values[np.triu_indices(6, 1)]).all()
    assert p_values[0, 1] < 1e-6


@pytest.mark.parametrize("n_rows", [1, 2, 3, 5])
def test_never_fails_on_few_rows(n_rows):
    _, p_values = prune_kci(rng(9).normal(size=(n_rows, 4)), np.triu(np.ones((4, 4)), 1))
    edges = p_values[np.triu_indices(4, 1)]
    assert ((edges >= 0) & (edges <= 1)).all()


def test_inputs_are_checked_and_not_changed(monkeypatch):
    values = rng(10).normal(size=(20, 3))
    before = values.copy()
    dag = np.triu(np.ones((3, 3), dtype=bool), 1)
    prune_kci(values, dag)
    assert np.array_equal(values, before)
    assert dag.sum() == 3
    with pytest.raises(DataError, match="columns"):
        kci_test(values[:, 0], values[:5, 1])
    with pytest.raises(DataError, match="columns"):
        kci_test(values[:, 0], values[:, 1], values[:5])
    with pytest.raises(DataError, match="finite"):
        kci_test(values[:, 0], np.log(np.zeros(20) + 0.5) * np.inf)
    with pytest.raises(DataError, match="finite"):
        prune_kci(values * np.nan, dag)
    with pytest.raises(SettingsError, match="alpha"):
        prune_kci(values, dag, alpha=-1)
    monkeypatch.setattr(kci, "MAX_ROWS", 10)
    with pytest.raises(DataError, match="1 to 10 rows, got 20"):
        prune_kci(values, dag)
