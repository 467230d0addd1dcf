"""A small table with nonlinear effects, and all of its families, for the tests of the paper's Gaussian processes."""

import numpy as np
import pytest

from drbo.scores.families import Families

N = 80


@pytest.fixture
def values(rng):
    x = rng.normal(size=(N, 4))
    x[:, 1] += 2 * np.sin(2 * x[:, 0])
    x[:, 2] += x[:, 1] ** 2 - x[:, 0]
    return 2 * x


def all_families(d):
    masks = [(i, [j for j in range(d) if m >> j & 1]) for i in range(d) for m in range(1, 1 << d) if not m >> i & 1]
    return Families.from_sets(d, masks)


def random_families(d, sizes, seed=0):
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(d) for _ in sizes]
    return Families.from_sets(d, [(order[0], order[1 : 1 + size]) for order, size in zip(orders, sizes, strict=True)])
