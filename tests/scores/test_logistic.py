import math

import numpy as np
import pytest
from scipy.special import xlogy
from sklearn.linear_model import LogisticRegression
from statsmodels.discrete.discrete_model import Logit

from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError
from drbo.scores import logistic
from drbo.scores.families import Families
from drbo.scores.logistic import LogisticBIC, maximised_likelihood
from tests.scores.conftest import random_families


def make_table(n, d, seed=0):
    rng = np.random.default_rng(seed)
    values = np.zeros((n, d))
    for j in range(d):
        logits = values[:, :j] @ rng.normal(scale=0.5, size=j) + rng.normal(scale=0.3)
        values[:, j] = rng.random(n) < 1 / (1 + np.exp(-logits))
    return Statistics.from_array(values)


def statsmodels_likelihood(values, node, parents, rows=slice(None)):
    design = np.column_stack([np.ones(len(values)), values[:, parents]])[rows]
    return Logit(values[rows, node], design).fit(disp=0, method="newton", tol=1e-10, maxiter=200).llf


@pytest.mark.parametrize("n", [150, 1000])  # 150 rows: 8 parents have more configurations than there are rows
def test_local_is_the_likelihood_of_statsmodels(n):
    table = make_table(n, 9)
    families = random_families(9, [0, 1, 2, 3, 5, 7, 8] * 3)
    for family, value in zip(range(len(families)), LogisticBIC(table).local(families), strict=True):
        parents = np.flatnonzero(families.parents[family])
        assert value == pytest.approx(statsmodels_likelihood(table.values, families.nodes[family], parents), abs=1e-6)


def test_local_is_the_likelihood_of_sklearn():
    table = make_table(500, 5)
    families = random_families(5, [1, 2, 4] * 3)
    for family, value in zip(range(len(families)), LogisticBIC(table).local(families), strict=True):
        node, parents = families.nodes[family], np.flatnonzero(families.parents[family])
        inputs, target = table.values[:, parents], table.values[:, node]
        model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(inputs, target)
        likelihood = model.predict_log_proba(inputs)[np.arange(500), target.astype(int)].sum()
        assert value == pytest.approx(likelihood, abs=1e-6)


def test_score_of_a_dag_is_twice_the_likelihood_minus_the_penalty():
    table = make_table(300, 3)
    score = LogisticBIC(table, penalty=2)
    families = Families.from_dags(np.array([[[0, 1, 1], [0, 0, 1], [0, 0, 0]]], dtype=bool))
    found = score.combine(score.local(families), score.family_price(families))
    likelihood = sum(statsmodels_likelihood(table.values, j, list(range(j))) for j in range(3))
    assert float(found) == pytest.approx(2 * likelihood - 2 * 3 * math.log(300), abs=1e-5)


def test_separation_approaches_the_bound():
    rng = np.random.default_rng(1)
    first, second = rng.integers(2, size=(2, 400))
    either = first | second  # first = 1 means either = 1: separated in part, and fully by both
    table = Statistics.from_array(np.column_stack([first, second, either]))
    values = LogisticBIC(table).local(Families.from_sets(3, [(2, ()), (2, (0,)), (2, (0, 1))]))
    rest = either[first == 0]
    bound = xlogy(rest.sum(), rest.mean()) + xlogy(len(rest) - rest.sum(), 1 - rest.mean())
    assert values[1] == pytest.approx(bound, abs=2e-6)
    assert values[2] == pytest.approx(0, abs=2e-6)
    assert (np.diff(values) > 0).all()
    assert (values <= 0).all()


@pytest.mark.parametrize("n", [20, 100])  # few rows: nearly every family with many parents is separated
def test_likelihood_never_falls_with_a_parent(n):
    score = LogisticBIC(make_table(n, 12, seed=3))
    rng = np.random.default_rng(4)
    for _ in range(10):
        node, *others = rng.permutation(12).tolist()
        values = score.local(Families.from_sets(12, [(node, others[:size]) for size in range(12)]))
        assert np.isfinite(values).all()
        assert (np.diff(values) > -1e-6).all()


def test_equal_parents_count_once():
    table = make_table(200, 3)
    doubled = Statistics.from_array(np.column_stack([table.values, table.values[:, 0], 1 - table.values[:, 0]]))
    values = LogisticBIC(doubled).local(Families.from_sets(5, [(2, (0, 1)), (2, (0, 1, 3)), (2, (0, 1, 3, 4))]))
    np.testing.assert_allclose(values, values[0], atol=1e-6)


