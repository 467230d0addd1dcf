"""The ways to direct open and assumed edges, against all directions of all edges."""

from itertools import product

import numpy as np
import pytest

from drbo.claims import orientations
from drbo.claims.orientations import Ways, closure, entropy, ways_left
from drbo.deadline import Deadline, OutOfTimeError
from drbo.graph.dag import dag_to_cpdag, descendants, is_acyclic, markov_equivalent
from tests.statements import random_dag


def all_ways(dag, assumed):
    """All graphs that are left, by trying every direction of every edge that is not settled."""
    cpdag = dag_to_cpdag(dag)
    loose = np.argwhere(dag & ((cpdag & cpdag.T) | assumed)).tolist()
    open_ = cpdag & cpdag.T
    found = []
    for flips in product([False, True], repeat=len(loose)):
        graph, member = dag.copy(), dag.copy()
        for (i, j), flip in zip(loose, flips, strict=True):
            if flip:
                graph[i, j], graph[j, i] = False, True
            if flip and open_[i, j]:
                member[i, j], member[j, i] = False, True
        if is_acyclic(graph) and is_acyclic(member) and markov_equivalent(member, dag):
            found.append(graph)
    return found


@pytest.mark.parametrize("assumed_share", [0.0, 0.5])
def test_all_ways_of_small_graphs(rng, assumed_share):
    for _ in range(40):
        d = int(rng.integers(3, 6))
        dag = random_dag(rng, d, 0.6)
        cpdag = dag_to_cpdag(dag)
        assumed = dag & ~cpdag.T & (rng.random((d, d)) < assumed_share)
        brute = all_ways(dag, assumed)
        ways = ways_left(cpdag, dag, assumed)
        if len(ways) > 1:  # parts count as independent, so all that they make together must hold all graphs
            assert np.prod([len(one.forward) for one in ways]) >= len(brute)
        if not ways:
            assert len(brute) == 1
        for one in ways:
            assert one.listed
            assert one.probability.sum() == pytest.approx(1.0)
            first, second = one.edges.T
            expected = {graph[first, second].tobytes() for graph in brute}
            listed = {row.tobytes() for row in one.forward}
            assert expected <= listed
            if len(ways) == 1:
                assert listed == expected
                assert len(one.forward) == len(brute)


def test_settled_arrows_around_a_part_leave_no_cycle():
    dag = np.zeros((3, 3), dtype=bool)
    dag[0, 1] = dag[1, 2] = dag[0, 2] = True
    assumed = np.zeros_like(dag)
    assumed[0, 2] = True  # 0 -> 1 -> 2 is settled: the third arrow cannot be turned
    assert ways_left(dag, dag, assumed)[0].forward.tolist() == [[True]]


def test_a_sample_has_the_probabilities_of_the_list(rng, monkeypatch):
    dag = np.triu(np.ones((4, 4), dtype=bool), 1)  # 24 members
    dag = np.pad(dag, (0, 2))
    dag[3, 4] = dag[5, 4] = True
    cpdag = dag_to_cpdag(dag)
    assumed = dag & ~cpdag.T
    (whole,) = ways_left(cpdag, dag, assumed)
    monkeypatch.setattr(orientations, "MOST_LISTED", 10)
    (drawn,) = ways_left(cpdag, dag, assumed, seed=1)
    assert whole.listed
    assert not drawn.listed
    exact, sampled = whole.probability @ whole.forward, drawn.probability @ drawn.forward
    np.testing.assert_allclose(sampled, exact, atol=0.05)
    (again,) = ways_left(cpdag, dag, assumed, seed=1)
    np.testing.assert_array_equal(drawn.forward, again.forward)


def test_what_is_told_and_what_stays_open():
    path = np.zeros((4, 4), dtype=bool)
    path[0, 1] = path[1, 2] = path[2, 3] = True
    ways = ways_left(path | path.T, path)[0]
    assert len(ways.forward) == 4  # one for each root
    at = ways.at(1)
    assert at.tolist() == [0, 1]
    assert ways.entropy(at) == pytest.approx(entropy(np.array([0.25, 0.25, 0.5])))
    # Below node 2 the root may be 2 or 3: the last edge is then open.
    np.testing.assert_allclose(ways.open_after(at), [0.0, 0.0, 0.5])
    left = ways.told(at, np.array([False, False]))
    assert left.probability.tolist() == [0.5, 0.5]
    assert isinstance(left, Ways)


def test_closure_is_that_of_paths(rng):
    dags = np.stack([random_dag(rng, 6, 0.5) for _ in range(5)])
    np.testing.assert_array_equal(closure(dags), [descendants(dag) for dag in dags])
    cycle = np.array([[[0, 1], [1, 0]]], dtype=bool)
    assert closure(cycle).all()


def test_paths_are_sought_until_the_deadline():
    with Deadline() as deadline:
        deadline.stop()
        with pytest.raises(OutOfTimeError):
            closure(np.eye(3, k=1, dtype=bool)[None])
