"""Moves and toggles are tested through the region and the spaces; here the values and prices of families."""

from itertools import pairwise

import numpy as np
import pytest

from drbo.search.paper import cpu_draws as compiled_draws
from drbo.search.paper.cpu import fill_random

pytestmark = pytest.mark.floats

D, N = 9, 30


def _floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(("h", "n_draws"), [(5, 3), (16, 16), (19, 1)])
def test_values_are_those_of_the_networks(h, n_draws, rng):
    sets = rng.random((D, N, D)) < 0.4
    sets[:, ::3] = sets[:, :1]  # a third is as the first, the centre
    codes = np.packbits(sets, axis=2)
    changed = (codes != codes[:, :1]).any(axis=2).astype(np.uint8)
    w1, b1, output, offset = _floats(rng, D, D, h), _floats(rng, D, h), _floats(rng, D, h, n_draws), _floats(rng, D, 1)
    scale = np.stack([_floats(rng, D), 1 + rng.random(D), np.full(D, -4.0), np.full(D, 5.0)]).astype(np.float32)
    local = np.full((D, N, n_draws), np.nan, np.float32)
    center = np.ascontiguousarray(codes[:, 0])
    compiled_draws.draw_values(0, D, codes, changed, center, w1, b1, output, offset, scale, local)
    hidden = np.maximum(np.einsum("dnj,djh->dnh", sets, w1) + b1[:, None], 0)
    raw = np.einsum("dnh,dhs->dns", hidden, output) + offset[:, :, None]
    mean, spread, low, high = (part[:, None, None] for part in scale)
    assert local == pytest.approx(np.clip(mean + spread * raw, low, high), abs=1e-3)
    assert (local > -4).any()
    assert (local == 5).any()


@pytest.mark.parametrize("known_moments", [False, True])
@pytest.mark.parametrize(("h", "n"), [(5, 30), (16, 700)])
def test_rows_have_masks_of_their_own_and_the_values_of_the_networks(h, n, known_moments, rng):
    """Against the formulas in double precision, with the masks that the random words give."""
    sets, dropout, seed = rng.random((D, n, D)) < 0.4, 0.3, np.uint64(2**61 + 12_345)
    p = (_floats(rng, D, D, h), *(_floats(rng, D, h) for _ in range(4)), _floats(rng, D, 1))
    w1, b1, gamma, beta, w2, b2 = p
    moments = np.stack([_floats(rng, D, h), np.abs(_floats(rng, D, h))])
    scale = np.stack([_floats(rng, D), 1 + rng.random(D), np.full(D, -4.0), np.full(D, 5.0)]).astype(np.float32)
    words = np.empty(D * n * -(-h // 4), np.uint64)
    fill_random(words, seed)
    kept = words.view(np.uint16).reshape(D, n, -1)[:, :, :h] >= round(dropout * 2**16)
    act = np.maximum(np.einsum("dnj,djh->dnh", sets, w1.astype(float)) + b1[:, None], 0) * kept / (1 - dropout)
    given = moments if known_moments else moments[:, :0]
    mean, variance = moments if known_moments else (act.mean(axis=1), act.var(axis=1))
    values = ((act - mean[:, None]) / np.sqrt(variance + 1e-5)[:, None] * gamma[:, None] + beta[:, None]) * w2[:, None]
    raw = scale[0][:, None] + scale[1][:, None] * (values.sum(axis=2) + b2)
    sizes = np.abs(scale[0])[:, None] + scale[1][:, None] * (np.abs(values).sum(axis=2) + np.abs(b2))
    for cuts in ([0, D], [0, 4, 5, D]):  # threads
        local = np.full((D, n), np.nan, np.float32)
        for first, last in pairwise(cuts):
            arguments = (given, scale, seed, dropout, 1e-5, local)
            compiled_draws.draw_rows(first, last, np.packbits(sets, axis=2), p, *arguments)
        assert (np.abs(local - np.clip(raw, -4, 5)) < 5e-6 * sizes).all()
        assert local.std() > 0.5
        if len(cuts) == 2:
            whole = local
        assert np.array_equal(local, whole)
    assert 0.69 < kept.mean() < 0.71 or n < 100


def test_prices_add_up(rng):
    sets = rng.random((D, N, D)) < 0.4
    empty, each, price = _floats(rng, D), _floats(rng, D, D), np.empty((D, N), np.float32)
    compiled_draws.add_prices(0, D, np.packbits(sets, axis=2), empty, each, price)
    assert price == pytest.approx(empty[:, None] + np.einsum("dnj,dj->dn", sets, each), abs=1e-5)
