import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from drbo.data.statistics.coded import Indicators
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.sums import BasisSums, Sums, summed
from drbo.errors import ScoreError
from drbo.scores import mixed
from drbo.scores.families import Families
from drbo.scores.linear import BicNV
from drbo.scores.mixed import ConditionalGaussian, DegenerateGaussian
from tests.scores.conftest import random_families

LEVELS = (("a", "b", "c"), None, ("p", "q"), None, ("r", "s", "t", "u"), None)
BOTH = pytest.mark.parametrize("score_class", [DegenerateGaussian, ConditionalGaussian])


def make_table(n, seed=0, levels=LEVELS):
    """Columns that depend on each other; categories are cut from numbers."""
    rng = np.random.default_rng(seed)
    d = len(levels)
    latent = rng.normal(size=(n, d)) @ np.linalg.inv(np.eye(d) - np.triu(rng.normal(size=(d, d)), 1))
    for j, names in enumerate(levels):
        if names is not None:
            cuts = np.quantile(latent[:, j], np.arange(1, len(names)) / len(names))
            latent[:, j] = np.searchsorted(cuts, latent[:, j])
    kinds = tuple("numeric" if names is None else "categorical" for names in levels)
    return Statistics(latent, tuple(f"x{j}" for j in range(d)), kinds, levels)


def columns_of(table, members):
    """The columns that stand for some variables: numbers, or indicators of all levels but the first."""
    blocks = []
    for j in members:
        values = table.values[:, j]
        levels = [None] if table.levels[j] is None else np.unique(values)[1:]
        blocks += [values if level is None else (values == level).astype(float) for level in levels]
    return np.column_stack(blocks) if blocks else np.empty((table.n_rows, 0))


@pytest.mark.parametrize("n", [40, 500])
def test_degenerate_gaussian_is_the_determinant_of_residuals(n):
    table = make_table(n)
    families = random_families(6, [0, 1, 2, 3, 4, 5] * 4)
    for family, value in zip(range(24), DegenerateGaussian(table).local(families), strict=True):
        inputs = columns_of(table, np.flatnonzero(families.parents[family]))
        design = np.column_stack([np.ones(n), inputs])
        outputs = columns_of(table, [families.nodes[family]])
        residual = outputs - design @ np.linalg.lstsq(design, outputs, rcond=None)[0]
        assert value == pytest.approx(-np.linalg.slogdet(residual.T @ residual / n)[1], abs=1e-6)


@BOTH
def test_numeric_columns_alone_give_the_linear_bic(score_class):
    table = Statistics.from_array(make_table(200, levels=(None,) * 5).values * [1.0, 0.01, 100.0, 3.0, 1.0])
    linear, score = BicNV(table), score_class(table)
    dags = np.triu(np.random.default_rng(1).random((10, 5, 5)) < 0.5, 1)
    families = Families.from_dags(dags)

    def totals(which):
        local, price = which.local(families), which.family_price(families)
        return which.combine(local.reshape(10, 5), price.reshape(10, 5))

    difference = totals(score) - totals(linear)
    np.testing.assert_allclose(difference, difference[0], atol=1e-5)
    if score_class is DegenerateGaussian:
        assert difference[0] == pytest.approx(0, abs=1e-5)


@BOTH
@pytest.mark.parametrize("n", [25, 400])
@pytest.mark.parametrize("options", [{}, {"penalty": 2}, {"penalty": "ebic"}])
def test_reversing_a_covered_edge_changes_nothing(score_class, n, options):
    """Chickering 1995: equivalent DAGs differ by reversals of edges i -> j with pa(j) = pa(i) + i."""
    score = score_class(make_table(n), **options)
    gain = np.broadcast_to(score.gain, 6)
    rng = np.random.default_rng(2)
    for _ in range(40):
        i, j, *common = rng.permutation(6)[: 2 + rng.integers(5)].tolist()
        families = Families.from_sets(6, [(i, common), (j, [*common, i]), (j, common), (i, [*common, j])])
        shares = gain[families.nodes] * score.local(families) + score.family_price(families)
        assert shares[0] + shares[1] == pytest.approx(shares[2] + shares[3], abs=1e-6)


