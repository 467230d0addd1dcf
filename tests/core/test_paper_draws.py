"""Values and prices of candidates' families; moves and toggles are tested through the region and the spaces."""

import numpy as np
import pytest

from drbo import _core

pytestmark = pytest.mark.floats

N = 30


def _floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(("d", "h", "n_draws"), [(9, 5, 3), (9, 16, 16), (8, 19, 1), (41, 16, 100), (1, 3, 2)])
def test_values_are_those_of_the_networks(d, h, n_draws, rng):
    sets = rng.random((d, N, d)) < 0.4
    sets[:, ::3] = sets[:, :1]  # a third is as the first, the centre
    codes = np.packbits(sets, axis=2)
    changed = (codes != codes[:, :1]).any(axis=2).astype(np.uint8)
    w1, b1, output, offset = _floats(rng, d, d, h), _floats(rng, d, h), _floats(rng, d, h, n_draws), _floats(rng, d, 1)
    scale = np.stack([_floats(rng, d), 1 + rng.random(d), np.full(d, -4.0), np.full(d, 5.0)]).astype(np.float32)
    local = np.full((d, N, n_draws), np.nan, np.float32)
    center = np.ascontiguousarray(codes[:, 0])
    _core.network_values(codes, changed, center, w1, b1, output, offset, scale, local, 1)
    hidden = np.maximum(np.einsum("dnj,djh->dnh", sets, w1) + b1[:, None], 0)
    raw = np.einsum("dnh,dhs->dns", hidden, output) + offset[:, :, None]
    mean, spread, low, high = (part[:, None, None] for part in scale)
    assert local == pytest.approx(np.clip(mean + spread * raw, low, high), abs=1e-3)
    assert np.ptp(local) > 0


@pytest.mark.parametrize("known_moments", [False, True])
@pytest.mark.parametrize(("d", "h", "n"), [(9, 5, 30), (9, 16, 700), (41, 19, 30)])
def test_rows_have_masks_of_their_own_and_the_values_of_the_networks(d, h, n, known_moments, rng, random_words):
    """Against the formulas in double precision, with the masks that the random words give."""
    sets, dropout, seed = rng.random((d, n, d)) < 0.4, 0.3, 2**61 + 12_345
    p = (_floats(rng, d, d, h), *(_floats(rng, d, h) for _ in range(4)), _floats(rng, d, 1))
    w1, b1, gamma, beta, w2, b2 = p
    moments = np.stack([_floats(rng, d, h), np.abs(_floats(rng, d, h))])
    scale = np.stack([_floats(rng, d), 1 + rng.random(d), np.full(d, -4.0), np.full(d, 5.0)]).astype(np.float32)
    words = random_words(seed, d * n * -(-h // 4))
    kept = words.view(np.uint16).reshape(d, n, -1)[:, :, :h] >= round(dropout * 2**16)
    act = np.maximum(np.einsum("dnj,djh->dnh", sets, w1.astype(float)) + b1[:, None], 0) * kept / (1 - dropout)
    given = moments if known_moments else moments[:, :0]
    mean, variance = moments if known_moments else (act.mean(axis=1), act.var(axis=1))
    values = ((act - mean[:, None]) / np.sqrt(variance + 1e-5)[:, None] * gamma[:, None] + beta[:, None]) * w2[:, None]
    raw = scale[0][:, None] + scale[1][:, None] * (values.sum(axis=2) + b2)
    sizes = np.abs(scale[0])[:, None] + scale[1][:, None] * (np.abs(values).sum(axis=2) + np.abs(b2))
    found = []
    for threads in (1, 3):
        local, networks = np.full((d, n), np.nan, np.float32), _core.Networks(*p)
        _core.network_samples(np.packbits(sets, axis=2), networks, given, scale, seed, dropout, 1e-5, local, threads)
        assert (np.abs(local - np.clip(raw, -4, 5)) < 1e-5 * sizes).all()
        assert local.std() > 0.5
        found.append(local)
    assert np.array_equal(*found)
    assert 0.69 < kept.mean() < 0.71 or n < 100


@pytest.mark.parametrize("d", [1, 8, 9, 21])
def test_prices_add_up(d, rng):
    sets = rng.random((d, N, d)) < 0.4
    empty, each, price = _floats(rng, d), _floats(rng, d, d), np.empty((d, N), np.float32)
    _core.candidate_prices(np.packbits(sets, axis=2), empty, each, price, 1)
    assert price == pytest.approx(empty[:, None] + np.einsum("dnj,dj->dn", sets, each), abs=1e-5)
