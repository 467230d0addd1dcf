from itertools import permutations

import numpy as np
import pytest

from drbo._core import climb_known
from drbo.search.known_orders import OrderedFamilies, pack


def _problem(rng, d, per_node=12):
    nodes, parents = [], []
    for node in range(d):
        for k in range(per_node):
            row = (rng.random(d) < 0.4) & (k > 0)  # the empty set is always listed
            row[node] = False
            nodes.append(node)
            parents.append(row)
    nodes, parents, shares = np.array(nodes), np.array(parents), rng.normal(size=len(nodes))
    rows = np.lexsort((-shares, nodes))
    nodes, parents, shares = nodes[rows], parents[rows], shares[rows]
    return parents, shares, np.searchsorted(nodes, np.arange(d + 1))


def _value(order, parents, shares, starts):
    total = 0.0
    for place, node in enumerate(order):
        rows = range(starts[node], starts[node + 1])
        total += max(shares[r] for r in rows if set(np.flatnonzero(parents[r])) <= set(order[:place]))
    return total


def test_pack_sets_the_bits_of_the_parents(rng):
    parents = rng.random((5, 130)) < 0.3
    words = pack(parents)
    assert words.shape == (5, 3)
    for row, packed in zip(parents, words, strict=True):
        assert [bool(int(packed[i // 64]) >> (i % 64) & 1) for i in range(130)] == row.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_no_single_move_improves_the_end(seed):
    rng = np.random.default_rng(seed)
    parents, shares, starts = _problem(rng, 7)
    order, chosen, total = climb_known(rng.permutation(7), pack(parents), shares, starts, rng.permutation(7))
    assert sorted(order.tolist()) == list(range(7))
    assert total == pytest.approx(_value(order.tolist(), parents, shares, starts))
    assert total == pytest.approx(shares[chosen].sum())
    for node in range(7):
        rest = [other for other in order if other != node]
        for place in range(7):
            moved = [*rest[:place], node, *rest[place:]]
            assert _value(moved, parents, shares, starts) <= total + 1e-9


def test_restarts_find_the_best_of_all_orders(rng):
    parents, shares, starts = _problem(rng, 6)
    best = max(_value(order, parents, shares, starts) for order in permutations(range(6)))
    words = pack(parents)
    found = max(climb_known(rng.permutation(6), words, shares, starts, rng.permutation(6))[2] for _ in range(30))
    assert found == pytest.approx(best)


def test_more_than_64_nodes(rng):
    d = 70
    parents = np.zeros((2 * d, d), dtype=bool)
    parents[np.arange(1, 2 * d, 2), (np.arange(d) + 1) % d] = True  # a ring: the weakest link has to give way
    shares = np.zeros(2 * d)
    shares[1::2] = 1 + np.arange(d)
    nodes = np.repeat(np.arange(d), 2)
    rows = np.lexsort((-shares, nodes))
    starts = np.searchsorted(nodes, np.arange(d + 1))
    _, _, total = climb_known(rng.permutation(d), pack(parents[rows]), shares[rows], starts, rng.permutation(d))
    assert total >= shares.sum() - 3


def test_families_in_any_order_climb_to_the_same_dag(rng):
    parents, shares, starts = _problem(rng, 7)
    nodes, start, visits = np.repeat(np.arange(7), np.diff(starts)), rng.permutation(7), rng.permutation(7)
    order, chosen, total = climb_known(start, pack(parents), shares, starts, visits)
    shuffled = rng.permutation(len(nodes))
    families = OrderedFamilies(nodes[shuffled], parents[shuffled], shares[shuffled])
    found = families.climb(start, visits)
    assert found[0].tolist() == order.tolist()
    assert found[2] == total
    assert (parents[chosen] == families.dag(found[1]).T).all()
