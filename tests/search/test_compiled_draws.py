"""Moves and toggles are tested through the region and the spaces; here the values and prices of families."""

import numpy as np
import pytest

from drbo.search import compiled_draws

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


def test_prices_add_up(rng):
    sets = rng.random((D, N, D)) < 0.4
    empty, each, price = _floats(rng, D), _floats(rng, D, D), np.empty((D, N), np.float32)
    compiled_draws.add_prices(0, D, np.packbits(sets, axis=2), empty, each, price)
    assert price == pytest.approx(empty[:, None] + np.einsum("dnj,dj->dn", sets, each), abs=1e-5)