def test_steps_are_halved_where_newton_alone_diverges():
    total = np.array([[13946.0, 1, 2388, 2, 15104, 178, 7, 35]])
    ones = np.array([[139.0, 0, 0, 0, 0, 176, 4, 35]])
    bits = np.array([[1, code & 1, code >> 1 & 1, code >> 2 & 1] for code in range(8)], dtype=float)
    found = float(maximised_likelihood(bits[None], total, ones)[0])
    weights = np.concatenate([ones[0], (total - ones)[0]])
    model = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    model.fit(np.tile(bits[:, 1:], (2, 1)), np.repeat([1, 0], 8), sample_weight=weights)
    predicted = model.predict_log_proba(bits[:, 1:])
    assert found == pytest.approx(weights[:8] @ predicted[:, 1] + weights[8:] @ predicted[:, 0], abs=1e-5)


def test_listed_and_tabled_families_agree():
    table = make_table(100, 8)
    families = random_families(8, [7] * 10)  # 128 configurations, 100 rows: listed
    longer = Statistics.from_array(np.vstack([table.values, np.random.default_rng(5).integers(2, size=(60, 8))]))
    targets = np.repeat([[False], [True]], [100, 60], axis=0) & np.ones(8, dtype=bool)
    np.testing.assert_allclose(
        LogisticBIC(table).local(families), LogisticBIC(longer, targets=targets).local(families), atol=1e-6
    )
    repeated = Statistics.from_array(np.tile(table.values, (3, 1)))  # merged back to 100 rows of weight 3
    np.testing.assert_allclose(LogisticBIC(repeated).local(families), 3 * LogisticBIC(table).local(families), atol=1e-5)
    alone = np.concatenate([LogisticBIC(table).local(families[[row]]) for row in range(10)])
    np.testing.assert_allclose(LogisticBIC(table).local(families), alone, atol=1e-9)


def test_rows_with_interventions_are_left_out():
    table = make_table(300, 4)
    targets = np.random.default_rng(6).random((300, 4)) < [0.3, 0.0, 0.3, 0.0]
    families = random_families(4, [0, 1, 2, 3] * 3)
    score = LogisticBIC(table, targets=targets)
    for family, value in zip(range(12), score.local(families), strict=True):
        node, parents = families.nodes[family], np.flatnonzero(families.parents[family])
        expected = statsmodels_likelihood(table.values, node, parents, rows=~targets[:, node])
        assert value == pytest.approx(expected, abs=1e-6)


def test_any_two_values_will_do():
    table = make_table(200, 4)
    families = random_families(4, [0, 1, 2, 3])
    expected = LogisticBIC(table).local(families)
    other = Statistics.from_array(np.random.default_rng(7).permutation(table.values) * [0.01, -3.0, 100.0, 1.0] + 5)
    np.testing.assert_allclose(LogisticBIC(other).local(families), expected, atol=1e-7)
    coded = Statistics(table.values, table.names, ("categorical",) * 4, (("no", "yes"),) * 4)
    np.testing.assert_array_equal(LogisticBIC(coded).local(families), expected)


def test_columns_that_are_not_binary_are_refused():
    with pytest.raises(
        ScoreError, match=r"column 'x1' has 3 distinct values, but logistic requires exactly 2"
    ) as caught:
        LogisticBIC(Statistics.from_array([[0, 0], [1, 1], [0, 2]]))
    assert "auto" in caught.value.hint
    with pytest.raises(ScoreError, match=r"column 'x0' has 1 distinct value, but"):
        LogisticBIC(Statistics.from_array([[1, 0], [1, 1], [1, 0]]))


def test_three_rows_and_a_node_constant_where_it_counts_stay_finite():
    table = Statistics.from_array([[0, 0, 1], [1, 1, 0], [1, 1, 0]])
    assert np.isfinite(LogisticBIC(table).local(random_families(3, [0, 1, 2] * 3))).all()
    table = Statistics.from_array([[0, 0], [1, 1], [1, 0], [1, 1]])
    score = LogisticBIC(table, targets=[[1, 0], [0, 0], [0, 0], [0, 0]])
    np.testing.assert_allclose(score.local(Families.from_sets(2, [(0, ()), (0, (1,))])), 0, atol=1e-6)


def test_local_scores_are_cheap_up_to_a_number_of_distinct_rows(monkeypatch):
    monkeypatch.setattr(logistic, "CHEAP_ROWS", 64)
    assert LogisticBIC(make_table(64, 9)).cheap
    assert not LogisticBIC(make_table(65, 9)).cheap
    assert LogisticBIC(make_table(1000, 6)).cheap  # 2^6 = 64 distinct rows at most
    assert not LogisticBIC(make_table(1000, 7)).cheap
    unknown = type("Unknown", (LogisticBIC,), {"local": lambda self, families: np.zeros(len(families))})
    assert not unknown(make_table(64, 9)).cheap
