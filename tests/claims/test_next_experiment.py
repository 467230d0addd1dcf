"""Expected information of experiments, against direct sums, and rows, against simulated experiments."""

from itertools import combinations, product

import numpy as np
import pytest

from drbo.claims.next_experiment import (
    Left,
    Mixture,
    causes,
    causes_of,
    chance_to_show,
    implied_correlation,
    information_per_row,
    rows_needed,
)
from drbo.claims.orientations import ways_left
from drbo.deadline import Deadline, OutOfTimeError
from drbo.graph.dag import dag_to_cpdag, descendants
from tests.claims.test_orientations import all_ways, random_dag


def _entropy(answers):
    counts = np.unique(answers, return_counts=True)[1]
    shares = counts / counts.sum()
    return -(shares * np.log2(shares)).sum()


def _outcome(graph, nodes):
    """What experiments with enough rows on some nodes show: the direction of all edges at them."""
    return "".join(str(graph[:, node].astype(int)) + str(graph[node].astype(int)) for node in nodes)


def _cases(rng, n):
    """Yield DAGs whose loose edges make one part, with all graphs that are left."""
    while n:
        dag = random_dag(rng, int(rng.integers(4, 6)), 0.6)
        cpdag = dag_to_cpdag(dag)
        assumed = dag & ~cpdag.T & (rng.random(dag.shape) < 0.3)
        ways = ways_left(cpdag, dag, assumed)
        if len(ways) == 1:
            n -= 1
            yield Left(ways, cpdag & ~cpdag.T & ~assumed), all_ways(dag, assumed)


def test_information_is_that_of_direct_sums(rng):
    for left, graphs in _cases(rng, 15):
        d = len(graphs[0])
        assert left.entropy == pytest.approx(np.log2(len(graphs)))
        for nodes in [*((node,) for node in range(d)), (0, 1), (1, 3)]:
            expected = _entropy([_outcome(graph, nodes) for graph in graphs])
            assert left.information(nodes) == pytest.approx(expected, abs=1e-9)
        below = [descendants(graph) for graph in graphs]
        answers = {
            causes(0, 1): [str(int(one[0, 1])) for one in below],
            causes_of(2): [str(one[:, 2].astype(int)) for one in below],
        }
        for question, answer in answers.items():
            asked = left.about(question)
            assert asked.entropy == pytest.approx(_entropy(answer), abs=1e-9)
            for node in range(d):
                outcomes = [_outcome(graph, [node]) for graph in graphs]
                joint = [a + b for a, b in zip(answer, outcomes, strict=True)]
                expected = _entropy(answer) + _entropy(outcomes) - _entropy(joint)
                assert asked.information([node]) == pytest.approx(expected, abs=1e-9)


def test_parts_add_up_and_make_joint_graphs():
    dag = np.zeros((5, 5), dtype=bool)
    dag[0, 1] = dag[2, 3] = dag[3, 4] = True
    left = Left(ways_left(dag | dag.T, dag), np.zeros_like(dag))
    assert left.entropy == pytest.approx(1 + np.log2(3))
    graphs, probability = left.graphs()
    assert len(graphs) == 6
    assert probability.sum() == pytest.approx(1.0)
    assert left.about(causes(0, 4)).entropy == 0.0


def test_few_rows_show_some_edges(rng):
    for left, _ in _cases(rng, 5):
        d = len(left.settled)
        shown = rng.random((d, d))
        unsure = Left(left.parts, left.settled, shown)
        (part,) = left.parts
        for node in range(d):
            at = part.at(node)
            others = part.edges[at].sum(axis=1) - node
            expected = 0.0
            for seen in product([False, True], repeat=len(at)):
                weight = np.prod([p if one else 1 - p for one, p in zip(seen, shown[node, others], strict=True)])
                expected += weight * part.entropy(at[list(seen)])
            assert unsure.information([node]) == pytest.approx(expected, abs=0.02)
            assert unsure.information([node]) <= left.information([node]) + 1e-9


