import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from drbo.data.statistics.statistics import Statistics
from drbo.scores.families import Families, row_groups
from drbo.scores.linear import BicNV


@pytest.fixture
def table(rng):
    return Statistics.from_array(rng.normal(size=(30, 3)), ["a", "b", "c"])


@st.composite
def families(draw):
    d = draw(st.integers(2, 20))
    m = draw(st.integers(0, 12))
    nodes = draw(arrays(np.intp, m, elements=st.integers(0, d - 1)))
    parents = draw(arrays(bool, (m, d)))
    parents[np.arange(m), nodes] = False
    return Families(nodes, parents)


@given(families())
def test_keys_come_back_as_families(batch):
    again = Families.from_keys(batch.keys(), batch.n_nodes)
    assert again.nodes.tolist() == batch.nodes.tolist()
    assert again.parents.tolist() == batch.parents.tolist()


@given(families())
def test_keys_are_equal_exactly_for_equal_families(batch):
    content = [(node, *row) for node, row in zip(batch.nodes.tolist(), batch.parents.tolist(), strict=True)]
    assert len(set(batch.keys())) == len(set(content))


def test_keys_of_every_family_of_nine_nodes_differ():
    """Nine nodes need two bytes of parents: the border of a byte must not swallow one."""
    sets = [(node, np.flatnonzero([mask >> i & 1 for i in range(9)])) for node in range(9) for mask in range(512)]
    batch = Families.from_sets(9, [(node, parents) for node, parents in sets if node not in parents])
    assert len(set(batch.keys())) == 9 * 256


def test_keys_sort_by_node_first(rng):
    nodes = rng.integers(300, size=50)
    batch = Families(nodes, rng.random((50, 300)) < 0.5)
    assert Families.from_keys(sorted(batch.keys()), 300).nodes.tolist() == sorted(nodes.tolist())


@given(families(), st.integers(0, 4))
def test_padded_lists_the_parents_then_dummies(batch, extra):
    rows = np.arange(len(batch))[::-1].copy()
    width = int(batch.parents.sum(axis=1).max(initial=0)) + extra
    index = batch.padded(rows, width)
    assert index.shape == (len(batch), width)
    for row, places in zip(rows, index.tolist(), strict=True):
        parents = np.flatnonzero(batch.parents[row]).tolist()
        dummies = [batch.n_nodes + place for place in range(len(parents), width)]
        assert places == parents + dummies


@given(st.integers(0, 3), st.integers(1, 4), st.data())
def test_families_of_dags_are_their_columns(count, d, data):
    dags = data.draw(arrays(bool, (count, d, d)))
    batch = Families.from_dags(dags)
    assert batch.nodes.tolist() == list(range(d)) * count
    for b in range(count):
        for node in range(d):
            assert batch.parents[b * d + node].tolist() == dags[b, :, node].tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_read_only_graphs_are_copied(order, table):
    """The graphs of a result cannot be written to; a batch of families belongs to whoever made it."""
    dags = np.array(np.triu(np.ones((1, 3, 3), dtype=bool), 1), order=order)
    dags.setflags(write=False)
    batch = Families.from_dags(dags)
    assert batch.parents.flags.writeable
    assert BicNV(table).family_price(batch) == pytest.approx(-np.log(30) * np.arange(3))


def test_slices_and_lengths():
    batch = Families.from_sets(3, [(2, (0, 1)), (0, ()), (1, (2,))])
    assert (len(batch), batch.n_nodes, len(batch[:0])) == (3, 3, 0)
    assert batch[[2, 0]].nodes.tolist() == [1, 2]
    assert batch[np.array([False, True, False])].parents.tolist() == [[False, False, False]]


@given(st.data())
@settings(deadline=None)
def test_row_groups_split_the_nodes_by_their_rows(data):
    n, d = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    targets = data.draw(arrays(bool, (n, d)))
    groups = row_groups(targets, n, d)
    assert sorted(node for members, _ in groups for node in members.tolist()) == list(range(d))
    for members, rows in groups:
        for node in members:
            assert rows.tolist() == np.flatnonzero(~targets[:, node]).tolist()
    (members, rows) = row_groups(None, n, d)[0]
    assert (members.tolist(), rows.tolist()) == (list(range(d)), list(range(n)))
