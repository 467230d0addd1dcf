import numpy as np
import pytest

from drbo.graph.dag import is_acyclic
from drbo.search import subset_kernels


@pytest.fixture
def shares():
    table = np.random.default_rng(0).normal(size=(4, 8))
    table[1, 3] = table[2, 6] = -np.inf  # families that may not be used
    return table


def test_best_inside_is_the_maximum_over_subsets(shares):
    best = subset_kernels.best_inside(shares)
    for column in range(8):
        subsets = [part for part in range(8) if part & ~column == 0]
        np.testing.assert_array_equal(best[:, column], shares[:, subsets].max(axis=1))


def test_forward_and_trace_find_the_best_of_all_dags(shares, every_dag, weigh):
    best = subset_kernels.best_inside(shares)
    before = subset_kernels.forward(best)
    totals = weigh(shares)
    assert before[-1] == pytest.approx(totals.max(), abs=1e-12)
    assert subset_kernels.backward(best)[0] == pytest.approx(totals.max(), abs=1e-12)
    np.testing.assert_array_equal(subset_kernels.trace(best, shares, before), every_dag[np.argmax(totals)])


def test_of_equal_families_the_smallest_is_taken():
    shares = np.zeros((3, 4))
    best = subset_kernels.best_inside(shares)
    assert not subset_kernels.trace(best, shares, subset_kernels.forward(best)).any()


@pytest.mark.parametrize(("node", "needed", "banned"), [(0, 0b10, 0), (2, 0, 0b1001), (3, 0b101, 0), (1, 0b1101, 0)])
def test_split_is_the_best_dag_under_the_condition(node, needed, banned, shares, every_dag, weigh):
    best = subset_kernels.best_inside(shares)
    before, after = subset_kernels.forward(best), subset_kernels.backward(best)
    parents = every_dag[:, :, node] @ (1 << np.arange(4))
    fits = (parents & needed == needed) & (parents & banned == 0)
    totals = np.where(fits, weigh(shares), -np.inf)
    value, nodes = subset_kernels.split(shares, best, node, before, after, needed=needed, banned=banned)
    assert value == pytest.approx(totals.max(), abs=1e-12)
    dag = subset_kernels.trace_split(best, shares, before, after, node, nodes, needed=needed, banned=banned)
    assert is_acyclic(dag)
    np.testing.assert_array_equal(dag, every_dag[np.argmax(totals)])


def test_a_condition_that_nothing_meets(shares):
    shares[1, [k for k in range(8) if k & 1]] = -np.inf  # node 1 can never have the parent 0
    best = subset_kernels.best_inside(shares)
    before, after = subset_kernels.forward(best), subset_kernels.backward(best)
    assert subset_kernels.split(shares, best, 1, before, after, needed=1) == (-np.inf, -1)
