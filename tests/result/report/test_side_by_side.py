"""Two graphs as pictures of one layout."""

import numpy as np

from drbo.graph.dag import topological_order
from drbo.result.report.side_by_side import _union, side_by_side
from tests.results import make_result


def random_dag(rng, d=12):
    order = rng.permutation(d)
    return np.triu(rng.random((d, d)) < 0.25, 1)[np.ix_(order, order)]


def test_the_union_has_all_links_and_no_cycle(rng):
    for _ in range(20):
        first, second = random_dag(rng), random_dag(rng)
        union = _union(first, second)
        topological_order(union)  # raises if there is a cycle
        assert (union & first == first).all()
        links = first | first.T | second | second.T
        assert ((union | union.T) == links).all()
        assert not (union & union.T).any()


def test_a_second_graph_that_fits_keeps_its_arrows():
    first, second = np.zeros((3, 3), dtype=bool), np.zeros((3, 3), dtype=bool)
    second[2, 1] = second[1, 0] = True
    assert (_union(first, second) == second).all()


def test_variables_are_at_the_same_place_whatever_the_order_of_the_columns(rng):
    first, second = random_dag(rng), random_dag(rng)
    names = tuple(f"x{k}" for k in range(12))
    order = rng.permutation(12)
    shuffled = make_result(second[np.ix_(order, order)], names=tuple(names[k] for k in order), score_equivalent=False)
    results = (make_result(first, names=names, score_equivalent=False), shuffled)
    places = (list(range(12)), np.argsort(order).tolist())
    classes = {frozenset(pair): "both" for graph in (first, second) for pair in map(tuple, np.argwhere(graph).tolist())}
    pictures = side_by_side(results, places, classes)
    assert (pictures[0].centres == pictures[1].centres).all()
    assert pictures[0].names == pictures[1].names == names
    for picture, graph in zip(pictures, (first, second), strict=True):
        drawn = {
            (line.source, line.target) if line.head != "none" else (line.target, line.source) for line in picture.lines
        }
        assert drawn == set(map(tuple, np.argwhere(graph).tolist()))


def test_an_arrow_that_points_upwards_is_named_by_its_cause():
    first, second = np.array([[0, 1], [0, 0]]), np.array([[0, 0], [1, 0]])
    results = tuple(make_result(dag, names=("a", "b"), score_equivalent=False) for dag in (first, second))
    pictures = side_by_side(results, ([0, 1], [0, 1]), {frozenset((0, 1)): "turned link-0"})
    assert "<title>a → b (direction assumed)</title>" in pictures[0].svg()
    assert "<title>b → a (direction assumed)</title>" in pictures[1].svg()
    assert 'class="edge turned link-0 hollow"' in pictures[1].svg()
