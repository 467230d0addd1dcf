"""Independence tests against other libraries' numbers, and the claims of a DAG against d-separation."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from drbo.data.checks.check import check_table
from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError
from drbo.result.independence import independence_test, markov_claims, markov_p_values

NONE = np.array([], dtype=int)


def _linear(rng, n=200):
    x = rng.normal(size=(n, 4))
    x[:, 2] += x[:, 0] + x[:, 1]
    x[:, 3] += x[:, 2]
    return x


@pytest.mark.parametrize("given", [[], [2], [1, 2]])
def test_partial_correlation_is_the_t_test_of_a_regression(rng, given):
    x = _linear(rng)
    found = independence_test("gaussian", Statistics.from_array(x))(0, np.array([3]), np.array(given, dtype=int))[0]
    fit = sm.OLS(x[:, 0], sm.add_constant(x[:, [3, *given]])).fit()
    assert found == pytest.approx(fit.pvalues[1], rel=1e-6)


def test_categories_are_tested_with_all_their_levels():
    rejected = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=150)
        group = np.digitize(z + rng.normal(size=150), [-0.7, 0.7])
        other = z + rng.normal(size=150)
        frame = pd.DataFrame({"z": z, "g": np.array(["a", "b", "c"])[group], "y": other})
        test = independence_test("gaussian", check_table(frame)[0])
        rejected.append(test(1, np.array([2]), np.array([0]))[0] < 0.05)
        assert test(1, np.array([2]), NONE)[0] < 0.05 or seed > 50
    assert np.mean(rejected) == pytest.approx(0.05, abs=0.03)  # calibrated given z


@pytest.mark.parametrize("given", [[], [2], [1, 2]])
def test_the_g_test_agrees_with_causal_learn(rng, given):
    cit = pytest.importorskip("causallearn.utils.cit")
    codes = rng.integers(3, size=(500, 4))
    codes[:, 3] = (codes[:, 0] + rng.integers(2, size=500)) % 3
    found = independence_test("g-test", Statistics.from_array(codes))
    for other in (1, 3):
        if other not in given:
            theirs = cit.CIT(codes, "gsq")(0, other, given)
            assert found(0, np.array([other]), np.array(given, dtype=int))[0] == pytest.approx(theirs, abs=1e-8)


def test_the_kernel_test_sees_curves(rng):
    x = rng.normal(size=200)
    table = Statistics.from_array(np.column_stack([x, x**2 + 0.3 * rng.normal(size=200), rng.normal(size=200)]))
    assert independence_test("kci", table)(0, np.array([1]), NONE)[0] < 0.001
    assert independence_test("kci", table)(0, np.array([1]), np.array([2]))[0] < 0.001
    assert independence_test("gaussian", table)(0, np.array([1]), NONE)[0] > 0.001


def test_claims_are_d_separations(rng):
    for _ in range(20):
        order = rng.permutation(6)
        dag = (np.triu(rng.random((6, 6)) < 0.4, 1))[np.ix_(order, order)]
        graph = nx.from_numpy_array(dag, create_using=nx.DiGraph)
        claimed = {(x, int(y)) for x, others, _ in markov_claims(dag) for y in others}
        for x, others, parents in markov_claims(dag):
            assert nx.is_d_separator(graph, {x}, set(others.tolist()), set(parents.tolist()))
        for x in range(6):
            for y in set(range(6)) - nx.descendants(graph, x) - set(graph.predecessors(x)) - {x}:
                assert (x, y) in claimed


def test_true_claims_have_uniform_p_values():
    dag = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]) > 0
    found = [
        markov_p_values(independence_test("gaussian", Statistics.from_array(_linear(np.random.default_rng(seed)))), dag)
        for seed in range(200)
    ]
    p_values = np.stack(found)
    assert (p_values[~np.isnan(p_values)] < 0.05).mean() == pytest.approx(0.05, abs=0.02)


def test_copies_and_unknown_tests(rng):
    x = rng.normal(size=(50, 2))
    table = Statistics.from_array(np.column_stack([x, x[:, 0]]))
    assert independence_test("gaussian", table)(0, np.array([1]), np.array([2]))[0] == 1.0
    with pytest.raises(SettingsError, match="auto or one of gaussian"):
        independence_test("fisher", table)
    mixed = check_table(pd.DataFrame({"a": x[:, 0], "g": list("ab") * 25}))[0]
    with pytest.raises(SettingsError, match="'kci' requires numeric columns"):
        independence_test("kci", mixed)