def test_many_unsure_edges_are_drawn():
    star = np.zeros((10, 10), dtype=bool)
    star[0, 1:] = True
    ways = ways_left(star | star.T, star)
    shown = np.full((10, 10), 0.5)
    found = Left(ways, np.zeros_like(star), shown).information([0])
    assert 0 < found < Left(ways, np.zeros_like(star)).information([0])


def test_batch_takes_what_adds_most_per_cost(rng):
    for left, _ in _cases(rng, 8):
        mixture, costs = Mixture(((0.5, left), (0.5, left))), np.ones(len(left.settled))
        assert mixture.entropy == pytest.approx(left.entropy)
        chosen = mixture.batch(2, costs)
        best = max(mixture.information(pair) for pair in combinations(range(len(costs)), 2))
        assert mixture.information(chosen) >= 0.63 * best
        assert mixture.information(chosen[:1]) == pytest.approx(max(mixture.information([v]) for v in mixture.nodes))
        dear = costs.copy()
        dear[chosen[0]] = np.inf
        assert chosen[0] not in mixture.batch(len(costs), dear)
    assert len(mixture.batch(10, costs)) < 10  # once all is settled, nothing adds


def test_implied_correlation_and_response(rng):
    dag = random_dag(rng, 5, 0.6)
    weights = dag * rng.uniform(0.5, 1.5, dag.shape)
    mix = np.linalg.inv(np.eye(5) - weights)
    covariance = mix.T @ mix
    spread = np.sqrt(np.diag(covariance))
    standardised = weights * spread[:, None] / spread
    correlation = implied_correlation(dag, standardised)
    np.testing.assert_allclose(correlation, covariance / np.outer(spread, spread), atol=1e-12)
    per_row = information_per_row(correlation, dag[None], np.ones(1))
    assert (per_row > 0).tolist() == dag.tolist()
    for i, j in np.argwhere(dag).tolist():  # against the population of the experiment itself
        cut, noise = weights.copy(), np.eye(5)
        cut[:, i], noise[i, i] = 0.0, covariance[i, i]
        made = np.linalg.inv(np.eye(5) - cut)
        after = made.T @ noise @ made
        r2 = after[i, j] ** 2 / (after[i, i] * after[j, j])
        assert per_row[i, j] == pytest.approx(-0.5 * np.log(1 - r2), rel=1e-6)


def test_weights_of_other_rows_leave_a_correlation_matrix():
    dag = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    found = implied_correlation(dag, dag * 0.9)
    assert np.linalg.eigvalsh(found).min() > 0


def test_rows_settle_an_edge_as_often_as_promised(rng):
    r = 0.5
    n = rows_needed(np.array([-0.5 * np.log(1 - r**2)]))
    x = rng.normal(size=(2000, n))
    y = r * x + np.sqrt(1 - r**2) * rng.normal(size=(2000, n))
    ratio = 0.5 * (y**2 - (y - r * x) ** 2 / (1 - r**2)).sum(axis=1) - 0.5 * n * np.log(1 - r**2)
    assert np.mean(ratio >= np.log(100)) == pytest.approx(0.8, abs=0.04)
    assert chance_to_show(np.array([0.5]), 10**4)[0] == pytest.approx(1.0)
    two = np.array([0.02, 0.1])
    assert chance_to_show(two, rows_needed(two)).prod() >= 0.8 > chance_to_show(two, rows_needed(two) - 1).prod()


def test_graphs_are_looked_at_some_at_a_time_and_the_deadline_in_between(rng, monkeypatch):
    left, _ = next(_cases(rng, 1))
    whole = left.graphs()
    monkeypatch.setattr("drbo.claims.next_experiment.CELLS", 1)
    for some, every in zip(left.graphs(), whole, strict=True):
        assert (some == every).all()
    with Deadline(0.0), pytest.raises(OutOfTimeError):
        left.graphs()
