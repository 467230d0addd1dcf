from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drbo.errors import DrboError, ResultError
from drbo.graph import layout as module
from drbo.graph.layout import NODE_GAP, layered_routes


def random_dag(seed, d, edges_per_node):
    rng = np.random.default_rng(seed)
    order = rng.permutation(d)
    return np.triu(rng.random((d, d)) < min(1.0, 2 * edges_per_node / max(1, d - 1)), 1)[np.ix_(order, order)]


def places(dag):
    return layered_routes(dag).positions


def crossings(layout):
    """Count the pairs of straight edge pieces that cross properly, piece against piece."""
    pieces = [pair for route in layout.routes for pair in pairwise(route)]

    def turn(a, b, c):
        return np.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

    return sum(
        turn(a, b, c) * turn(a, b, d) < 0 and turn(c, d, a) * turn(c, d, b) < 0
        for k, (a, b) in enumerate(pieces)
        for c, d in pieces[:k]
    )


def check(dag, widths):
    layout = layered_routes(dag, widths)
    x, y = layout.positions.T
    source, target = np.nonzero(dag)
    assert (y[source] - y[target] >= 1 - 1e-9).all()
    for i in range(len(dag)):
        for j in range(i):
            apart_x = abs(x[i] - x[j]) >= (widths[i] + widths[j]) / 2 + NODE_GAP - 1e-9
            assert apart_x or abs(y[i] - y[j]) >= 1 - 1e-9
    np.testing.assert_array_equal(layout.edges, np.argwhere(dag))
    for (i, j), route in zip(layout.edges, layout.routes, strict=True):
        np.testing.assert_array_equal(route[0], layout.positions[i])
        np.testing.assert_array_equal(route[-1], layout.positions[j])
        assert (np.diff(route[:, 1]) < 0).all()
        for bend in route[1:-1]:  # bends keep clear of the boxes in their layer
            level = np.isclose(y, bend[1])
            assert (np.abs(x[level] - bend[0]) > widths[level] / 2).all()


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 20), st.floats(0, 4))
def test_places_are_apart_and_edges_point_down(seed, d, density):
    widths = np.random.default_rng(seed).uniform(0.3, 3.0, d)
    check(random_dag(seed, d, density), widths)


@pytest.mark.parametrize("kind", ["path", "star", "inverted star", "complete", "empty", "two parts"])
def test_special_graphs(kind):
    d = 24
    dag = np.zeros((d, d), dtype=bool)
    if kind == "path":
        dag[np.arange(d - 1), np.arange(1, d)] = True
    elif kind == "star":
        dag[5, :] = np.arange(d) != 5
    elif kind == "inverted star":
        dag[:, 5] = np.arange(d) != 5
    elif kind == "complete":
        dag = np.triu(np.ones((d, d), dtype=bool), 1)
    elif kind == "two parts":
        dag[0, 1:4] = dag[10, 11:20] = True
    check(dag, np.ones(d))


def test_same_graph_same_places():
    dag = random_dag(1, 30, 1.5)
    np.testing.assert_array_equal(places(dag), places(dag.copy()))
    np.testing.assert_array_equal(places(dag.astype(int)), places(dag))


def test_path_is_straight():
    positions = places(np.eye(6, k=1))
    np.testing.assert_allclose(positions[:, 0], positions[0, 0])
    np.testing.assert_allclose(np.diff(positions[:, 1]), -1)


def test_tree_has_no_crossings():
    d = 31
    dag = np.zeros((d, d), dtype=bool)
    names = np.random.default_rng(2).permutation(d)
    for child in range(1, d):
        dag[names[(child - 1) // 2], names[child]] = True
    assert crossings(layered_routes(dag)) == 0


def test_sweeps_remove_crossings(monkeypatch):
    graphs = [random_dag(seed, 20, 1.5) for seed in range(4)]
    after = sum(crossings(layered_routes(dag)) for dag in graphs)
    monkeypatch.setattr(module, "SWEEPS", 0)
    before = sum(crossings(layered_routes(dag)) for dag in graphs)
    assert after < 0.75 * before


def test_swaps_remove_what_barycentres_leave(monkeypatch):
    graphs = [random_dag(seed, 20, 1.5) for seed in range(6)]
    after = sum(crossings(layered_routes(dag)) for dag in graphs)
    monkeypatch.setattr(module._Block, "_swap_neighbours", lambda *_: None)
    assert after < sum(crossings(layered_routes(dag)) for dag in graphs)


def test_wide_layers_are_split():
    dag = np.zeros((60, 60), dtype=bool)
    dag[0, 1:] = True
    positions = places(dag)
    width, height = np.ptp(positions, axis=0)
    assert width < 40  # 77 in one layer
    assert height >= 3


def test_large_graph_uses_straight_edges():
    layout = layered_routes(random_dag(3, 150, 6))
    assert {len(route) for route in layout.routes} == {2}
    assert len(np.unique(layout.positions, axis=0)) == 150


def test_bad_input():
    with pytest.raises(DrboError, match="cycle"):
        layered_routes([[0, 1], [1, 0]])
    with pytest.raises(DrboError, match="square"):
        layered_routes(np.zeros((2, 3)))
    with pytest.raises(ResultError, match="one value per node"):
        layered_routes(np.zeros((2, 2)), widths=[1.0])
