import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.gam.api import BSplines
from threadpoolctl import threadpool_limits

from drbo.claims.answer.cam import HUBER_CUT, prune_cam, spline_term, term_p_values
from drbo.errors import DataError, SettingsError


@pytest.fixture(autouse=True)
def _one_thread():
    """On busy cores, threads wait for each other longer than such small matrices take."""
    with threadpool_limits(1):
        yield


def rng(seed=0):
    return np.random.default_rng(seed)


def last_node(n_columns):
    """Return the graph in which all columns are parents of the last one."""
    dag = np.zeros((n_columns, n_columns), dtype=bool)
    dag[:-1, -1] = True
    return dag


def statsmodels_design(parents, df):
    """Return a constant and one block of statsmodels' B-splines for each parent."""
    splines = BSplines(parents, df=[df] * parents.shape[1], degree=[3] * parents.shape[1])
    return np.ones((len(parents), 1)), np.split(splines.basis, parents.shape[1], axis=1)


def without(blocks, place):
    return [block for other, block in enumerate(blocks) if other != place]


def test_term_spans_the_splines_of_statsmodels():
    x = rng().standard_t(3, size=300)
    term = spline_term(x, 10)
    constant, (block,) = statsmodels_design(x[:, None], 10)
    basis = np.linalg.qr(np.column_stack([constant, block]))[0]
    assert term.shape == (300, 9)
    np.testing.assert_allclose(term.T @ term, np.eye(9), atol=1e-12)
    np.testing.assert_allclose(term @ term.T + 1 / 300, basis @ basis.T, atol=1e-9)


def test_without_outliers_it_is_the_partial_f_test_of_statsmodels():
    generator = rng(1)
    parents = generator.uniform(-1, 1, size=(250, 4))
    parents[:, 1] += parents[:, 0]
    y = np.sin(3 * parents[:, 0]) * 0.2 + parents[:, 2] * 0.1 + generator.uniform(-1, 1, size=250)
    constant, blocks = statsmodels_design(parents, 10)
    full = sm.OLS(y, np.hstack([constant, *blocks])).fit()
    for place, p_value in enumerate(term_p_values(y, parents)):
        reduced = sm.OLS(y, np.hstack([constant, *without(blocks, place)])).fit()
        assert p_value == pytest.approx(full.compare_f_test(reduced)[1], rel=1e-6)


def test_with_outliers_it_is_the_f_test_on_huber_scores_of_statsmodels():
    generator = rng(2)
    parents = generator.standard_t(3, size=(250, 3))
    y = np.tanh(parents[:, 0]) * 0.4 + parents[:, 2] + generator.standard_t(3, size=250)
    constant, blocks = statsmodels_design(parents, 10)
    for place, p_value in enumerate(term_p_values(y, parents)):
        others = np.hstack([constant, *without(blocks, place)])
        norm = sm.robust.norms.HuberT(HUBER_CUT)
        robust = sm.RLM(y, others, M=norm).fit(update_scale=False, maxiter=500, tol=1e-12)
        scores = norm.psi(robust.resid / robust.scale)
        assert np.sum(np.abs(scores) == HUBER_CUT) > 5
        full = sm.OLS(scores, np.hstack([others, blocks[place]])).fit()
        assert p_value == pytest.approx(full.compare_f_test(sm.OLS(scores, others).fit())[1], rel=1e-3)


@pytest.mark.parametrize("levels", [2, 3, 6])
def test_few_distinct_values_give_the_analysis_of_variance(levels):
    generator = rng(levels)
    groups = generator.integers(0, levels, size=90) ** 2.0
    y = 0.2 * groups + generator.uniform(-1, 1, size=90)
    expected = stats.f_oneway(*[y[groups == value] for value in np.unique(groups)]).pvalue
    assert term_p_values(y, groups[:, None])[0] == pytest.approx(expected, rel=1e-8)


def test_few_rows_give_the_linear_t_tests():
    generator = rng(3)
    parents = generator.normal(size=(15, 5))
    y = 0.3 * parents[:, 0] + generator.choice([-1.0, 1.0], size=15)
    expected = sm.OLS(y, sm.add_constant(parents)).fit().pvalues[1:]
    np.testing.assert_allclose(term_p_values(y, parents), expected, rtol=1e-8)


def test_rejects_at_the_level_whatever_the_tails():
    generator = rng(4)
    p_values = []
    for _ in range(120):
        parents = generator.standard_t(3, size=(200, 6))
        y = np.sin(2 * parents[:, 0]) + generator.standard_t(3, size=200)
        p_values.extend(term_p_values(y, parents)[1:])
    for level in (0.05, 0.01, 0.001):
        assert stats.binomtest(int(np.sum(np.array(p_values) < level)), len(p_values), level).pvalue > 0.001


