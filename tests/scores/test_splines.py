from dataclasses import replace

import numpy as np
import pytest

from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.units import ranked, standardized, winsorized
from drbo.errors import DataError, ScoreError, SettingsError
from drbo.scores.families import Families
from drbo.scores.linear import BicNV
from drbo.scores.registry import build_score
from drbo.scores.splines import RankSplines, SplineScore, natural_spline

N = 200


@pytest.fixture
def values(rng):
    x = rng.normal(size=(N, 4))
    x[:, 1] += 2 * np.sin(2 * x[:, 0])
    x[:, 2] += x[:, 1] ** 2 - x[:, 0]
    return x


def test_the_basis_is_orthonormal_centred_and_linear_in_the_tails():
    x = np.linspace(-3, 3, 400)
    basis = natural_spline(x, 5)
    assert basis.T @ basis == pytest.approx(np.eye(5), abs=1e-10)
    assert basis.mean(axis=0) == pytest.approx(0, abs=1e-12)
    for tail in (slice(0, 18), slice(-18, None)):  # beyond the outer knots at 5% and 95%
        assert np.diff(basis[tail], 2, axis=0) == pytest.approx(0, abs=1e-10)


def test_local_is_the_least_squares_fit_on_the_basis(values):
    score = SplineScore(Statistics.from_array(values))
    families = Families.from_sets(4, [(1, ()), (1, (0,)), (2, (0, 1)), (3, (0, 1, 2))])
    local = score.local(families)
    columns = standardized(winsorized(values))
    for row, (node, parents) in enumerate([(1, []), (1, [0]), (2, [0, 1]), (3, [0, 1, 2])]):
        df = int(score.parameters(families[[row]])[0]) // max(1, len(parents))
        design = np.column_stack([np.ones(N), *(natural_spline(columns[:, j], df) for j in parents)])
        residual = columns[:, node] - design @ np.linalg.lstsq(design, columns[:, node], rcond=None)[0]
        expected = local[0] if row == 0 else local[row]
        scale = np.log(np.mean(residual**2)) - np.log(np.mean((columns[:, node] - columns[:, node].mean()) ** 2))
        empty = score.local(Families.from_sets(4, [(node, ())]))[0]
        assert empty - expected == pytest.approx(scale, abs=1e-6)


def test_units_do_not_matter_and_nonlinear_causes_are_found(values):
    families = Families.from_sets(4, [(1, ()), (1, (0,)), (3, ()), (3, (0,))])
    scaled = values * np.array([0.01, 100.0, 1.0, 30.0]) - 3.0
    shares = []
    for x in (values, scaled):
        score = SplineScore(Statistics.from_array(x))
        local = score.local(families)
        shares.append(N * local + score.family_price(families))
    gains = [(share[1] - share[0], share[3] - share[2]) for share in shares]
    assert gains[0] == pytest.approx(gains[1], abs=1e-6)
    assert gains[0][0] > 50
    assert gains[0][1] < 0


def test_with_one_parameter_it_is_the_linear_score(values):
    families = Families.from_sets(4, [(1, (0,)), (2, (0, 1)), (3, (0, 1, 2))])
    linear = BicNV(Statistics.from_array(standardized(winsorized(values))))
    splines = SplineScore(Statistics.from_array(values), df=1)
    assert splines.local(families) == pytest.approx(linear.local(families), abs=1e-9)  # by other factorisations
    assert splines.family_price(families) == pytest.approx(linear.family_price(families))


@pytest.mark.parametrize(("column", "width"), [([0, 1, 1, 0, 0, 1], 1), ([0, 1, 2, 0, 1, 2, 0, 1, 2], 2)])
def test_few_values_give_few_functions(column, width):
    assert natural_spline(np.array(column, dtype=float), 5).shape[1] == width


def test_a_few_values_are_priced_in_full(rng):
    x = np.column_stack([rng.integers(2, size=N), rng.normal(size=N)])
    family = Families.from_sets(2, [(1, (0,))])
    assert SplineScore(Statistics.from_array(x), df=4).family_price(family)[0] == pytest.approx(-4 * np.log(N))


def test_independent_heavy_tails_give_few_edges():
    """Ordered pairs that would pay: 2 here; 20 without the fences, 25 at 3 parameters a parent."""
    rng, d = np.random.default_rng(5), 20
    pairs = Families.from_sets(d, [(j, (i,)) for i in range(d) for j in range(d) if i != j])
    edges = 0
    for _ in range(10):
        score = SplineScore(Statistics.from_array(rng.standard_t(3, size=(100, d))))
        edges += int((100 * score.local(pairs) + score.family_price(pairs) > 0).sum())
    assert edges <= 8


def test_no_credit_for_as_many_parameters_as_rows(rng):
    x = rng.normal(size=(14, 4))
    local = SplineScore(Statistics.from_array(x)).local(Families.from_sets(4, [(0, (1, 2)), (0, (1, 2, 3))]))
    assert local[0] > 0
    assert local[1] == 0


def test_rows_with_interventions_are_left_out(values):
    targets = np.zeros(values.shape, dtype=bool)
    targets[:60, 2] = True
    family = Families.from_sets(4, [(2, (0, 1)), (2, ())])
    assert SplineScore(Statistics.from_array(values), targets=targets).local(family) == pytest.approx(
        SplineScore(Statistics.from_array(values[60:])).local(family)
    )


@pytest.mark.parametrize("df", [0, 21, 2.5, "5", True])
def test_df_has_a_range(values, df):
    with pytest.raises(SettingsError, match="df must be a whole number"):
        SplineScore(Statistics.from_array(values), df=df)


def test_columns_that_do_not_fit_are_named(values):
    with pytest.raises(ScoreError, match="'b' is categorical"):
        SplineScore(Statistics(values[:, :2], ("a", "b"), ("numeric", "categorical"), (None, ("u", "v"))))


def test_ranks_make_it_free_of_scales(values):
    """No increasing function of a column changes a bit, and the local values are those of splines of normal scores."""
    families = Families.from_dags(np.triu(np.ones((1, values.shape[1], values.shape[1]), dtype=bool), 1))
    score = RankSplines(Statistics.from_array(values))
    bent = RankSplines(Statistics.from_array(np.exp(values) ** 3))
    assert np.array_equal(score.local(families), bent.local(families))
    np.testing.assert_allclose(
        score.local(families), SplineScore(Statistics.from_array(ranked(values))).local(families), atol=1e-6
    )


@pytest.mark.parametrize("kind", [SplineScore, RankSplines])
def test_rows_may_count_as_less_than_one_if_all_count_alike(kind, values):
    table, families = Statistics.from_array(values), Families.from_sets(4, [(0, ()), (3, (0, 1))])
    half = build_score(kind, replace(table, weights=np.full(len(values), 0.5)))
    whole = build_score(kind, table)
    assert half.local(families) == pytest.approx(whole.local(families))
    assert (half.n_rows * 2 == whole.n_rows).all()
    assert half.family_price(families)[1] == pytest.approx(-2 * 5 * np.log(len(values) / 2))
    with pytest.raises(DataError, match="does not support sample weights"):
        build_score(kind, replace(table, weights=np.linspace(1, 2, len(values))))
