"""Ancestral graphs for the tests: all that four nodes have, and what each of them separates."""

from functools import cache
from itertools import combinations, pairwise, permutations, product

import numpy as np

from drbo.data.files.simulate import random_dag, simulate_linear
from drbo.graph.mag import Mag, hide
from drbo.graph.marks import ARROW, NO_EDGE
from drbo.search.ancestral.ricf import DistrictScores

D = 4
PAIRS = list(combinations(range(D), 2))
SUBSETS = [set(nodes) for size in range(D - 1) for nodes in combinations(range(D), size)]


def mixed_graph(kinds):
    """Return the graph with these edges (0 none, 1 ->, 2 <-, 3 <->) between the pairs of four nodes."""
    marks = np.zeros((D, D), dtype=np.int8)
    for (i, j), kind in zip(PAIRS, kinds, strict=True):
        marks[i, j], marks[j, i] = [(0, 0), (2, 3), (3, 2), (2, 2)][kind]
    return Mag.of_marks(marks)


@cache
def all_mixed_graphs():
    """Return every graph of directed and bidirected edges on four nodes."""
    return [mixed_graph(kinds) for kinds in product(range(4), repeat=len(PAIRS))]


@cache
def all_mags():
    """Return every maximal ancestral graph on four nodes."""
    scores = DistrictScores(np.eye(D), 10, 1.0)
    return [graph for graph in all_mixed_graphs() if scores.is_legal(graph)]


@cache
def _paths(i, j):
    others = [node for node in range(D) if node not in (i, j)]
    return [(i, *inner, j) for size in range(D - 1) for inner in permutations(others, size)]


def separations(graph):
    """Return which pairs of nodes each set of other nodes m-separates, by looking at every path."""
    marks, reach = graph.marks(), np.eye(D, dtype=bool) | graph.directed
    for node in range(D):
        reach |= np.outer(reach[:, node], reach[node])
    found = set()
    for i, j in PAIRS:
        paths = [path for path in _paths(i, j) if all(marks[a, b] != NO_EDGE for a, b in pairwise(path))]
        for given in SUBSETS:
            if not {i, j} & given and not any(_is_open(path, given, marks, reach) for path in paths):
                found.add((i, j, frozenset(given)))
    return frozenset(found)


def _is_open(path, given, marks, reach):
    for a, b, c in zip(path, path[1:], path[2:], strict=False):
        if marks[a, b] == ARROW and marks[c, b] == ARROW:
            if not any(reach[b, node] for node in given):
                return False
        elif b in given:
            return False
    return True


def _random_dag(rng, n_nodes, n_hidden, degree):
    dag = random_dag(n_nodes + n_hidden, degree, rng)
    return dag, np.isin(np.arange(len(dag)), rng.choice(len(dag), n_hidden, replace=False))


def random_mag(rng, n_nodes, n_hidden, degree=1.3):
    """Return the ancestral graph of a random DAG some of whose nodes are hidden."""
    return hide(*_random_dag(rng, n_nodes, n_hidden, degree))


def random_table(rng, n_rows, n_nodes, n_hidden, degree=1.3):
    """Return rows of the columns that are not hidden."""
    dag, hidden = _random_dag(rng, n_nodes, n_hidden, degree)
    return simulate_linear(dag, n_rows, rng)[:, ~hidden]
