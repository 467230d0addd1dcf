import math

import numpy as np
import pytest
from scipy.stats import multivariate_t

from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError, ScoreError, SettingsError
from drbo.scores.bge import BGe
from drbo.scores.families import Families
from tests.scores.conftest import random_families

pytestmark = pytest.mark.floats


def make_table(n, d, seed=0):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.normal(size=(d, d)), 1)
    return Statistics.from_array(rng.normal(size=(n, d)) @ np.linalg.inv(np.eye(d) - weights) + rng.normal(size=d))


def predictive_evidence(values, d, alpha_mu, alpha_w, t):
    """Log evidence of some columns, row after row: each given those before it has a multivariate t density.

    The prior of a subset of l of d columns is normal-Wishart with alpha_w - d + l degrees of freedom and scale t I.
    """
    count = values.shape[1]
    if count == 0:
        return 0.0
    mean, weight, freedom, scale = np.zeros(count), alpha_mu, alpha_w - d + count, t * np.eye(count)
    total = 0.0
    for row in values:
        degrees = freedom - count + 1
        shape = scale * (weight + 1) / (weight * degrees)
        total += multivariate_t(mean, shape, df=degrees).logpdf(row)
        scale = scale + weight / (weight + 1) * np.outer(row - mean, row - mean)
        mean = (weight * mean + row) / (weight + 1)
        weight, freedom = weight + 1, freedom + 1
    return float(total)


@pytest.mark.parametrize(
    "prior", [{}, {"alpha_mu": 0.3}, {"alpha_w": 12.5}, {"alpha_mu": 2.0, "alpha_w": 5.2, "t": 3.0}]
)
@pytest.mark.parametrize("standardize", [True, False])
def test_local_is_a_difference_of_predictive_evidences(prior, standardize):
    table = make_table(12, 5)
    score = BGe(table, standardize=standardize, **prior)
    values = table.values
    if standardize:
        values = (values - values.mean(axis=0)) / values.std(axis=0)
    alpha_mu = prior.get("alpha_mu", 1.0)
    alpha_w = prior.get("alpha_w", 5 + alpha_mu + 1)
    t = prior.get("t", alpha_w - 6)
    families = random_families(5, [0, 1, 2, 3, 4] * 2)
    for family, found in zip(range(10), score.local(families), strict=True):
        node, parents = families.nodes[family], np.flatnonzero(families.parents[family])
        both = predictive_evidence(values[:, [*parents, node]], 5, alpha_mu, alpha_w, t)
        given = predictive_evidence(values[:, parents], 5, alpha_mu, alpha_w, t)
        assert found == pytest.approx(both - given, abs=1e-6)


@pytest.mark.parametrize("options", [{}, {"penalty": 2}, {"standardize": False, "alpha_mu": 0.1}])
def test_reversing_a_covered_edge_changes_nothing(options):
    """Chickering 1995: equivalent DAGs differ by reversals of edges i -> j with pa(j) = pa(i) + i."""
    score = BGe(make_table(300, 6), **options)
    rng = np.random.default_rng(1)
    for _ in range(50):
        i, j, *common = rng.permutation(6)[: 2 + rng.integers(5)].tolist()
        families = Families.from_sets(6, [(i, common), (j, [*common, i]), (j, common), (i, [*common, j])])
        shares = score.gain * score.local(families) + score.family_price(families)
        assert shares[0] + shares[1] == pytest.approx(shares[2] + shares[3], abs=1e-8)


def test_units_do_not_matter():
    table = make_table(100, 5)
    families = random_families(5, [0, 1, 2, 3, 4])
    scaled = Statistics.from_array(table.values * [1e-2, 1e2, -1.0, 1e-5, 1e5] + 3)
    np.testing.assert_allclose(BGe(scaled).local(families), BGe(table).local(families), rtol=1e-8)
    same = Statistics.from_array(table.values * [1e-2, 1e2, 3.0, 1e-5, 7e5])
    assert np.array_equal(BGe(same).local(families), BGe(table).local(families))  # to the last bit: ties stay ties
    raw = BGe(scaled, standardize=False).local(families) - BGe(table, standardize=False).local(families)
    assert np.abs(raw).max() > 1


