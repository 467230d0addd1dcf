from itertools import combinations
from threading import Timer

import numpy as np
import pytest

from drbo._core import best_supersets
from drbo.deadline import Deadline, OutOfTimeError
from drbo.search.exact.order_graph import Bounds, Layer, ParentIndex, SetTable, expand, pack


def _layer(sets, scores):
    return Layer(np.array(sets, dtype=np.uint64), np.array(scores, dtype=float), np.zeros(len(sets), dtype=np.int8))


def _bounds(tables):
    """Two partitions of three nodes: {0, 1} {2} and {0} {1, 2}."""
    starts = np.concatenate([[0], np.cumsum([len(table) for table in tables])[:-1]])
    group_of, place = np.array([[0, 0, 1], [2, 3, 3]]), np.array([[0, 1, 0], [0, 0, 1]])
    return Bounds(group_of, place, starts, np.array([0, 0, 1, 1]), np.concatenate(tables))


def test_the_least_partition_counts():
    bounds = _bounds([[3.0, 2, 1, 0], [5.0, 0], [4.0, 0], [4.5, 1, 1, 0]])
    parents = ParentIndex([np.zeros(1, dtype=np.uint64)] * 3, [np.zeros(1)] * 3)
    for before, after, bound in [(0b000, 0b001, 4.5), (0b100, 0b110, 1.0), (0b011, 0b111, 0.0)]:
        for known, kept in [(bound - 0.01, True), (bound, False)]:
            table = SetTable()
            expand(_layer([before], [0.0]), 0, 1, parents, bounds, known, table)
            assert (after in Layer.of(table).sets.tolist()) == kept


def test_the_best_parents_inside_a_set_are_taken_and_the_rest_is_cut():
    masks = [np.array([0b010, 0], dtype=np.uint64), np.array([0b101, 0b001, 0], dtype=np.uint64)]
    masks.append(np.array([0], dtype=np.uint64))
    parents = ParentIndex(masks, [np.array([2.0, 0.0]), np.array([5.0, 3.0, 0.0]), np.array([0.0])])
    bounds = _bounds([np.zeros(4), np.zeros(2), np.zeros(2), np.zeros(4)])
    layer = _layer([0b001, 0b010], [10.0, 10.5])
    table = SetTable()
    assert expand(layer, 0, 10, parents, bounds, -np.inf, table) == 2
    found = Layer.of(table)
    assert found.sets.tolist() == [0b011, 0b101, 0b110]
    assert found.scores.tolist() == [13.0, 10.0, 10.5]
    assert found.last.tolist() == [1, 2, 2]
    table = SetTable()
    expand(layer, 0, 10, parents, bounds, 12.0, table)
    assert Layer.of(table).sets.tolist() == [0b011]


def test_more_than_64_sets_of_a_node():
    masks = np.arange(256, dtype=np.uint64)[::-1] << np.uint64(1)
    shares = np.arange(256.0)[::-1].copy()
    empty = np.zeros(1, dtype=np.uint64)
    parents = ParentIndex([masks, *[empty] * 8], [shares, *[np.zeros(1)] * 8])
    zero = np.zeros((1, 9), dtype=np.int64)
    bounds = Bounds(zero, np.arange(9)[None], zero[0, :1], zero[0, :1], np.zeros(512))
    for inside in (0, 0b1, 0b10110, 0b1111111):
        table = SetTable()
        expand(_layer([inside << 1], [0.0]), 0, 1, parents, bounds, -np.inf, table)
        found = Layer.of(table)
        assert found.scores[found.last == 0].tolist() == [float(inside)]


def _wide(d, rows):
    """Return a layer of many sets, with an index and bounds under which all of them go on."""
    empty, zero = np.zeros(1, dtype=np.uint64), np.zeros((1, d), dtype=np.int64)
    rng = np.random.default_rng(0)
    masks = [rng.integers(1 << d, size=4000, dtype=np.uint64) & ~np.uint64(1 << node) for node in range(d)]
    parents = ParentIndex([np.append(part, empty) for part in masks], [np.zeros(4001)] * d)
    bounds = Bounds(zero, zero, zero[0, :1], zero[0, :1], np.zeros(d + 1))
    return _layer(np.arange(rows), np.zeros(rows)), parents, bounds


