import numpy as np
import pytest

from drbo.search.exact.useful_parents import sets_by_matrix

LIMITS = -np.inf, False, 10**6, 10**4  # least share, only the best, steps, sets


def _case(rng, m=6):
    x = rng.normal(size=(60, m + 1)) @ (np.eye(m + 1) + 0.5 * rng.normal(size=(m + 1, m + 1)))
    form = {"offset": rng.normal(size=m + 1), "slope": 30 + rng.random(m + 1), "weights": rng.normal(-2, 1, size=m)}
    return np.corrcoef(x.T), form


def _shares(matrix, form, logarithmic, half, required=0):
    """Return the share of every set with the required candidates, by determinants."""
    m, found = len(matrix) - 1, {}
    for mask in range(1 << m):
        members = [k for k in range(m) if mask >> k & 1]
        if mask & required == required and len(members) < len(form["offset"]):
            inside = np.linalg.det(matrix[np.ix_(members, members)])
            residual = np.linalg.det(matrix[np.ix_([*members, m], [*members, m])]) / inside
            fit = np.log(residual) if logarithmic else residual
            k = len(members)
            found[mask] = form["offset"][k] - form["slope"][k] * fit - half * np.log(inside)
            found[mask] += form["weights"][members].sum()
    return found


def _beaten(shares, mask):
    return any(shares[other] >= shares[mask] - 1e-9 for other in shares if other & mask == other != mask)


@pytest.mark.parametrize(("logarithmic", "half"), [(True, 0.0), (False, 0.0), (True, 0.5)])
@pytest.mark.parametrize("seed", range(6))
def test_every_set_that_no_subset_beats_is_found(seed, logarithmic, half):
    rng = np.random.default_rng(seed)
    matrix, form = _case(rng)
    n_required = seed % 3
    if seed == 5:
        form["offset"], form["slope"] = form["offset"][:4], form["slope"][:4]  # at most three parents
    shares = _shares(matrix, form, logarithmic, half, (1 << n_required) - 1)
    kind = logarithmic, half
    masks, values, steps = sets_by_matrix(matrix, n_required, **form, kind=kind, limits=LIMITS)
    assert steps > 0
    assert len(set(masks.tolist())) == len(masks)
    for mask, value in zip(masks.tolist(), values, strict=True):
        assert value == pytest.approx(shares[mask])
    assert {mask for mask in shares if not _beaten(shares, mask)} <= set(masks.tolist())
    best = sets_by_matrix(matrix, n_required, **form, kind=kind, limits=(-np.inf, True, *LIMITS[2:]))
    assert best[1].tolist() == pytest.approx([max(shares.values())])
    floor = float(np.median(list(shares.values())))
    high = sets_by_matrix(matrix, n_required, **form, kind=kind, limits=(floor, *LIMITS[1:]))
    good = {mask for mask in shares if not _beaten(shares, mask) and shares[mask] > floor}
    assert good <= set(high[0].tolist())


def test_few_of_many_sets_are_looked_at():
    """Independent columns at the usual price: a bound on all 2^30 sets comes from next to none of them."""
    x = np.random.default_rng(0).normal(size=(1000, 31))
    price = {"offset": np.zeros(31), "slope": np.full(31, 1000.0), "weights": np.full(30, -np.log(1000))}
    masks, _, steps = sets_by_matrix(np.corrcoef(x.T), 0, **price, kind=(True, 0.0), limits=LIMITS)
    assert 0 in masks
    assert len(masks) < 5
    assert steps < 10**4


def test_limits():
    matrix, form = _case(np.random.default_rng(0))
    for limits in ((*LIMITS[:2], 3, 10**4), (*LIMITS[:3], 3)):
        assert sets_by_matrix(matrix, 0, **form, kind=(True, 0.0), limits=limits)[2] == -1