def test_categories_that_determine_each_other_stay_finite_and_tie():
    table = make_table(300)
    merged = np.minimum(table.values[:, 4], 2)  # a function of x4
    values = np.column_stack([table.values, merged, table.values[:, 1] * 2 + 1])
    levels = (*LEVELS, ("v", "w", "z"), None)
    kinds = tuple("numeric" if names is None else "categorical" for names in levels)
    score = DegenerateGaussian(Statistics(values, tuple(f"x{j}" for j in range(8)), kinds, levels))
    families = Families.from_sets(8, [(6, ()), (4, (6,)), (4, ()), (6, (4,)), (1, (7,)), (7, (1,)), (0, (4, 6, 1, 7))])
    local = score.local(families)
    assert np.isfinite(local).all()
    assert local[0] + local[1] == pytest.approx(local[2] + local[3], abs=1e-3)
    assert local[1] > local[2] + 10
    assert local[6] == pytest.approx(score.local(Families.from_sets(8, [(0, (4, 1))]))[0], abs=1e-6)


def test_order_of_levels_and_units_do_not_matter():
    table = make_table(300)
    values = table.values * [1, 0.01, 1, 1e12, 1, -1] + [0, 5, 0, 0, 0, 2]
    values[:, 0] = 2 - values[:, 0]
    values[:, 4] = np.array([2, 0, 3, 1])[values[:, 4].astype(int)]
    other = Statistics(np.random.default_rng(3).permutation(values), table.names, table.kinds, table.levels)
    families = random_families(6, [0, 1, 3, 5] * 4)
    for score_class in (DegenerateGaussian, ConditionalGaussian):
        first, second = score_class(table), score_class(other)
        empty = Families(families.nodes, np.zeros_like(families.parents))
        gains = [score.local(families) - score.local(empty) for score in (first, second)]
        np.testing.assert_allclose(*gains, rtol=1e-6, atol=1e-6)


def test_degenerate_gaussian_counts_columns():
    score = DegenerateGaussian(make_table(100))
    families = Families.from_sets(6, [(0, ()), (0, (1, 2)), (1, (0, 4)), (4, (0, 3))])
    counts = score.parameters(families)
    assert counts.tolist() == [0, 2 * (1 + 1), 1 * (2 + 3), 3 * (2 + 1)]
    unused = Statistics(
        np.array([[0.0, 1], [1, 2], [0, 4]]), ("a", "b"), ("categorical", "numeric"), (("p", "q", "r"), None)
    )
    price = DegenerateGaussian(unused).family_price(Families.from_sets(2, [(1, (0,))]))
    assert price[0] == pytest.approx(-math.log(3))  # the level that never occurs has no column


@BOTH
def test_as_many_columns_as_rows_get_no_credit(score_class):
    table = make_table(6, levels=(None,) * 8)
    local = score_class(table).local(Families.from_sets(8, [(0, ()), (0, (1, 2, 3, 4, 5)), (0, range(1, 8))]))
    np.testing.assert_allclose(local, local[0])


def brute_conditional(table, members):
    """Log-likelihood of a set of columns, configuration by configuration, with the documented shrinkage."""
    categories = [j for j in members if table.levels[j] is not None]
    numbers = [j for j in members if table.levels[j] is None]
    keys = [tuple(row[categories]) for row in table.values]
    total = 0.0
    for key in set(keys):
        rows = table.values[[k == key for k in keys]]
        total += len(rows) * math.log(len(rows) / table.n_rows)
        if numbers:
            overall = np.atleast_2d(np.cov(table.values[:, numbers].T, bias=True))
            within = np.atleast_2d(np.cov(rows[:, numbers].T, bias=True)) if len(rows) > 1 else 0
            covariance = (len(rows) * within + (len(numbers) + 1) * overall) / (len(rows) + len(numbers) + 1)
            total += multivariate_normal(rows[:, numbers].mean(axis=0), covariance).logpdf(rows[:, numbers]).sum()
    return total


@pytest.mark.parametrize("n", [30, 300])
def test_conditional_gaussian_matches_loops(n):
    table = make_table(n)
    families = random_families(6, [0, 1, 2, 3, 4, 5] * 3)
    for family, value in zip(range(18), ConditionalGaussian(table).local(families), strict=True):
        node, parents = families.nodes[family], np.flatnonzero(families.parents[family]).tolist()
        expected = brute_conditional(table, [*parents, node]) - brute_conditional(table, parents)
        assert value == pytest.approx(expected, abs=1e-6)


