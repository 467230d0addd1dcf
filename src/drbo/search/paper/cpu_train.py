"""One training step of the networks, compiled for the CPU: everything about a node while it is in the cache.

The formulas are those of ``DropoutSurrogate._step``, which is the version for a GPU.
"""

from typing import Any

import numpy as np

from drbo.jit import numba
from drbo.search.paper.cpu import F32, add_rows, fill_random, fold_bytes, sums_by_byte


@numba.njit(cache=True, nogil=True, fastmath=True)
def gradients(
    first: int,
    last: int,
    codes: Any,  # (d, N, bytes): parent sets of the training batch
    local: Any,  # (d, N): their local scores
    scale: Any,  # (2, d): mean and spread of the targets
    p: Any,  # parameters: w1 (d, m, h), b1, gamma, beta, w2 (d, h), b2 (d, 1)
    g: Any,  # their gradients
    seed: Any,
    dropout: float,
    eps: float,
    squares: Any,  # (d,): squared norm of each node's gradient
) -> None:
    """Write the gradient of the square loss, for some of the nodes."""
    w1, b1, gamma, beta, w2, b2 = p
    g1, gb1, ggamma, gbeta, gw2, gb2 = g
    n, h, n_bytes = codes.shape[1], w1.shape[2], codes.shape[2]
    act, residual = np.empty((n, h), F32), np.empty(n, F32)
    table, back = np.empty((n_bytes, 256, h), F32), np.empty((n_bytes, 256, h), F32)
    words = np.empty((n * h + 3) // 4, np.uint64)
    for node in range(first, last):
        sums_by_byte(w1[node], table)
        fill_random(words, np.uint64(seed) + np.uint64(node * words.shape[0]))
        mu, inv_sigma = _forward(act, table, codes[node], b1[node], words.view(np.uint16), dropout, eps)
        v = gamma[node] * w2[node] * inv_sigma
        offset = b2[node, 0] + np.sum(beta[node] * w2[node]) - np.sum(mu * v)
        factor = F32(2.0 / (n * w1.shape[0])) / scale[1, node]  # the loss is the mean over rows and nodes
        against = np.zeros(h, F32)  # sum of residual times activation
        total = F32(0.0)
        for r in range(n):
            z, output = act[r], offset
            for k in range(h):
                output += z[k] * v[k]
            e = (output * scale[1, node] + scale[0, node] - local[node, r]) * factor
            residual[r] = e
            total += e
            for k in range(h):
                against[k] += e * z[k]
        centred = (against - mu * total) * inv_sigma
        ggamma[node] = centred * w2[node]
        gw2[node] = centred * gamma[node] + total * beta[node]
        gbeta[node] = total * w2[node]
        gb2[node, 0] = total
        slope = v * centred * inv_sigma / F32(n)
        _backward(act, back, codes[node], residual, v, slope, slope * mu - v * total / F32(n), dropout, gb1[node])
        fold_bytes(back, g1[node])
        squares[node] = (
            total * total
            + np.sum(ggamma[node] ** 2)
            + np.sum(gw2[node] ** 2)
            + np.sum(gbeta[node] ** 2)
            + np.sum(gb1[node] ** 2)
            + np.sum(g1[node] ** 2)
        )


@numba.njit(cache=True, nogil=True, fastmath=True)
def _forward(act: Any, table: Any, codes: Any, b1: Any, coins: Any, dropout: float, eps: float) -> Any:
    """Set the activations, dropped units 0; return their mean and one over their standard deviation."""
    n, h = act.shape
    threshold, keep = np.uint16(round(dropout * 65_536)), F32(1.0 / (1.0 - dropout))
    mean, second = np.zeros(h, F32), np.zeros(h, F32)
    for r in range(n):
        z, coin = act[r], coins[r * h : (r + 1) * h]
        z[:] = b1
        add_rows(z, table, codes[r])
        for k in range(h):
            x = z[k] * keep if z[k] > 0 and coin[k] >= threshold else F32(0.0)
            z[k] = x
            mean[k] += x
            second[k] += x * x
    mean /= F32(n)
    return mean, F32(1.0) / np.sqrt(np.maximum(second / F32(n) - mean * mean, F32(0.0)) + F32(eps))


@numba.njit(cache=True, nogil=True, fastmath=True)
def _backward(
    act: Any,
    back: Any,
    codes: Any,
    residual: Any,
    v: Any,
    slope: Any,
    base: Any,
    dropout: float,
    gb1: Any,
) -> None:
    """Collect the gradient of the hidden layer by byte of the parent sets; the activations are used up."""
    n, h = act.shape
    keep = F32(1.0 / (1.0 - dropout))
    back[:] = F32(0.0)
    gb1[:] = F32(0.0)
    for r in range(n):
        z, e, code = act[r], residual[r], codes[r]
        for k in range(h):
            x = (e * v[k] + base[k] - z[k] * slope[k]) * keep if z[k] > 0 else F32(0.0)
            z[k] = x
            gb1[k] += x
        for q in range(code.shape[0]):
            row = back[q, code[q]]
            for k in range(h):
                row[k] += z[k]


@numba.njit(cache=True, nogil=True)  # without fastmath: no element may depend on where threads cut the array
def adam(
    first: int,
    last: int,
    flat: Any,
    moment1: Any,
    moment2: Any,
    gradient: Any,
    clip: float,  # factor that brings the gradient's norm down
    betas: Any,
    rate: float,  # with the correction of the first moment
    correction2: float,
    eps: float,
) -> None:
    """Take one step of Adam (Kingma & Ba 2015) on a part of the parameters."""
    factor, pace, second, least = F32(clip), F32(rate), F32(correction2), F32(eps)
    new1, new2 = F32(1.0 - betas[0]), F32(1.0 - betas[1])
    for i in range(first, last):
        x = gradient[i] * factor
        a = moment1[i] + new1 * (x - moment1[i])
        b = moment2[i] + new2 * (x * x - moment2[i])
        moment1[i] = a
        moment2[i] = b
        flat[i] -= pace * a / (np.sqrt(b * second) + least)


@numba.njit(cache=True, nogil=True, fastmath=True)
def activation_moments(
    first: int,
    last: int,
    codes: Any,  # (d, R, bytes)
    rows: Any,  # (N,)
    w1: Any,  # (d, m, h)
    b1: Any,  # (d, h)
    mean: Any,  # (d, h)
    second: Any,  # (d, h)
) -> None:
    """Set mean and mean square of the activations without dropout, for some of the nodes."""
    h = w1.shape[2]
    table, z = np.empty((codes.shape[2], 256, h), F32), np.empty(h, F32)
    for node in range(first, last):
        sums_by_byte(w1[node], table)
        mean[node] = F32(0.0)
        second[node] = F32(0.0)
        for r in range(rows.shape[0]):
            z[:] = b1[node]
            add_rows(z, table, codes[node, rows[r]])
            for k in range(h):
                x = max(z[k], F32(0.0))
                mean[node, k] += x
                second[node, k] += x * x
        mean[node] /= F32(rows.shape[0])
        second[node] /= F32(rows.shape[0])
