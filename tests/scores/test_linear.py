import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from drbo import _core
from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError, ScoreError
from drbo.scores.families import Families
from drbo.scores.linear import RESIDUAL_FLOOR, BicEV, BicNV, residual_variances

pytestmark = pytest.mark.floats

BOTH = pytest.mark.parametrize("kind", [BicNV, BicEV])


def _values(rng, n=60, d=5):
    mixing = np.eye(d) + np.triu(rng.normal(size=(d, d)), 1)
    return rng.normal(size=(n, d)) @ mixing + rng.normal(size=d)


def _dags(rng, count, d, density=0.5):
    orders = [rng.permutation(d) for _ in range(count)]
    return np.stack([np.triu(rng.random((d, d)) < density, 1)[np.ix_(order, order)] for order in orders])


def _scores(score, dags):
    families = Families.from_dags(dags)
    shape = (len(dags), dags.shape[1])
    local, price = score.local(families).reshape(shape), score.family_price(families).reshape(shape)
    return score.combine(local, price)


def _sklearn_mse(values, node, parents):
    """Mean squared residual of a regression with intercept."""
    if len(parents) == 0:
        return float(np.mean((values[:, node] - values[:, node].mean()) ** 2))
    fit = LinearRegression().fit(values[:, parents], values[:, node])
    return float(np.mean((values[:, node] - fit.predict(values[:, parents])) ** 2))


def _lstsq_mse(values, node, parents):
    design = np.column_stack([np.ones(len(values)), values[:, parents]])
    weights = np.linalg.lstsq(design, values[:, node], rcond=None)[0]
    return float(np.mean((values[:, node] - design @ weights) ** 2))


def _bic(values, dag, penalty=1.0, equal=False):
    """The paper's formulas, Eq. 2 and 3."""
    n, d = values.shape
    mse = np.array([_sklearn_mse(values, node, np.flatnonzero(dag[:, node])) for node in range(d)])
    fit = -n * d * math.log(mse.sum() / d) if equal else -n * np.log(mse).sum()
    return fit - penalty * dag.sum() * math.log(n)


@BOTH
@pytest.mark.parametrize("penalty", [1.0, 2.0, 0.0])
def test_scores_are_the_papers_formula_with_sklearns_regressions(kind, penalty, rng):
    values = _values(rng)
    dags = _dags(rng, 12, 5)
    found = _scores(kind(Statistics.from_array(values), penalty=penalty), dags)
    expected = [_bic(values, dag, penalty, equal=kind is BicEV) for dag in dags]
    assert found == pytest.approx(expected, rel=1e-10)


def test_local_is_minus_ln_mse(rng):
    values = _values(rng)
    families = Families.from_sets(5, [(0, ()), (1, (0,)), (2, (4, 1)), (3, (0, 1, 2, 4))])
    expected = [-math.log(_sklearn_mse(values, node, parents)) for node, parents in [(0, []), (1, [0]), (2, [4, 1])]]
    for kind in (BicNV, BicEV):
        assert kind(Statistics.from_array(values)).local(families)[:3] == pytest.approx(expected, abs=1e-11)
    assert len(BicNV(Statistics.from_array(values)).local(families[:0])) == 0


def test_the_fingerprint_of_the_true_graph(data_dir):
    with np.load(data_dir / "linear_30er4_seed1_n1000.npz") as data:
        values, dag = data["X"], data["A"].astype(bool)
    score = _scores(BicEV(Statistics.from_array(values)), dag[None])[0]
    assert score / values.size == pytest.approx(-0.027284462, abs=1e-6)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 17, 33])
