"""Graph functions against networkx, causal-learn and enumeration of all small DAGs."""

from functools import cache
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

from drbo._core import ClosedGraph
from drbo.deadline import Deadline
from drbo.errors import DataError
from drbo.graph import dag as graph
from tests.statements import random_dag


@cache
def all_dags(d):
    """Every DAG on d nodes, acyclicity by networkx."""
    pairs = list(combinations(range(d), 2))
    found = []
    for choice in product((None, 0, 1), repeat=len(pairs)):
        matrix = np.zeros((d, d), dtype=bool)
        for (i, j), way in zip(pairs, choice, strict=True):
            if way is not None:
                matrix[(i, j) if way == 0 else (j, i)] = True
        if nx.is_directed_acyclic_graph(nx.from_numpy_array(matrix, create_using=nx.DiGraph)):
            found.append(matrix)
    return found


def signature(dag):
    """Skeleton and v-structures, by loops over all triples."""
    d = len(dag)
    adjacent = frozenset(frozenset((i, j)) for i, j in combinations(range(d), 2) if dag[i, j] or dag[j, i])
    colliders = frozenset(
        (a, c, b)
        for a, b in combinations(range(d), 2)
        for c in range(d)
        if dag[a, c] and dag[b, c] and frozenset((a, b)) not in adjacent
    )
    return adjacent, colliders


@cache
def classes(d):
    groups = {}
    for dag in all_dags(d):
        groups.setdefault(signature(dag), []).append(dag)
    return groups


def as_networkx(matrix):
    return nx.from_numpy_array(np.asarray(matrix), create_using=nx.DiGraph)


def test_number_of_small_dags_and_classes():
    assert len(all_dags(3)) == 25
    assert len(classes(3)) == 11
    assert len(all_dags(4)) == 543
    assert len(classes(4)) == 185


def test_acyclicity_order_and_cycles_agree_with_networkx():
    rng = np.random.default_rng(0)
    n_cyclic = 0
    for _ in range(300):
        d = int(rng.integers(1, 12))
        matrix = rng.random((d, d)) < rng.choice([0.05, 0.15, 0.4])
        acyclic = nx.is_directed_acyclic_graph(as_networkx(matrix))
        n_cyclic += not acyclic
        assert graph.is_acyclic(matrix) == acyclic
        cycle = graph.find_cycle(matrix)
        if acyclic:
            assert cycle is None
            place = np.argsort(graph.topological_order(matrix))
            assert all(place[i] < place[j] for i, j in np.argwhere(matrix))
        else:
            assert len(set(cycle)) == len(cycle)
            assert all(matrix[i, j] for i, j in zip(cycle, cycle[1:] + cycle[:1], strict=True))
            with pytest.raises(DataError, match=" -> ".join(map(str, cycle))):
                graph.topological_order(matrix)
    assert 50 < n_cyclic < 250


def test_weights_count_as_edges_in_acyclicity():
    assert graph.is_acyclic(np.array([[0.0, -0.2], [0.0, 0.0]]))
    assert not graph.is_acyclic(np.array([[0.0, -0.2], [1e-9, 0.0]]))


def test_descendants_and_layers_agree_with_networkx():
    rng = np.random.default_rng(1)
    for _ in range(60):
        d = int(rng.integers(1, 15))
        dag = random_dag(rng, d, 0.3)
        other = as_networkx(dag)
        closure = nx.to_numpy_array(nx.transitive_closure_dag(other), nodelist=range(d)).astype(bool)
        assert np.array_equal(graph.descendants(dag), closure)
        layers = [nx.dag_longest_path_length(other.subgraph(nx.ancestors(other, node) | {node})) for node in range(d)]
        assert graph.longest_path_layers(dag).tolist() == layers


