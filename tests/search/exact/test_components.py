import numpy as np

from drbo.search.exact.components import Piece, divided


def _piece():
    """Parent sets of five nodes: 0 and 1 may cause each other, 2 and 3 too, after 0; 4 is alone."""
    masks = [[0b00010, 0], [0b00001, 0], [0b01001, 0b00001, 0], [0b00100, 0], [0]]
    shares = [[1.0, 0.0], [2.0, 0.0], [5.0, 2.0, 0.0], [4.0, 0.0], [0.5]]
    return Piece(np.arange(5), [np.array(row, dtype=np.uint64) for row in masks], [np.array(row) for row in shares])


def test_components_come_with_their_ancestors_first():
    found = [members.tolist() for members in _piece().components()]
    assert sorted(found) == [[0, 1], [2, 3], [4]]
    assert found.index([0, 1]) < found.index([2, 3])


def test_parents_outside_a_part_come_for_nothing():
    part = _piece().part(np.array([2, 3]))
    assert part.nodes.tolist() == [2, 3]
    assert [row.tolist() for row in part.masks] == [[0b10, 0], [0b01, 0]]
    assert [row.tolist() for row in part.shares] == [[5.0, 2.0], [4.0, 0.0]]


def test_the_best_dag_of_an_order():
    dag = _piece().best_dag(np.array([4, 0, 1, 3, 2]))
    assert np.argwhere(dag).tolist() == [[0, 1], [0, 2], [3, 2]]


def test_links_are_what_a_cycle_of_two_is_worth():
    links = _piece().links()
    assert links[0, 1] == 1.0 + 0.02
    assert links[2, 3] == 3.0 + 0.04
    assert links[0, 2] == 0.01 * 5.0
    np.testing.assert_array_equal(links, links.T)


def test_groups_are_full_and_hold_strong_links(rng):
    links = rng.random((11, 11)) * 0.1
    for block in (range(4), range(4, 8), range(8, 11)):
        links[np.ix_(block, block)] += 1.0
    place = rng.permutation(11)
    found = divided((links + links.T)[np.ix_(place, place)], 4)
    assert sorted(sorted(place[group].tolist()) for group in found) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]