def test_padding_does_not_matter(size, rng):
    """The residual variance is the ratio of two determinants."""
    correlation = np.corrcoef(rng.normal(size=(200, 40)) @ rng.normal(size=(40, 40)), rowvar=False)
    parents = [tuple(rng.permutation(39)[:size] + 1) for _ in range(4)]
    found = residual_variances(correlation, Families.from_sets(40, [(0, members) for members in parents]))
    for value, members in zip(found, parents, strict=True):
        whole = correlation[np.ix_((*members, 0), (*members, 0))]
        log_ratio = np.linalg.slogdet(whole)[1] - np.linalg.slogdet(whole[:-1, :-1])[1]
        assert value == pytest.approx(math.exp(log_ratio), rel=1e-8)


def test_families_are_scored_alone_and_in_company(rng):
    score = BicNV(Statistics.from_array(_values(rng)))
    families = Families.from_dags(_dags(rng, 30, 5))
    alone = [score.local(families[row : row + 1])[0] for row in range(len(families))]
    assert score.local(families).tolist() == alone


@BOTH
def test_a_covariance_is_as_good_as_the_data(kind, rng):
    values, prior = _values(rng), rng.normal(size=(5, 5))
    dags = _dags(rng, 10, 5)
    for options in ({}, {"penalty": 2}, {"penalty": "ebic", "edge_prior": prior}):
        from_data = kind(Statistics.from_array(values), **options)
        covariance = np.cov(values, rowvar=False, bias=True)
        from_covariance = kind.from_covariance(covariance, 60, list("abcde"), **options)
        assert _scores(from_covariance, dags) == pytest.approx(_scores(from_data, dags), rel=1e-10)
        assert from_covariance.names == tuple("abcde")
    assert kind.from_covariance(np.eye(2), 10).names == ("x0", "x1")


@pytest.mark.parametrize(
    ("covariance", "n", "names", "message"),
    [
        (np.eye(3)[:2], 50, None, r"finite square matrix, got shape \(2, 3\)"),
        (np.empty((0, 0)), 50, None, r"finite square matrix, got shape \(0, 0\)"),
        ([[1.0, np.nan], [np.nan, 1.0]], 50, None, "finite square matrix"),
        ([[1.0, 0.5], [0.2, 1.0]], 50, None, "symmetric"),
        ([[1e-200, 5e-201], [2e-201, 1e-200]], 50, None, "symmetric"),
        ([[1.0, 0.0], [0.0, 0.0]], 50, None, "got one <= 0 at position 1"),
        ([[1.0, 2.0], [2.0, 1.0]], 50, None, "positive semi-definite"),
        (np.eye(2), 2, None, "n_rows must be at least 3, got 2"),
        (np.eye(2), 50, ["a"], "covariance has 2 columns, but 1 names were given"),
    ],
)
def test_what_is_no_covariance_is_refused(covariance, n, names, message):
    with pytest.raises(DataError, match=message):
        BicNV.from_covariance(covariance, n, names)


def test_collinear_parents_are_fitted_as_by_least_squares(rng):
    a, b, c = rng.normal(size=(3, 80))
    values = np.column_stack([a, b, a + b, 2 * a - 3, c + a - b, a + 1e-12 * c])
    score = BicNV(Statistics.from_array(values))
    families = [(4, (0, 1, 2)), (4, (0, 3)), (4, (0, 1, 2, 3)), (4, (1, 3))]
    found = score.local(Families.from_sets(6, families))
    expected = [-math.log(_lstsq_mse(values, node, list(parents))) for node, parents in families]
    assert found == pytest.approx(expected, abs=1e-9)
    copies = score.local(Families.from_sets(6, [(4, (0,)), (4, (0, 5)), (4, (0, 3, 5))]))  # the last digits are noise
    assert copies == pytest.approx(np.full(3, copies[0]), abs=1e-6)
    dags = _dags(rng, 40, 6, density=0.8)
    for kind in (BicNV, BicEV):
        assert np.isfinite(_scores(kind(Statistics.from_array(values)), dags)).all()


def test_a_perfect_fit_stays_finite(rng):
    a, b = rng.normal(size=(2, 50))
    values = np.column_stack([a, b, a - 2 * b])
    score = BicNV(Statistics.from_array(values))
    fitted = score.local(Families.from_sets(3, [(2, (0, 1))]))[0]
    assert fitted == pytest.approx(-math.log(values[:, 2].var() * RESIDUAL_FLOOR), rel=0.2)


