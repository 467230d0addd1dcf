"""The collider check: which arrows of a class are in doubt, and why."""

import numpy as np
import pytest

from drbo import DrBO
from drbo.claims.checks.collider_check import collider_doubts
from drbo.data.files.datasets import load
from drbo.data.statistics.statistics import Statistics
from drbo.independence.residual_tests import TableTests


def collider(rng, dependent):
    """a -> c <- b -> nothing, c -> d; a and b are uncorrelated, and dependent or not."""
    n = 600
    size, other = rng.normal(size=n), rng.normal(size=n)
    a, b = size * rng.choice([-1, 1], n), (size if dependent else other) * rng.choice([-1, 1], n)
    c = a + b + rng.normal(size=n)
    return Statistics.from_array(np.column_stack([a, b, c, c + rng.normal(size=n)]), ["a", "b", "c", "d"])


DAG = np.zeros((4, 4), dtype=bool)
DAG[[0, 1, 2], [2, 2, 3]] = True


def test_independent_causes_leave_no_doubt(rng):
    assert collider_doubts(TableTests(collider(rng, dependent=False)), DAG) == {}


def test_dependent_causes_put_the_collider_and_what_follows_from_it_in_doubt(rng):
    found = collider_doubts(TableTests(collider(rng, dependent=True)), DAG)
    assert "only if 'a' and 'b' are independent, which they are not" in found["a", "c"]
    assert "only if 'b' and 'a' are independent, which they are not" in found["b", "c"]
    assert "from a -> c, which is itself uncertain" in found["c", "d"]


@pytest.mark.parametrize(("pair", "deciding"), [((2, 3), {"ac", "bc", "cd"}), ((1, 2), {"bc"}), ((0, 3), set())])
def test_of_some_arrows_only_what_decides_about_them_is_tested(rng, pair, deciding):
    asked = np.zeros((4, 4), dtype=bool)
    asked[pair] = asked[pair[::-1]] = True
    tests = TableTests(collider(rng, dependent=True))
    some, every = collider_doubts(tests, DAG, asked=asked), collider_doubts(tests, DAG)
    assert some == {edge: words for edge, words in every.items() if "".join(edge) in deciding}


def test_columns_with_few_values_are_not_tested(rng):
    table = collider(rng, dependent=True)
    values = table.values.copy()
    values[:, 0] = values[:, 0] > 0
    assert collider_doubts(TableTests(Statistics.from_array(values, table.names)), DAG) == {}


def test_causes_that_are_joined_are_no_collider(rng):
    dag = DAG.copy()
    dag[0, 1] = True
    assert collider_doubts(TableTests(collider(rng, dependent=True)), dag) == {}


def test_causes_that_share_a_cause_are_tested_given_it(rng):
    root = rng.normal(size=600)
    a, b = root + rng.normal(size=(2, 600))
    table = Statistics.from_array(np.column_stack([root, a, b, a + b + rng.normal(size=600)]), ["root", "a", "b", "c"])
    dag = np.zeros((4, 4), dtype=bool)
    dag[[0, 0, 1, 2], [1, 2, 3, 3]] = True
    assert collider_doubts(TableTests(table), dag) == {}
    dag[0] = False
    assert set(collider_doubts(TableTests(table), dag)) == {("a", "c"), ("b", "c")}


def test_a_graph_without_edges_has_no_doubts(rng):
    assert collider_doubts(TableTests(collider(rng, dependent=True)), np.zeros((4, 4), dtype=bool)) == {}


@pytest.mark.parametrize(("score", "n_doubted"), [("auto", 0), ("bic-nv", 2)])
def test_on_sachs_no_supported_arrow_contradicts_the_known_network(score, n_doubted):
    sachs = load("sachs")
    result = DrBO(score=score, random_state=0).fit(sachs.X).result_
    supported = result.dag & ~result.assumed & ~result.undirected
    assert not (supported & sachs.dag.T).any()
    doubted = [one for one in result.directions if "are independent, which they are not" in one.sentence]
    assert len(doubted) == n_doubted
    assert {one.direction for one in doubted} <= {"assumed"}


def test_pairs_that_depend_on_each_other_in_ways_the_graph_leaves_out_are_no_reason(rng):
    linked = np.zeros((4, 4), dtype=bool)
    linked[0, 1] = linked[1, 0] = True
    assert collider_doubts(TableTests(collider(rng, dependent=True)), DAG, linked=linked) == {}