def test_connected_parts_agree_with_networkx(rng):
    for d, density in ((0, 0.0), (1, 0.0), (12, 0.1), (40, 0.02), (40, 0.05)):
        linked = rng.random((d, d)) < density
        expected = nx.connected_components(nx.from_numpy_array(linked | linked.T))
        assert [part.tolist() for part in graph.connected_parts(linked)] == sorted(map(sorted, expected))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((2, 3)), r"square, got shape \(2, 3\)"),
        (np.zeros(4), r"square, got shape \(4,\)"),
        ([[0, 2], [0, 0]], "only 0 and 1, got 2 at rain -> wet"),
        ([[0, 0.5], [0, 0]], "only 0 and 1, got 0.5"),
        ([[0, np.nan], [0, 0]], "only 0 and 1, got nan"),
        ([[0, 0], [0, 1]], "self-loop: wet -> wet"),
        ([[0, 1], [1, 0]], "cycle: rain -> wet -> rain"),
        (np.zeros((3, 3)), "3 nodes, but 2 names"),
    ],
)
def test_bad_dags_are_refused_by_name(matrix, message):
    with pytest.raises(DataError, match=message):
        graph.check_dag(matrix, names=["rain", "wet"])


def test_check_returns_a_copy():
    matrix = np.array([[False, True], [False, False]])
    copy = graph.check_dag(matrix)
    copy[0, 1] = False
    assert matrix[0, 1]


def test_no_function_changes_its_argument():
    dag = random_dag(np.random.default_rng(2), 8, 0.4)
    dag.setflags(write=False)
    cpdag = graph.dag_to_cpdag(dag)
    cpdag.setflags(write=False)
    graph.descendants(dag)
    graph.v_structures(dag)
    graph.meek_closure(cpdag)
    graph.cpdag_to_dag(cpdag)


def test_cpdag_of_every_four_node_dag_is_the_union_of_its_class():
    for members in classes(4).values():
        union = np.any(members, axis=0)
        for dag in members:
            assert np.array_equal(graph.dag_to_cpdag(dag), union)


def test_cpdag_agrees_with_causal_learn():
    pytest.importorskip("causallearn")
    from causallearn.graph.Dag import Dag
    from causallearn.graph.GraphNode import GraphNode
    from causallearn.utils.DAG2CPDAG import dag2cpdag

    rng = np.random.default_rng(3)
    for _ in range(40):
        d = int(rng.integers(2, 13))
        dag = random_dag(rng, d, rng.choice([0.15, 0.3, 0.6]))
        nodes = [GraphNode(f"n{i}") for i in range(d)]
        other = Dag(nodes)
        for i, j in np.argwhere(dag):
            other.add_directed_edge(nodes[i], nodes[j])
        marks = dag2cpdag(other).graph  # i -> j is marks[i, j] = -1, marks[j, i] = 1; i - j is -1 in both places
        assert np.array_equal(graph.dag_to_cpdag(dag), marks == -1)


def test_v_structures_and_equivalence_by_enumeration():
    rng = np.random.default_rng(4)
    dags = all_dags(4)
    for dag in dags:
        assert graph.v_structures(dag) == sorted(signature(dag)[1])
    n_equal = 0
    for _ in range(2_000):
        a = dags[rng.integers(len(dags))]
        mates = classes(4)[signature(a)]
        b = mates[rng.integers(len(mates))] if rng.random() < 0.3 else dags[rng.integers(len(dags))]
        equal = signature(a) == signature(b)
        n_equal += equal
        assert graph.markov_equivalent(a, b) == equal
    assert 400 < n_equal < 1_200
    assert not graph.markov_equivalent(np.zeros((2, 2)), np.zeros((3, 3)))


def test_v_structures_ignore_undirected_edges():
    assert graph.v_structures([[0, 0, 1], [0, 0, 1], [1, 0, 0]]) == []


def test_skeleton_is_symmetric():
    assert graph.skeleton([[0, 1, 0], [0, 0, 0], [0, 1, 0]]).astype(int).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("repeat", range(3))
def test_meek_closure_with_knowledge_is_the_union_of_the_dags_that_agree(repeat):
    """Completeness of the four rules: direct some edges as in one member, compare with all members that agree."""
    rng = np.random.default_rng([5, repeat])
    for members in classes(4).values():
        truth = members[rng.integers(len(members))]
        known = truth & (rng.random(truth.shape) < 0.4)
        agreeing = [dag for dag in members if not (dag & known.T).any()]
        pdag = np.any(members, axis=0) & ~known.T
        closed = graph.meek_closure(pdag)
        assert np.array_equal(closed, np.any(agreeing, axis=0))
        extension = graph.cpdag_to_dag(pdag)
        assert any(np.array_equal(extension, dag) for dag in agreeing)