@BOTH
@pytest.mark.parametrize("n", [4, 5, 6, 7])
def test_as_many_parents_as_rows_get_no_credit(kind, n, rng):
    """With an intercept, n - 1 parents fit n rows perfectly whatever they are."""
    values = rng.normal(size=(n, 6))
    score = kind(Statistics.from_array(values))
    families = Families.from_sets(6, [(0, tuple(range(1, size + 1))) for size in range(6)])
    local = score.local(families)
    for size, value in enumerate(local):
        expected = _lstsq_mse(values, 0, list(range(1, size + 1))) if size < n - 1 else values[:, 0].var()
        assert value == pytest.approx(-math.log(expected), abs=1e-8)
    assert score.nested == (n > 6)


@BOTH
def test_an_edge_prior_adds_twice_its_log_odds(kind, rng):
    """A BIC is twice a log evidence."""
    values, prior = _values(rng), rng.normal(size=(5, 5))
    dags = _dags(rng, 10, 5)
    table = Statistics.from_array(values)
    gained = _scores(kind(table, edge_prior=prior), dags) - _scores(kind(table), dags)
    assert gained == pytest.approx((dags * 2 * prior).sum(axis=(1, 2)), abs=1e-9)


@BOTH
def test_ebic_costs_two_ln_d_more_per_edge(kind, rng):
    table, dags = Statistics.from_array(_values(rng)), _dags(rng, 10, 5)
    lost = _scores(kind(table), dags) - _scores(kind(table, penalty="ebic"), dags)
    assert lost == pytest.approx(dags.sum(axis=(1, 2)) * 2 * math.log(5), abs=1e-9)


def test_rows_with_interventions_are_left_out(rng):
    """Each node is fitted on the rows in which nobody set it; the formulas by hand on those rows."""
    values = _values(rng, n=80, d=4)
    targets = rng.random((80, 4)) < [0.4, 0.0, 0.4, 0.1]
    table = Statistics.from_array(values)
    rows = (~targets).sum(axis=0)
    for dag in _dags(rng, 8, 4):
        parents = [np.flatnonzero(dag[:, node]) for node in range(4)]
        mse = np.array([_sklearn_mse(values[~targets[:, i]], i, parents[i]) for i in range(4)])
        penalty = (dag.sum(axis=0) * np.log(rows)).sum()
        unequal, equal = BicNV(table, targets=targets), BicEV(table, targets=targets)
        assert _scores(unequal, dag[None])[0] == pytest.approx(-(rows * np.log(mse)).sum() - penalty, rel=1e-10)
        pooled = -rows.sum() * math.log((rows * mse).sum() / rows.sum())
        assert _scores(equal, dag[None])[0] == pytest.approx(pooled - penalty, rel=1e-10)
        assert not unequal.score_equivalent


def test_a_parent_that_never_varies_in_the_rows_that_count_explains_nothing(rng):
    values = _values(rng, n=30, d=3)
    targets = np.zeros((30, 3), dtype=bool)
    targets[:20, 1] = True
    values[20:, 0] = 7.0
    local = BicNV(Statistics.from_array(values), targets=targets).local(Families.from_sets(3, [(1, ()), (1, (0,))]))
    assert local[0] == local[1] == pytest.approx(-math.log(values[20:, 1].var()))


def test_a_node_without_variation_in_its_rows_is_named(rng):
    values = _values(rng, n=30, d=3)
    targets = np.zeros((30, 3), dtype=bool)
    targets[:20, 1] = True
    values[20:, 1] = 7.0
    with pytest.raises(ScoreError, match="column 'x1' is constant in the rows without intervention on it"):
        BicNV(Statistics.from_array(values), targets=targets)


