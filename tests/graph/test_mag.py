import numpy as np
import pytest

from drbo.errors import DataError
from drbo.graph.dag import descendants
from drbo.graph.mag import Mag, hide, projection
from tests.search.ancestral.graphs import PAIRS, all_mags, all_mixed_graphs, random_mag, separations


def test_four_nodes_have_as_many_maximal_ancestral_graphs_as_known():
    assert len(all_mags()) == 2492
    legal = {graph.marks().tobytes() for graph in all_mags()}
    for graph in all_mixed_graphs()[::9]:
        assert (graph.is_ancestral() and graph.is_maximal()) == (graph.marks().tobytes() in legal)


def test_maximal_means_that_every_pair_without_an_edge_can_be_separated():
    for graph in all_mixed_graphs()[::19]:
        if graph.is_ancestral():
            separated = {(i, j) for i, j, _ in separations(graph)}
            apart = {(i, j) for i, j in PAIRS if not graph.adjacent[i, j]}
            assert graph.is_maximal() == (apart <= separated)


def test_a_projection_is_maximal_and_keeps_ancestors_and_separations():
    for graph in all_mixed_graphs()[::23]:
        if graph.is_ancestral():
            found = projection(graph)
            assert found.is_ancestral()
            assert found.is_maximal()
            assert separations(found) == separations(graph)


def test_hiding_nodes_gives_the_separations_of_the_rest(rng):
    for _ in range(30):
        graph = random_mag(rng, 4, 2)
        assert graph.is_ancestral()
        assert graph.is_maximal()


def test_a_hidden_cause_and_an_edge_leave_the_edge():
    dag = np.zeros((3, 3), dtype=bool)
    dag[0, 1] = dag[2, 0] = dag[2, 1] = True
    found = hide(dag, [False, False, True])
    assert found.directed.tolist() == [[False, True], [False, False]]
    assert not found.bidirected.any()


@pytest.mark.parametrize(
    ("directed", "bidirected", "words"),
    [
        (np.zeros((2, 3)), None, "two square matrices"),
        (np.eye(2), None, "no loops"),
        (np.zeros((2, 2)), [[0, 1], [0, 0]], "symmetric"),
        ([[0, 1], [1, 0]], None, "at most one edge"),
        ([[0, 1], [0, 0]], [[0, 1], [1, 0]], "at most one edge"),
    ],
)
def test_what_is_no_mixed_graph_is_refused(directed, bidirected, words):
    with pytest.raises(DataError, match=words):
        Mag.of(directed, bidirected)


def test_projection_finds_every_inducing_path():
    """As a search over all paths does, also where two nodes have edges of both kinds, which :func:`hide` makes."""
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(200):
        d, share = int(rng.integers(3, 7)), rng.random(2)
        directed, both = np.triu(rng.random((2, d, d)) < share[:, None, None] * 0.6, 1)
        graph = Mag(directed, both | both.T)
        joined = projection(graph).adjacent
        for i, j in np.argwhere(np.triu(~graph.adjacent, 1)).tolist():
            assert joined[i, j] == any(_induces(graph, path) for path in _paths(graph, [i], j)), (directed, both)
        found += int((joined & ~graph.adjacent).any())
    assert found > 20


def _paths(graph, path, end):
    for node in np.flatnonzero(graph.adjacent[path[-1]]).tolist():
        if node == end:
            yield [*path, end]
        elif node not in path:
            yield from _paths(graph, [*path, node], end)


def _induces(graph, path):
    """Tell whether every inner node is a collider and an ancestor of one of the ends."""
    above = descendants(graph.directed)
    into = graph.directed | graph.bidirected
    inner = list(zip(path, path[1:-1], path[2:], strict=False))
    return all(into[a, v] and into[b, v] and (above[v, path[0]] or above[v, path[-1]]) for a, v, b in inner)