def equivalent_dags(dag):
    """All orientations of the skeleton that are acyclic and have the same v-structures."""
    pairs = np.argwhere(np.triu(dag | dag.T))
    found = []
    for ways in product((False, True), repeat=len(pairs)):
        other = np.zeros_like(dag)
        for (i, j), turned in zip(pairs, ways, strict=True):
            other[(j, i) if turned else (i, j)] = True
        if signature(other) == signature(dag) and nx.is_directed_acyclic_graph(as_networkx(other)):
            found.append(other)
    return found


def test_cpdag_and_meek_closure_on_five_nodes():
    rng = np.random.default_rng(6)
    for _ in range(40):
        truth = random_dag(rng, 5, 0.7)
        members = equivalent_dags(truth)
        cpdag = graph.dag_to_cpdag(truth)
        assert np.array_equal(cpdag, np.any(members, axis=0))
        known = truth & (rng.random(truth.shape) < 0.3)
        agreeing = [dag for dag in members if not (dag & known.T).any()]
        assert np.array_equal(graph.meek_closure(cpdag & ~known.T), np.any(agreeing, axis=0))


def test_edges_directed_one_by_one_close_as_the_whole_graph_does():
    rng = np.random.default_rng(8)
    for _ in range(40):
        truth = random_dag(rng, 5, 0.7)
        members, closed = equivalent_dags(truth), ClosedGraph(graph.dag_to_cpdag(truth))
        known = np.zeros_like(truth)
        for i, j in rng.permutation(np.argwhere(truth)).tolist():
            if closed.is_undirected(i, j):
                closed.direct(i, j)
            known[i, j] = True
            agreeing = [dag for dag in members if not (dag & known.T).any()]
            assert np.array_equal(closed.matrix(), np.any(agreeing, axis=0))
        with pytest.raises(ValueError, match="only an undirected edge"):
            closed.direct(0, 1)


def test_fourth_rule():
    a, b, c, e = range(4)
    pdag = np.zeros((4, 4), dtype=bool)
    for i, j in [(a, b), (b, a), (a, c), (c, a), (a, e), (e, a), (c, e), (e, b)]:
        pdag[i, j] = True
    closed = graph.meek_closure(pdag)
    assert closed[a, b]
    assert not closed[b, a]
    assert closed[a, c]
    assert closed[c, a]


@pytest.mark.parametrize(
    "pdag",
    [
        np.roll(np.eye(4, dtype=bool), 1, axis=1) | np.roll(np.eye(4, dtype=bool), -1, axis=1),  # a square, no chord
        np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0]]),  # 0 -> 1 - 2 <- 3
        np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]),  # a cycle
    ],
)
def test_no_extension_is_an_error(pdag):
    with pytest.raises(DataError, match="no DAG has the directed edges"):
        graph.cpdag_to_dag(pdag)


def test_thousand_nodes():
    rng = np.random.default_rng(7)
    dag = random_dag(rng, 1_000, 4 / 999)
    cpdag = graph.dag_to_cpdag(dag)
    assert np.array_equal(graph.skeleton(cpdag), graph.skeleton(dag))
    assert graph.v_structures(cpdag) == graph.v_structures(dag)
    assert graph.markov_equivalent(graph.cpdag_to_dag(cpdag), dag)
    chain = np.eye(1_000, k=1, dtype=bool)
    undirected = graph.dag_to_cpdag(chain)
    assert np.array_equal(undirected, chain | chain.T)
    undirected[1, 0] = False  # one known direction runs down the whole chain
    assert np.array_equal(graph.meek_closure(undirected), chain)


def test_a_class_is_found_after_the_deadline(rng):
    """A result that was cut short is shown, too, however many columns it has."""
    dag = np.zeros((6000, 6000), dtype=bool)
    dag[tuple(np.sort(rng.integers(6000, size=(2, 9000)), axis=0))] = True
    np.fill_diagonal(dag, False)
    cpdag = graph.dag_to_cpdag(dag)
    with Deadline(0.0) as deadline:
        deadline.stop()
        assert (graph.dag_to_cpdag(dag) == cpdag).all()
        assert (graph.meek_closure(cpdag) == cpdag).all()
        assert graph.markov_equivalent(graph.cpdag_to_dag(cpdag), dag)