def test_covariance_is_enough():
    table = make_table(80, 4)
    covariance = np.cov(table.values.T, bias=True)
    families = random_families(4, [0, 1, 2, 3] * 2)
    score = BGe.from_covariance(covariance, 80, table.names, alpha_w=9.0, penalty=2)
    expected = BGe(table, alpha_w=9.0, penalty=2)
    np.testing.assert_allclose(score.local(families), expected.local(families), rtol=1e-7)
    np.testing.assert_allclose(score.family_price(families), expected.family_price(families))
    raw = BGe.from_covariance(covariance, 80, standardize=False)
    centred = BGe(Statistics.from_array(table.values - table.values.mean(axis=0)), standardize=False)
    np.testing.assert_allclose(raw.local(families), centred.local(families), rtol=1e-10)
    with pytest.raises(DataError, match="symmetric"):
        BGe.from_covariance([[1.0, 0.5], [0.2, 1.0]], 80)


def test_penalty_beyond_one_is_charged_per_edge():
    table = make_table(90, 4)
    families = Families.from_sets(4, [(0, ()), (1, (0,)), (2, (0, 1))])
    np.testing.assert_array_equal(BGe(table).family_price(families), 0)
    np.testing.assert_allclose(BGe(table, penalty=3).family_price(families), -np.array([0, 1, 2]) * math.log(90))
    np.testing.assert_allclose(BGe(table, penalty="ebic").family_price(families), -np.array([0, 1, 2]) * math.log(4))


def test_rows_with_interventions_are_left_out():
    table = make_table(60, 4)
    targets = np.random.default_rng(2).random((60, 4)) < [0.3, 0.0, 0.3, 0.0]
    score = BGe(table, targets=targets, standardize=False)
    assert not score.score_equivalent
    families = random_families(4, [0, 1, 2, 3] * 3)
    for family, value in zip(range(12), score.local(families), strict=True):
        rows = np.flatnonzero(~targets[:, families.nodes[family]])
        kept = BGe(table.take(rows, np.arange(4)), standardize=False)
        assert value == pytest.approx(kept.local(families[[family]])[0], abs=1e-9)


def test_equal_columns_and_few_rows_stay_finite():
    table = make_table(3, 5)
    doubled = Statistics.from_array(np.column_stack([table.values, table.values[:, :2]]))
    families = random_families(7, [0, 1, 3, 6] * 3)
    assert np.isfinite(BGe(doubled).local(families)).all()
    assert len(BGe(doubled).local(families[:0])) == 0


def test_collinear_columns_in_huge_units_are_refused_without_standardising():
    table = make_table(50, 2)
    values = 1e9 * np.column_stack([table.values, table.values.sum(axis=1)])
    with pytest.raises(ScoreError, match="collinear") as caught:
        BGe(Statistics.from_array(values), standardize=False)
    assert "standardize=True" in caught.value.hint
    assert np.isfinite(BGe(Statistics.from_array(values)).local(random_families(3, [0, 1, 2]))).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha_mu": 0}, "alpha_mu must be a number > 0, got 0"),
        ({"alpha_w": 5}, "alpha_w must be a number > 5 for 4 columns, got 5"),
        ({"alpha_w": 3, "t": 1.0}, "alpha_w must be a number > 3 for 4 columns, got 3"),
        ({"t": -1}, "t must be a number > 0, got -1"),
    ],
)
def test_bad_priors_are_refused(options, message):
    with pytest.raises(SettingsError, match=message):
        BGe(make_table(20, 4), **options)


def test_wrong_columns_are_refused():
    values = np.array([[0.0, 1.0], [1.0, 2.0], [0.0, 4.0]])
    with pytest.raises(ScoreError, match="column 'a' is categorical with 2 levels, but bge requires numbers"):
        BGe(Statistics(values, ("a", "b"), ("categorical", "numeric"), (("p", "q"), None)))
    with pytest.raises(ScoreError, match="column 'x1' has 1 distinct value"):
        BGe(Statistics.from_array([[0.0, 1.0], [1.0, 1.0], [0.0, 1.0]]))