@pytest.mark.parametrize("effect", [np.sin, np.square, np.abs, np.tanh, lambda x: np.sin(4 * x)])
@pytest.mark.parametrize("sequential", [False, True])
def test_finds_the_true_parent_among_idle_ones(effect, sequential):
    generator = rng(5)
    values = generator.normal(size=(400, 6))
    values[:, 5] += 1.5 * effect(values[:, 2])
    pruned, p_values = prune_cam(values, last_node(6), sequential=sequential)
    assert np.argwhere(pruned).tolist() == [[2, 5]]
    assert np.array_equal(np.isfinite(p_values), last_node(6))


def test_similar_parents_go_together_or_one_by_one():
    generator = rng(6)
    cause = generator.normal(size=300)
    copies = cause[:, None] + 1e-3 * generator.normal(size=(300, 2))
    values = np.column_stack([copies, cause + generator.normal(size=300)])
    together, tested = prune_cam(values, last_node(3))
    assert not together.any()
    assert (tested[:2, 2] > 0.001).all()
    one_by_one, p_values = prune_cam(values, last_node(3), sequential=True)
    assert one_by_one.sum() == 1
    assert p_values[one_by_one] < 0.001 < p_values[last_node(3) & ~one_by_one]


@pytest.mark.parametrize("sequential", [False, True])
def test_one_of_two_equal_parents_stays(sequential):
    generator = rng(7)
    x = generator.normal(size=200)
    values = np.column_stack([x, 3 * x - 1, generator.normal(size=200), x + generator.normal(size=200)])
    pruned, p_values = prune_cam(values, last_node(4), sequential=sequential)
    assert pruned[:2, 3].sum() == 1
    assert not pruned[2, 3]
    assert sorted(p_values[:2, 3])[1] == 1.0


def test_a_column_inside_the_span_of_another_goes():
    generator = rng(8)
    codes = generator.integers(0, 3, size=200)
    values = np.column_stack([codes == 2, codes, codes + generator.normal(size=200)])
    pruned, p_values = prune_cam(values, last_node(3))
    assert pruned[:, 2].tolist() == [False, True, False]
    assert p_values[0, 2] == 1.0


@pytest.mark.parametrize("sequential", [False, True])
def test_required_edges_stay(sequential):
    values = rng(9).normal(size=(100, 4))
    required = np.zeros((4, 4), dtype=bool)
    required[1, 3] = required[3, 0] = True
    pruned, p_values = prune_cam(values, last_node(4), required=required, sequential=sequential)
    assert np.argwhere(pruned).tolist() == [[1, 3]]
    assert p_values[1, 3] > 0.001


@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 7, 12, 30])
@pytest.mark.parametrize("n_parents", [1, 3, 12])
@pytest.mark.parametrize("sequential", [False, True])
def test_never_fails_on_few_rows(n_rows, n_parents, sequential):
    values = rng(n_rows).normal(size=(n_rows, n_parents + 1))
    values[:, 0] = 2.0
    _, p_values = prune_cam(values, last_node(n_parents + 1), sequential=sequential)
    assert ((p_values[:-1, -1] >= 0) & (p_values[:-1, -1] <= 1)).all()
    assert p_values[0, -1] == 1.0


def test_constant_and_exact_nodes():
    x = rng(10).normal(size=(100, 2))
    assert term_p_values(np.full(100, 0.1), x).tolist() == [1.0, 1.0]
    exact = term_p_values(5.0 - x[:, 0] ** 3, x)
    assert exact[0] < 1e-50
    assert exact[1] == 1.0


def test_units_and_order_do_not_matter():
    generator = rng(11)
    values = generator.standard_t(3, size=(150, 5))
    values[:, 4] += values[:, 0]
    _, p_values = prune_cam(values, last_node(5))
    order = np.array([3, 1, 0, 2, 4])
    other = values[generator.permutation(150)][:, order] * [1e-9, -1e5, 1.0, 7.0, 1e12] + [0.0, 1.0, 2.0, 0.0, 3.0]
    _, others = prune_cam(other, last_node(5))
    np.testing.assert_allclose(others[:4, 4], p_values[order[:4], 4], rtol=1e-4)


def test_inputs_are_checked_and_not_changed():
    values, dag = rng(12).normal(size=(50, 3)), last_node(3)
    before, graph = values.copy(), dag.copy()
    prune_cam(values, dag, sequential=True)
    assert np.array_equal(values, before)
    assert np.array_equal(dag, graph)
    with pytest.raises(DataError, match="missing or infinite"):
        prune_cam(np.where(values > 2, np.nan, values) * np.inf, dag)
    with pytest.raises(DataError, match=r"dag must have shape \(3, 3\)"):
        prune_cam(values, dag[:2])
    with pytest.raises(DataError, match=r"required must have shape \(3, 3\)"):
        prune_cam(values, dag, required=[[True]])
    with pytest.raises(SettingsError, match=r"alpha must be in \(0, 1\], got 0"):
        prune_cam(values, dag, alpha=0)
