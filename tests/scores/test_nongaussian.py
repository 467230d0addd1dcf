from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from drbo import DrBO
from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError, ScoreError
from drbo.graph.dag import dag_to_cpdag
from drbo.scores.families import Families
from drbo.scores.linear import BicNV
from drbo.scores.nongaussian import BicNG
from drbo.scores.registry import build_score

pytestmark = pytest.mark.floats


def _linear(rng, noise, n=400, d=5):
    """Return a table of linear effects along the order of the columns, and its DAG."""
    dag = np.triu(rng.random((d, d)) < 0.5, 1)
    weights = dag * rng.uniform(0.5, 1.0, size=(d, d)) * rng.choice([-1, 1], size=(d, d))
    return noise(size=(n, d)) @ np.linalg.inv(np.eye(d) - weights) + 3.0, dag


def _negentropy(residual):
    u = (residual - residual.mean()) / residual.std()
    odd, even = (u * np.exp(-(u**2) / 2)).mean(), np.exp(-(u**2) / 2).mean()
    return 36 / (8 * 3**0.5 - 9) * odd**2 + 24 / (16 * 3**0.5 - 27) * (even - 0.5**0.5) ** 2


def _formula(values, node, parents):
    """The local score by scikit-learn and NumPy."""
    residual = values[:, node] - values[:, node].mean()
    if parents:
        residual = values[:, node] - LinearRegression().fit(values[:, parents], values[:, node]).predict(
            values[:, parents]
        )
    n = len(values)
    gain = n * _negentropy(residual) - 1 - np.log(n)
    return -np.log(np.mean(residual**2)) + 2 / n * max(0.0, gain)


def _families(d, rng, count=40):
    sets = []
    for _ in range(count):
        node = int(rng.integers(d))
        others = np.delete(np.arange(d), node)
        sets.append((node, sorted(rng.choice(others, rng.integers(d), replace=False).tolist())))
    return Families.from_sets(d, sets)


def _total(score, dag):
    families = Families.from_dags(dag[None])
    return float(score.combine(score.local(families), score.family_price(families)))


@pytest.mark.parametrize("noise", ["exponential", "laplace", "uniform", "normal"])
@pytest.mark.parametrize("n", [40, 401])
def test_local_scores_follow_the_formula(noise, n, rng):
    values, _ = _linear(rng, getattr(rng, noise), n=n)
    families = _families(5, rng)
    expected = [
        _formula(values, int(node), np.flatnonzero(parents).tolist())
        for node, parents in zip(families.nodes, families.parents, strict=True)
    ]
    np.testing.assert_allclose(BicNG(Statistics.from_array(values)).local(families), expected, rtol=1e-9, atol=1e-9)


def test_gaussian_noise_is_scored_as_by_bic_nv(rng):
    values, _ = _linear(rng, rng.normal, n=2000)
    families = _families(5, rng)
    table = Statistics.from_array(values)
    np.testing.assert_allclose(BicNG(table).local(families), BicNV(table).local(families), atol=1e-9)


def test_two_n_negentropy_of_gaussian_noise_has_mean_two_which_is_subtracted():
    values = np.random.default_rng(1).normal(size=(100, 500))
    found = np.array([2 * 100 * _negentropy(column) for column in values.T])
    assert found.mean() == pytest.approx(2.0, abs=0.3)
    empty = Families(np.arange(500), np.zeros((500, 500), dtype=bool))
    table = Statistics.from_array(values)
    credited = BicNG(table).local(empty) > BicNV(table).local(empty) + 1e-9
    assert np.array_equal(credited, found > 2 + 2 * np.log(100))
    assert 0 < credited.mean() < 0.02  # a chi-square of two degrees of freedom exceeds 2 + 2 ln 100 in 0.4% of cases


@pytest.mark.parametrize("noise", ["exponential", "laplace", "uniform"])
def test_arrows_are_found_beyond_the_class(noise):
    rng = np.random.default_rng(5)
    values, dag = _linear(rng, getattr(rng, noise), n=1000)
    assert (dag_to_cpdag(dag) != dag).any()
    assert np.array_equal(DrBO(score="bic-ng", random_state=0).fit(values).adjacency_.astype(bool), dag)