def test_conditional_gaussian_counts_parameters():
    score = ConditionalGaussian(make_table(100))
    sets = [(0, ()), (1, ()), (1, (0, 2)), (1, (0, 3, 5)), (4, (0, 2)), (4, (0, 1, 3))]

    def total(members):
        configs = math.prod(len(LEVELS[j]) for j in members if LEVELS[j] is not None)
        k = sum(LEVELS[j] is None for j in members)
        return configs - 1 + configs * (k + k * (k + 1) // 2)

    families = Families.from_sets(6, sets)
    counts = score.parameters(families)
    assert counts.tolist() == [total((*parents, node)) - total(parents) for node, parents in sets]


@BOTH
def test_rows_with_interventions_are_left_out(score_class):
    table = make_table(200)
    targets = np.random.default_rng(4).random((200, 6)) < [0.3, 0.0, 0.3, 0.2, 0.0, 0.0]
    score = score_class(table, targets=targets)
    assert not score.score_equivalent
    families = random_families(6, [0, 1, 2, 3] * 4)
    for family, value in zip(range(16), score.local(families), strict=True):
        rows = np.flatnonzero(~targets[:, families.nodes[family]])
        kept = score_class(table.take(rows, np.arange(6)))
        assert value == pytest.approx(kept.local(families[[family]])[0], abs=1e-7)


@BOTH
def test_levels_missing_from_the_rows_that_count_stay_finite(score_class):
    table = make_table(60)
    targets = np.zeros((60, 6), dtype=bool)
    targets[:, 0] = table.values[:, 0] > 0  # x0 is constant in its own rows
    targets[:, 3] = table.values[:, 0] == 2  # one level of x0 is gone in those of x3
    local = score_class(table, targets=targets).local(random_families(6, [0, 1, 2, 3, 4, 5] * 6))
    assert np.isfinite(local).all()


@BOTH
def test_three_rows_stay_finite(score_class):
    values = np.array([[0.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 4.0, 1.0]])
    table = Statistics(
        values, ("a", "b", "c"), ("categorical", "numeric", "categorical"), (("p", "q"), None, ("r", "s"))
    )
    score = score_class(table)
    assert np.isfinite(score.local(random_families(3, [0, 1, 2] * 4))).all()
    assert len(score.local(random_families(3, [1])[:0])) == 0


@BOTH
def test_constant_columns_are_refused(score_class):
    values = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 4.0]])
    with pytest.raises(ScoreError, match="column 'a' has 1 distinct value"):
        score_class(Statistics(values, ("a", "b"), ("categorical", "numeric"), (("p",), None)))


def test_too_many_levels_are_refused(monkeypatch):
    monkeypatch.setattr(mixed, "MAX_COLUMNS", 20)
    values = np.column_stack([np.arange(30.0), np.arange(30.0) ** 2])
    levels = (tuple(map(str, range(30))), None)
    with pytest.raises(ScoreError, match=r"needs 30 columns, .* at most 20; column 'id' alone has 30 distinct values"):
        DegenerateGaussian(Statistics(values, ("id", "x"), ("categorical", "numeric"), levels))


def test_conditional_gaussian_is_cheap_up_to_a_number_of_cells(monkeypatch):
    monkeypatch.setattr(mixed, "CHEAP_CELLS", 600)
    assert ConditionalGaussian(make_table(100)).cheap  # 6 columns
    assert not ConditionalGaussian(make_table(101)).cheap
    assert DegenerateGaussian(make_table(101)).cheap


def test_sums_over_indicators_have_the_score_of_the_rows(rng):
    n = 3_000
    group, kind = rng.integers(4, size=n), rng.integers(2, size=n)
    a = rng.normal(size=n) + (group == 1)
    values = np.column_stack([group, a, 1e6 + 0.1 * (a + kind + rng.normal(size=n)), kind]).astype(float)
    levels = (tuple("wxyz"), None, None, ("no", "yes"))
    kinds = tuple("numeric" if one is None else "categorical" for one in levels)
    table = Statistics(values, tuple("abcd"), kinds, levels)
    indicators = Indicators(levels)
    bases = BasisSums(summed([f"f{k}" for k in range(6)], [indicators(values)]), indicators.widths)
    sums = replace(table, values=values[:10], sums=Sums.of_rows("abcd", values), bases=bases)
    sets = [(j, some) for j in range(4) for size in range(4) for some in combinations({*range(4)} - {j}, size)]
    families = Families.from_sets(4, sets)
    whole, found = DegenerateGaussian(table), DegenerateGaussian(sums)
    assert np.allclose(whole.local(families), found.local(families), rtol=1e-9, atol=1e-9)
    assert np.array_equal(whole.family_price(families), found.family_price(families))
    kept = np.arange(6) != 1  # a category that occurs in no row of a resample
    rare = bases._replace(sums=replace(bases.sums, products=bases.sums.products * np.outer(kept, kept)))
    assert np.isfinite(DegenerateGaussian(replace(sums, bases=rare)).local(families)).all()