def _equivalent_pair(rng, d):
    """A DAG and the one with a covered edge reversed (Chickering 1995)."""
    while True:
        dag = _dags(rng, 1, d)[0]
        for i, j in rng.permutation(np.argwhere(dag)):
            if np.array_equal(np.flatnonzero(dag[:, j]), np.sort([*np.flatnonzero(dag[:, i]), i])):
                turned = dag.copy()
                turned[i, j], turned[j, i] = False, True
                return np.stack([dag, turned])


def test_equivalent_dags_tie_under_unequal_variances_only(rng):
    table = Statistics.from_array(_values(rng, n=200))
    for penalty in (1.0, "ebic"):
        pairs = [_equivalent_pair(rng, 5) for _ in range(20)]
        unequal = np.array([_scores(BicNV(table, penalty=penalty), pair) for pair in pairs])
        assert unequal[:, 0] == pytest.approx(unequal[:, 1], rel=1e-10)
        equal = np.array([_scores(BicEV(table, penalty=penalty), pair) for pair in pairs])
        assert (np.abs(equal[:, 0] - equal[:, 1]) > 1e-3).all()
    assert BicNV(table).score_equivalent
    assert not BicEV(table).score_equivalent


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(-100, 100), min_size=5, max_size=5), st.integers(0, 10))
def test_units_do_not_matter_under_unequal_variances(exponents, seed):
    """Columns scaled by anything from 1e-100 to 1e100: differences between DAGs stay, the level moves."""
    rng = np.random.default_rng(seed)
    values, dags = _values(rng), _dags(rng, 6, 5)
    before = _scores(BicNV(Statistics.from_array(values)), dags)
    scaled = Statistics.from_array(values * 10.0 ** np.array(exponents))
    after = _scores(BicNV(scaled), dags)
    shift = -60 * 2 * math.log(10) * sum(exponents)
    assert after - before == pytest.approx(np.full(6, shift), abs=1e-6)
    assert np.isfinite(_scores(BicEV(scaled), dags)).all()


def test_one_unit_for_all_moves_equal_variances_by_a_constant(rng):
    values, dags = _values(rng), _dags(rng, 6, 5)
    before = _scores(BicEV(Statistics.from_array(values)), dags)
    for scale in (1e-100, 1e100):
        after = _scores(BicEV(Statistics.from_array(scale * values)), dags)
        assert after - before == pytest.approx(np.full(6, -60 * 5 * 2 * math.log(scale)), rel=1e-9)


def test_large_offsets_do_not_matter(rng):
    values, dags = _values(rng), _dags(rng, 6, 5)
    moved = _scores(BicNV(Statistics.from_array(values + 1e7)), dags)
    assert moved == pytest.approx(_scores(BicNV(Statistics.from_array(values)), dags), abs=1e-3)


@BOTH
def test_the_smallest_table(kind):
    """Two columns, three rows."""
    values = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 3.0]])
    dags = np.array([[[0, 0], [0, 0]], [[0, 1], [0, 0]], [[0, 0], [1, 0]]], dtype=bool)
    expected = [_bic(values, dag, equal=kind is BicEV) for dag in dags]
    assert _scores(kind(Statistics.from_array(values)), dags) == pytest.approx(expected, rel=1e-12)


def test_shares_at_a_level_bound_the_equal_variance_score(rng):
    """-ln M = max over s of (1 - ln s - M / s): every level is a lower bound, its own level is exact."""
    score = BicEV(Statistics.from_array(_values(rng)))
    dags = _dags(rng, 8, 5)
    families = Families.from_dags(dags)
    local, price = score.local(families).reshape(8, 5), score.family_price(families).reshape(8, 5)
    total = score.combine(local, price)
    weight = 60 * 5
    for b in range(8):
        level = score.level_of(local[b])
        assert level == pytest.approx(np.exp(-local[b]).mean())
        bound = score.share(local, price, level).sum(-1) + weight * (1 - math.log(level))
        assert float(bound[b]) == pytest.approx(float(total[b]))
        assert (bound <= total + 1e-8).all()
        nodes = np.array([4, 1])
        part = score.share(local[:, nodes], price[:, nodes], level, nodes)
        assert np.array_equal(part, score.share(local, price, level)[:, nodes])
    with pytest.raises(ValueError, match="only at a given level"):
        score.share(local, price)


