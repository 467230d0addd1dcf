import csv
import warnings

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError
from drbo.scores.families import Families
from drbo.scores.gp.paper import GpEV, GpNV
from tests.scores.conftest import N, all_families


@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_the_regression_is_sklearns(values, alpha):
    families = all_families(4)
    score = GpNV(Statistics.from_array(values), alpha=alpha)
    fit, local = score.fit(families), score.local(families)
    for row in range(len(families)):
        x, y = values[:, families.parents[row]], values[:, families.nodes[row]]
        fixed = GaussianProcessRegressor(RBF(fit.length_scale[row], "fixed"), alpha=alpha, optimizer=None).fit(x, y)
        assert fit.log_likelihood[row] == pytest.approx(fixed.log_marginal_likelihood_value_, rel=1e-6, abs=1e-4)
        mse = np.mean((y - fixed.predict(x)) ** 2)
        assert local[row] == pytest.approx(-np.log(mse + 1 / N), abs=1e-4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a length scale at the end of its range
            fitted = GaussianProcessRegressor(RBF(1.0, (1.0, 1e5)), alpha=alpha).fit(x, y)
        assert fit.log_likelihood[row] >= fitted.log_marginal_likelihood_value_ - 1e-3


def test_without_parents_the_mse_is_the_variance(values):
    local = GpNV(Statistics.from_array(values)).local(Families.from_sets(4, [(2, ())]))
    assert local[0] == pytest.approx(-np.log(values[:, 2].var() + 1 / N))


def test_equal_variances_combine_as_in_the_paper(values):
    score = GpEV(Statistics.from_array(values))
    families = Families.from_dags(np.triu(np.ones((1, 4, 4), dtype=bool), 1))
    local, price = score.local(families), score.family_price(families)
    expected = -N * 4 * np.log(np.exp(-local).mean()) - 6 * np.log(N)
    assert float(score.combine(local, price)) == pytest.approx(expected)


def test_the_fingerprint_of_a_true_graph(data_dir):
    """Score of the true graph of a data set of the paper, by the authors' rules."""
    sets = np.load(data_dir / "gran_dag" / "p10_e40_n1000_gp_ids1to5.npz")
    x, dag = sets["X"][3], sets["A"][3].astype(bool)  # all five: python -m benchmarks gp_check
    assert _score(GpNV(Statistics.from_array(x)), dag) / x.size == pytest.approx(1.595706, abs=2e-4)


@pytest.mark.slow
def test_the_fingerprint_of_sachs(data_dir):
    """Standardised columns, median distances, almost no noise: the authors' rule for these data."""
    with (data_dir / "sachs" / "observations.csv").open() as file:
        names, *lines = csv.reader(file)
    with (data_dir / "sachs" / "edges.csv").open() as file:
        edges = list(csv.reader(file))[1:]
    x = np.array(lines, dtype=float)
    dag = np.zeros((11, 11), dtype=bool)
    for source, target in edges:
        dag[names.index(source), names.index(target)] = True
    score = GpNV(Statistics.from_array(x), alpha=1e-8, median_scale=True, standardize=True)
    assert _score(score, dag) / x.size == pytest.approx(1.164726, abs=1e-5)


def _score(score, dag):
    families = Families.from_dags(dag[None])
    local, price = score.local(families), score.family_price(families)
    return float(score.combine(local, price))


def test_random_families_match_the_table_of_all_local_scores(data_dir):
    """The table was made on a grid of length scales: it is right to 3e-4, and to 1e-4 in the mean."""
    folder, rng = data_dir / "gran_dag", np.random.default_rng(3)
    x = np.load(folder / "p10_e40_n1000_gp_ids1to5.npz")["X"][1]
    known = np.load(folder / "gp_local_scores_ids1to5.npz")["T2"]
    families = _random_families(10, 6, rng)
    masks = (families.parents << np.arange(10)).sum(axis=1)
    difference = np.abs(GpNV(Statistics.from_array(x)).local(families) + known[families.nodes, masks])
    assert difference.max() < 4e-4
    assert difference.mean() < 1e-4


def _random_families(d, count, rng):
    orders = [rng.permutation(d) for _ in range(count)]
    return Families.from_sets(d, [(order[0], order[1 : 1 + rng.integers(1, d)]) for order in orders])


@pytest.mark.slow
def test_two_hundred_families_against_sklearn(data_dir):
    x = np.load(data_dir / "gran_dag" / "p10_e40_n1000_gp_ids1to5.npz")["X"]
    rng, agree = np.random.default_rng(4), 0
    for values in x:
        families = _random_families(10, 40, rng)
        fit = GpNV(Statistics.from_array(values)).fit(families)
        for row in range(40):
            inputs, y = values[:, families.parents[row]], values[:, families.nodes[row]]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                other = GaussianProcessRegressor(RBF(1.0, (1.0, 1e5)), alpha=1.0).fit(inputs, y)
            assert fit.log_likelihood[row] >= other.log_marginal_likelihood_value_ - 1e-4
            if abs(np.log(fit.length_scale[row]) - other.kernel_.theta[0]) < 1e-4:
                agree += 1
                mse = np.mean((y - other.predict(inputs)) ** 2)
                assert fit.log_mse[row] == pytest.approx(np.log(mse), abs=1e-4)
    assert agree > 100


@pytest.mark.parametrize("unit", [1e-9, 1e-4, 1e5])
def test_any_unit_gives_finite_numbers(values, unit):
    """Columns that are constant or wild at every length scale allowed: no warning, no miss."""
    families = all_families(4)
    fit = GpNV(Statistics.from_array(unit * values)).fit(families)
    for row in range(0, len(families), 6):
        inputs, y = unit * values[:, families.parents[row]], unit * values[:, families.nodes[row]]
        for scale in (1.0, 1e2, 1e5, fit.length_scale[row]):
            model = GaussianProcessRegressor(RBF(scale), alpha=1.0, optimizer=None).fit(inputs, y)
            likelihood = model.log_marginal_likelihood_value_
            assert fit.log_likelihood[row] >= likelihood - 1e-3 - 1e-9 * abs(likelihood)
        mse = np.mean((y - model.predict(inputs)) ** 2)
        assert fit.log_mse[row] == pytest.approx(np.log(mse), abs=1e-4)


def test_median_scaling_divides_by_the_median_of_nonzero_distances(values):
    values[:20] = values[20:40]  # equal rows: their distance 0 does not count
    inputs, y = values[:, [0, 2]], values[:, 1]
    unit = np.median(pdist(inputs)[pdist(inputs) > 0])
    family = Families.from_sets(4, [(1, (0, 2))])
    fit = GpNV(Statistics.from_array(values), median_scale=True).fit(family)
    assert fit.length_scale[0] >= 0.999 * unit
    other = GaussianProcessRegressor(RBF(fit.length_scale[0] / unit), alpha=1.0, optimizer=None).fit(inputs / unit, y)
    assert fit.log_likelihood[0] == pytest.approx(other.log_marginal_likelihood_value_, abs=1e-4)


def test_parents_that_are_constant_in_the_rows_that_count_explain_nothing(values):
    targets = np.zeros(values.shape, dtype=bool)
    targets[:40, 1] = True
    values[40:, 0] = 7.0
    score = GpNV(Statistics.from_array(values), median_scale=True, standardize=True, targets=targets)
    local = score.local(Families.from_sets(4, [(1, ()), (1, (0,))]))
    assert local[1] == pytest.approx(local[0], abs=1e-6)


def test_standardize_is_the_same_as_standardising_first(values):
    families = all_families(4)[::5]
    ready = (values - values.mean(axis=0)) / values.std(axis=0)
    assert GpNV(Statistics.from_array(values), standardize=True).local(families) == pytest.approx(
        GpNV(Statistics.from_array(ready)).local(families), abs=1e-7
    )


def test_rows_with_interventions_are_left_out(values):
    targets = np.zeros(values.shape, dtype=bool)
    targets[50:, 2] = True
    family = Families.from_sets(4, [(2, (0, 1)), (2, ())])
    assert GpNV(Statistics.from_array(values), targets=targets).local(family) == pytest.approx(
        GpNV(Statistics.from_array(values[:50])).local(family), abs=1e-7
    )


def test_alpha_has_a_range(values):
    with pytest.raises(SettingsError, match="alpha"):
        GpNV(Statistics.from_array(values), alpha=0.0)