@pytest.mark.parametrize("start", [np.iinfo(np.int64).max, np.iinfo(np.int64).max - 8, 7, -1])
def test_tables_beyond_the_values_are_refused(start):
    zero = np.zeros((1, 3), dtype=np.int64)
    with pytest.raises(ValueError, match="must be in"):
        Bounds(zero, np.arange(3)[None], np.array([start]), zero[0, :1], np.zeros(8))


def test_a_stop_ends_the_search_within_a_layer():
    layer, parents, bounds = _wide(30, 2_000_000)
    with Deadline() as deadline:
        timer = Timer(0.1, deadline.stop)
        timer.start()
        try:
            done = expand(layer, 0, len(layer.sets), parents, bounds, -np.inf, SetTable())
        except OutOfTimeError:  # the table was growing: there is no part of a layer to keep
            done = 1
        timer.join()
    assert 0 < done < len(layer.sets)


def test_a_stop_ends_the_reading_of_a_table():
    layer, parents, bounds = _wide(30, 5_000)
    table = SetTable()
    expand(layer, 0, len(layer.sets), parents, bounds, -np.inf, table)
    with Deadline() as deadline:
        deadline.stop()
        with pytest.raises(OutOfTimeError):
            Layer.of(table)


def test_a_table_grows_without_loss():
    empty = np.zeros(1, dtype=np.uint64)
    parents = ParentIndex([empty] * 20, [np.zeros(1)] * 20)
    zero = np.zeros((1, 20), dtype=np.int64)
    bounds = Bounds(zero, np.arange(20)[None], zero[0, :1], zero[0, :1], np.zeros(1 << 20))
    triples = [sum(1 << k for k in nodes) for nodes in combinations(range(20), 3)]
    layer, table = _layer(triples, np.zeros(len(triples))), SetTable()
    assert expand(layer, 0, len(triples), parents, bounds, -np.inf, table) == len(triples)
    fours = [sum(1 << k for k in nodes) for nodes in combinations(range(20), 4)]
    assert table.count == len(fours) > 4_096  # more than the first places
    assert Layer.of(table).sets.tolist() == sorted(fours)


@pytest.mark.parametrize("seed", range(5))
def test_layers_are_those_of_the_recurrence(seed):
    rng = np.random.default_rng(seed)
    d = 7
    masks = [rng.permutation(np.flatnonzero(np.arange(1 << d) >> node & 1 == 0)).astype(np.uint64) for node in range(d)]
    shares = [np.sort(rng.normal(size=len(part)))[::-1].copy() for part in masks]
    parents, zero = ParentIndex(masks, shares), np.zeros((1, d), dtype=np.int64)
    ahead = rng.normal(size=1 << d)
    bounds = Bounds(zero, np.arange(d)[None], zero[0, :1], zero[0, :1], ahead)
    known, expected = -1.0, {0: 0.0}
    layer = _layer([0], [0.0])
    for _ in range(d):
        following = {}
        for nodes, score in expected.items():
            for node in set(range(d)) - {k for k in range(d) if nodes >> k & 1}:
                more = nodes | 1 << node
                share = shares[node][masks[node] & ~np.uint64(nodes) == 0].max()
                if share > known - score - ahead[more]:
                    following[more] = max(following.get(more, -np.inf), score + share)
        table = SetTable()
        expand(layer, 0, len(layer.sets), parents, bounds, known, table)
        layer, expected = Layer.of(table), following
        assert dict(zip(layer.sets.tolist(), layer.scores.tolist(), strict=True)) == following


def test_supersets_and_packed_bits():
    best_supersets(values := np.array([0.0, 3.0, 1.0, 2.0]))
    assert values.tolist() == [3.0, 3.0, 2.0, 2.0]
    sets = np.array([0b10100, 0b00011], dtype=np.uint64)
    assert pack(sets, np.array([2, 0, 4])).tolist() == [0b101, 0b010]