def test_predicted_values_go_through_the_same_combine(rng):
    """For a whole table of candidates (S, C, d), in single precision, too."""
    for kind in (BicNV, BicEV):
        score = kind(Statistics.from_array(_values(rng)))
        local, price = rng.normal(size=(2, 3, 4, 5))
        together = score.combine(local, price)
        assert together.shape == (3, 4)
        assert together[2, 1] == score.combine(local[2, 1], price[2, 1])
        assert score.combine(local.astype(np.float32), price) == pytest.approx(together, rel=1e-4)


def test_categories_are_refused(rng):
    table = Statistics(rng.integers(2, size=(9, 2)) * 1.0, ("a", "b"), ("numeric", "categorical"), (None, ("n", "y")))
    with pytest.raises(ScoreError, match="column 'b' is categorical, but bic-ev requires numbers"):
        BicEV(table)


@pytest.mark.parametrize("kind", [BicNV, BicEV])
def test_combine_with_rows_that_differ_from_node_to_node(kind, rng):
    targets = np.zeros((50, 3), dtype=bool)
    targets[:20, 1] = True
    score = kind(Statistics.from_array(rng.normal(size=(50, 3))), targets=targets)
    local, price = rng.normal(size=(2, 4, 3))
    n = np.array([50, 30, 50])
    fit = -n.sum() * np.log((n * np.exp(-local)).sum(1) / n.sum()) if kind is BicEV else (n * local).sum(1)
    assert score.combine(local, price) == pytest.approx(fit + price.sum(1))


def _many_families(rng, count, d):
    nodes = rng.integers(d, size=count)
    parents = rng.random((count, d)) < rng.random((count, 1))
    parents[np.arange(count), nodes] = False
    return Families(nodes, parents)


def test_residuals_are_those_of_solving_the_normal_equations(rng):
    correlation = np.corrcoef(rng.normal(size=(100, 12)) @ rng.normal(size=(12, 12)), rowvar=False)
    families = _many_families(rng, 60, 12)
    found = residual_variances(correlation, families)
    for value, node, mask in zip(found, families.nodes, families.parents, strict=True):
        weights = np.linalg.solve(correlation[np.ix_(mask, mask)], correlation[mask, node])
        assert value == pytest.approx(1.0 - weights @ correlation[mask, node], rel=1e-7)


def test_collinear_parents_are_named_and_empty_families_leave_everything():
    correlation = np.array([[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 1.0]])
    starts, members = np.array([0, 2, 2, 3]), np.array([0, 1, 0])
    residual = _core.residuals(correlation, np.array([2, 2, 2]), starts, members, 1e-11, 1)
    assert np.isnan(residual[0])
    assert residual[1:].tolist() == [1.0, 0.75]


def test_threads_do_not_change_the_answer(rng, monkeypatch, use):
    correlation = np.corrcoef(rng.normal(size=(100, 30)), rowvar=False)
    families = _many_families(rng, 200, 30)
    alone = residual_variances(correlation, families)
    monkeypatch.setattr("drbo.machine.threads.SMALL_WORK", 1)
    use(3)
    assert (residual_variances(correlation, families) == alone).all()


@pytest.mark.parametrize(
    ("nodes", "starts", "members"),
    [([3], [0, 1], [0]), ([-1], [0, 1], [0]), ([2], [0, 1], [3]), ([2], [0, 2], [0]), ([2], [1, 1], [0])],
)
def test_families_out_of_range_are_refused(nodes, starts, members):
    with pytest.raises(ValueError, match="must"):
        _core.residuals(np.eye(3), np.array(nodes), np.array(starts), np.array(members), 1e-11, 1)