def test_equivalent_dags_tie_where_noise_is_gaussian_and_differ_where_it_is_not(rng):
    chain, reverse = np.zeros((2, 3, 3), dtype=bool)
    chain[0, 1] = chain[1, 2] = reverse[2, 1] = reverse[1, 0] = True
    for noise, tie in ((rng.normal, True), (rng.exponential, False)):
        x = noise(size=(2000, 3)) @ np.linalg.inv(np.eye(3) - np.diag([0.8, 0.8], 1))
        score = BicNG(Statistics.from_array(x))
        assert (abs(_total(score, chain) - _total(score, reverse)) < 1e-6) == tie


def test_units_do_not_matter(rng):
    values, _ = _linear(rng, rng.exponential)
    families = _families(5, rng)
    other = values * [1e-3, 1, -5, 1e6, 7] - 100
    shift = np.log(np.array([1e-3, 1, 5, 1e6, 7]) ** 2)[families.nodes]
    found = BicNG(Statistics.from_array(other)).local(families)
    np.testing.assert_allclose(found + shift, BicNG(Statistics.from_array(values)).local(families), atol=1e-8)


def test_a_row_of_weight_w_counts_as_w_rows(rng):
    values, _ = _linear(rng, rng.laplace, n=90)
    times = rng.integers(1, 5, size=90)
    families = _families(5, rng)
    weighted = build_score("bic-ng", replace(Statistics.from_array(values), weights=times.astype(float)))
    repeated = build_score("bic-ng", Statistics.from_array(np.repeat(values, times, axis=0)))
    np.testing.assert_allclose(weighted.local(families), repeated.local(families), atol=1e-10)
    np.testing.assert_allclose(weighted.family_price(families), repeated.family_price(families))


def test_rows_set_by_intervention_are_left_out(rng):
    values, _ = _linear(rng, rng.exponential)
    targets = np.zeros(values.shape, dtype=bool)
    targets[:150, 2] = targets[100:300, 4] = True
    score = BicNG(Statistics.from_array(values), targets=targets)
    families = _families(5, rng)
    for row in range(len(families)):
        kept = BicNG(Statistics.from_array(values[~targets[:, families.nodes[row]]]))
        assert score.local(families[[row]]) == pytest.approx(kept.local(families[[row]]), abs=1e-9)


def test_collinear_and_perfect_parents_are_harmless(rng):
    x = rng.exponential(size=(200, 4))
    x[:, 2], x[:, 3] = x[:, 0] + x[:, 1], rng.exponential(size=200) + x[:, 0]
    score = BicNG(Statistics.from_array(x))
    both, single, perfect = score.local(Families.from_sets(4, [(3, (0, 1, 2)), (3, (0, 1)), (2, (0, 1))]))
    assert both == pytest.approx(single, abs=1e-6)
    assert np.isfinite(perfect)
    few = BicNG(Statistics.from_array(x[:4, [0, 1, 3]] + 1e-3 * rng.normal(size=(4, 3))))
    assert np.isfinite(few.local(Families.from_sets(3, [(2, (0, 1)), (0, ())]))).all()


@pytest.mark.parametrize("kind", ["rounded", "binary", "outliers", "t3"])
def test_awkward_columns_have_finite_scores_and_a_graph(kind, rng):
    x = rng.standard_t(3, size=(150, 5))
    x[:, 1] += x[:, 0]
    if kind == "rounded":
        x = np.round(x)
    if kind == "binary":
        x[:, :2] = x[:, :2] > 0
    if kind == "outliers":
        x[3] = 1e6
    result = DrBO(score="bic-ng", random_state=0).fit(x)
    assert np.isfinite(result.score_)


def test_what_it_cannot_take_is_refused():
    with pytest.raises(ScoreError, match="requires rows"):
        BicNG.from_covariance(np.eye(2), 100)
    holes = Statistics.from_array([[1.0, 2.0], [2.0, np.nan], [3.0, 1.0], [0.0, 5.0]])
    with pytest.raises(DataError, match="'bic-ng' requires complete rows"):
        build_score("bic-ng", holes)
