import numpy as np
import pytest
from scipy.special import gammaln, xlogy

from drbo._core import discrete_parent_sets

LIMITS = -np.inf, False, 10**6, 10**4  # least share, only the best, steps, sets


def _case(rng, m=5, u=40):
    levels = rng.integers(2, 4, size=m + 1)
    columns = np.stack([rng.integers(r, size=u) for r in levels]).astype(np.int32)
    columns[m] = (columns[0] + columns[1] * (rng.random(u) < 0.6)) % levels[m]
    return columns, levels.astype(np.int64), rng.integers(1, 4, size=u)


def _share(columns, levels, repeats, members, weights, unit, ess):
    """Count every configuration by itself."""
    m = len(columns) - 1
    keys = [tuple(row) for row in columns[members].T]
    q = int(np.prod(levels[members]))
    total = 0.0
    for key in set(keys):
        inside = np.array([k == key for k in keys])
        counts = np.array([repeats[inside & (columns[m] == level)].sum() for level in range(levels[m])])
        if ess:
            a = ess / q
            total += gammaln(a) - gammaln(counts.sum() + a)
            total += (gammaln(counts + a / levels[m]) - gammaln(a / levels[m])).sum()
        else:
            total += 2 * (xlogy(counts, counts).sum() - xlogy(counts.sum(), counts.sum()))
    return total - unit * q + weights[members].sum()


@pytest.mark.parametrize(("unit", "ess"), [(2.0, 0.0), (8.0, 0.0), (0.0, 1.0), (0.0, 20.0)])
@pytest.mark.parametrize("seed", range(4))
def test_every_set_that_no_subset_beats_is_found(seed, unit, ess):
    rng = np.random.default_rng(seed)
    columns, levels, repeats = _case(rng)
    weights = rng.normal(-1, 1, size=5)
    n_required, most = seed % 2, 5 - (seed == 3) * 2
    shares = {}
    for mask in range(32):
        members = [k for k in range(5) if mask >> k & 1]
        if len(members) <= most and (mask & 1 or not n_required):
            shares[mask] = _share(columns, levels, repeats, members, weights, unit, ess)
    form = columns, levels, repeats, n_required, weights, most, unit, ess
    masks, values, _ = discrete_parent_sets(*form, *LIMITS)
    for mask, value in zip(masks.tolist(), values, strict=True):
        assert value == pytest.approx(shares[mask])
    good = {
        mask
        for mask, value in shares.items()
        if all(shares[other] < value - 1e-9 for other in shares if other & mask == other != mask)
    }
    assert good <= set(masks.tolist())
    best = discrete_parent_sets(*form, -np.inf, True, *LIMITS[2:])
    assert best[1].tolist() == pytest.approx([max(shares.values())])


def test_sets_that_cannot_pay_are_not_tried():
    rng = np.random.default_rng(0)
    columns = rng.integers(2, size=(21, 300)).astype(np.int32)
    everything = np.full(21, 2), np.ones(300, dtype=np.int64), 0, np.zeros(20)
    _, _, steps = discrete_parent_sets(columns, *everything, 20, np.log(300), 0.0, *LIMITS)
    assert 0 < steps < 100_000  # of a million


def test_limits():
    form = *_case(np.random.default_rng(0)), 0, np.zeros(5), 5, 1.0, 0.0
    assert discrete_parent_sets(*form, *LIMITS[:2], 3, 10**4)[2] == -1
    assert discrete_parent_sets(*form, *LIMITS[:3], 2)[2] == -1
