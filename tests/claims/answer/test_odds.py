import numpy as np
import pytest
from scipy import integrate, stats

from drbo.claims.answer.odds import CLEAR, Clear, clear_edges
from drbo.claims.answer.prune import f_test, prune
from drbo.data.files.simulate import simulate
from drbo.data.statistics.moments import moments
from drbo.data.statistics.regressions import Regressions
from drbo.graph.metrics import shd


def _with_false_edges(data, rng, count):
    """The true DAG with edges that no weight stands behind."""
    order = np.argsort(data.dag.sum(axis=0) * 0 + _depth(data.dag), kind="stable")
    place = np.argsort(order)
    free = np.argwhere((place[:, None] < place[None, :]) & ~data.dag)
    dag = data.dag.copy()
    for i, j in free[rng.permutation(len(free))[:count]]:
        dag[i, j] = True
    return dag


def _depth(dag):
    depth = np.zeros(len(dag))
    for _ in dag:
        depth = np.array([(depth[dag[:, j]] + 1).max(initial=0) for j in range(len(dag))])
    return depth


@pytest.mark.parametrize(("weight", "error"), [(0.5, 0.16), (0.1, 0.03), (-0.9, 0.3), (0.0, 0.2)])
def test_probability_is_bayes_rule_by_numerical_integration(weight, error):
    clear = Clear(np.array([0.6, 0.9, 1.0, 1.7]), 0.15, 0.3)

    def normal(x, mean, spread):
        return np.exp(-(((x - mean) / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi))

    def slab(w):
        return (normal(w, clear.sizes, 0.15) + normal(w, -clear.sizes, 0.15)).mean() / 2

    real = integrate.quad(lambda w: slab(w) * normal(weight, w, error), -4, 4, points=[weight], limit=200)[0]
    odds = 0.3 * real / (0.7 * normal(weight, 0.0, error))
    assert clear.probability([weight], [error])[0] == pytest.approx(odds / (1 + odds), rel=1e-5)


def test_of_two_edges_with_one_p_value_the_heavier_stays():
    clear = Clear(np.linspace(0.5, 2.0, 50), 0.1, 0.5)
    heavy, light = clear.probability([0.5, 0.1], [0.15, 0.03])
    assert heavy > 0.9
    assert light < 0.1


def test_weights_out_of_all_proportion_are_still_judged():
    clear = Clear(np.linspace(0.5, 2.0, 50), 0.1, 0.5)
    assert clear.probability([1e6, 0.0, 3.0], [1e-3, np.inf, 0.0]).tolist() == [1.0, 0.0, 1.0]


def test_clear_edges_are_those_of_many_standard_errors():
    data = simulate("20ER4", n=200, seed=1)
    found = clear_edges(Regressions.of(data.X, 20), data.dag)
    z = np.sqrt(stats.f.isf(f_test(data.X, data.dag)[data.dag], 1, 150))  # about: the nodes differ in freedom
    assert len(found.sizes) == pytest.approx((z > CLEAR).sum(), abs=3)
    assert found.share == pytest.approx(len(found.sizes) / 190, abs=0.01)
    assert found.sizes.min() > 0.2


def test_errors_are_fewer_than_those_of_the_f_test_and_of_no_test():
    rng = np.random.default_rng(0)
    errors = {"none": 0, "f-test": 0, "odds": 0}
    for seed in range(200, 208):
        data = simulate("20ER4", n=200, seed=seed)
        dag = _with_false_edges(data, rng, 10)
        for name in errors:
            errors[name] += shd(prune(name, data.X, dag)[0], data.dag)
    assert errors["odds"] < 0.5 * errors["f-test"]
    assert errors["odds"] < 0.5 * errors["none"]


def test_without_clear_edges_the_f_test_decides():
    values = np.random.default_rng(1).normal(size=(100, 12))
    dag = np.triu(np.ones((12, 12), dtype=bool), 1)
    kept, details = prune("odds", values, dag)
    assert (kept == prune("f-test", values, dag)[0]).all()
    assert details["statistic"] == "p-value"


def test_required_edges_stay_and_a_common_factor_changes_nothing():
    data = simulate("20ER2", n=300, seed=3)
    rng = np.random.default_rng(2)
    dag = _with_false_edges(data, rng, 8)
    false = dag & ~data.dag
    kept, details = prune("odds", data.X, dag)
    assert not (kept & false).all()
    assert details["statistic"] == "probability"
    assert (prune("odds", data.X, dag, required=false)[0] & false).sum() == 8
    assert (prune("odds", 1000 * data.X, dag)[0] == kept).all()
    assert (prune("odds", moments(data.X), dag)[0] == kept).all()
