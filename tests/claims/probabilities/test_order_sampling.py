from itertools import pairwise, permutations

import numpy as np
import pytest

from drbo.claims.probabilities.order_sampling import order_chains
from drbo.claims.probabilities.posterior import edge_sums
from drbo.search.exact.family_tables import families_of
from drbo.search.known_orders import pack


def _lists(logs):
    """The families of a table (d, 2^(d-1)) as lists, heaviest first."""
    d = len(logs)
    parents, weights, bounds = [], [], [0]
    for node in range(d):
        rows = np.argsort(-logs[node], kind="stable")
        parents.append(families_of(d, node).parents[rows])
        weights.append(logs[node, rows])
        bounds.append(bounds[-1] + len(rows))
    return pack(np.concatenate(parents)), np.concatenate(weights), np.array(bounds)


@pytest.mark.parametrize("seed", range(3))
def test_chains_agree_with_the_exact_sum_over_orders(seed):
    rng = np.random.default_rng(seed)
    logs = 2 * rng.normal(size=(5, 16))
    starts = np.array([rng.permutation(5) for _ in range(2)])
    found, orders = order_chains(starts, *_lists(logs), steps=40_000, seed=seed)
    assert orders.shape == (2, 4000, 5)
    assert (np.sort(orders, axis=2) == np.arange(5)).all()
    exact = edge_sums(logs, "orders")
    np.testing.assert_allclose(found.mean(axis=0), exact, atol=0.03)
    np.testing.assert_allclose(found[0], found[1], atol=0.05)


def test_the_same_seed_gives_the_same_chain():
    logs = np.random.default_rng(1).normal(size=(4, 8))
    starts = np.array([[0, 1, 2, 3], [3, 2, 1, 0]])
    one, two = (order_chains(starts, *_lists(logs), steps=500, seed=7) for _ in range(2))
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first, second)
    for steps in (0, 1, 2, 3, 7, 8, 9, 16):
        seen = [step for step in range(steps) if 2 * step >= steps and step % 4 == 0]
        assert order_chains(starts, *_lists(logs), steps=steps, seed=7)[1].shape == (2, len(seen), 4)
    np.testing.assert_array_equal(starts, [[0, 1, 2, 3], [3, 2, 1, 0]])


def test_nodes_without_parents_stay_first():
    rng = np.random.default_rng(4)
    logs = 2 * rng.normal(size=(4, 8))
    words, weights, bounds = _lists(logs)
    kept = np.ones(len(words), dtype=bool)
    kept[: bounds[1]] = words[: bounds[1], 0] == 0  # the first node has no parents
    bounds = np.append(0, np.cumsum([kept[low:high].sum() for low, high in pairwise(bounds)]))
    words, weights = words[kept], weights[kept]
    starts = np.array([[0, 1, 2, 3], [0, 3, 2, 1]])
    found, orders = order_chains(starts, words, weights, bounds, 40_000, 0, moved=np.arange(1, 4))
    assert (orders[:, :, 0] == 0).all()
    total, edges = 0.0, np.zeros((4, 4))
    for order in ((0, *rest) for rest in permutations((1, 2, 3))):
        weight, shares, before = 1.0, np.zeros((4, 4)), 0
        for node in order:
            rows = np.arange(bounds[node], bounds[node + 1])
            rows = rows[(words[rows, 0] & ~np.uint64(before)) == 0]
            own = np.exp(weights[rows])
            weight *= own.sum()
            for row, part in zip(rows, own / own.sum(), strict=True):
                shares[[k for k in range(4) if int(words[row, 0]) >> k & 1], node] += part
            before |= 1 << node
        total, edges = total + weight, edges + weight * shares
    np.testing.assert_allclose(found.mean(axis=0), edges / total, atol=0.03)
