"""Candidates of the trust region, their DAGs and their drawn values, compiled for the CPU.

The work follows what differs from the centre: only moved coordinates are drawn, only pairs with a moved node are
decoded again, and only families that changed are computed.
"""

from typing import Any

import numpy as np

from drbo.jit import numba
from drbo.search.paper.cpu import F32, add_rows, fill_random, random_word, sums_by_byte

#: Rows whose activations are summed in single precision before they are added to the sum in double precision.
ROWS_AT_A_TIME = 256


@numba.njit(cache=True, nogil=True)
def move(
    first: int,
    last: int,
    low: Any,  # (dim,)
    width: Any,  # (dim,)
    probability: float,
    directions: Any,  # (dim, bits): Sobol direction numbers; bits 0: uniform numbers
    shift: Any,  # (dim,)
    seed: Any,
    coordinate: Any,  # (C, room)
    value: Any,  # (C, room)
) -> None:
    """Draw which coordinates of a candidate move, and where to; free places of ``coordinate`` hold dim.

    Gaps between moved coordinates are geometric, so the cost is that of the moved ones.
    """
    dim, room, bits = low.shape[0], coordinate.shape[1], directions.shape[1]
    scale = 0.0 if probability >= 1.0 else 1.0 / np.log1p(-probability)
    unit = 2.0**-53
    for c in range(first, last):
        counter = np.uint64(seed) + np.uint64(c) * np.uint64(2 * room + 2)
        gray = np.uint32(c ^ (c >> 1))
        place, count = -1, 0
        while count < room:
            u = (random_word(counter + np.uint64(count)) >> np.uint64(11)) * unit
            place += 1 + (int(np.log1p(-u) * scale) if scale else 0)
            if place >= dim:
                break
            coordinate[c, count] = place
            count += 1
        if count == 0:  # at least one coordinate moves
            coordinate[c, 0] = int((random_word(counter + np.uint64(room)) >> np.uint64(11)) * unit * dim)
            count = 1
        for q in range(count, room):
            coordinate[c, q] = dim
        for q in range(count):
            place = coordinate[c, q]
            if bits == 0:
                u = (random_word(counter + np.uint64(room + 1 + q)) >> np.uint64(11)) * unit
            else:
                digits = shift[place]
                for b in range(bits):
                    digits ^= directions[place, b] * ((gray >> np.uint32(b)) & np.uint32(1))
                u = (digits + 0.5) * 2.0**-30
            value[c, q] = low[place] + width[place] * u


@numba.njit(cache=True, nogil=True)
def decode(
    first: int,
    last: int,
    vector: Any,  # (dim,): the centre; potentials already in their tiers
    rank: int,  # 0: one number per pair (full rank)
    pairs: Any,  # (d (d - 1) / 2, 2), full rank only
    tier: Any,  # (d,): what is added to a moved potential
    place: Any,  # (d, d): bit of parent i among the bits of node j at [j, i]; -1: not allowed
    parents: Any,  # (d, d): 1 where i is a parent of j in the centre's DAG at [j, i]
    center_codes: Any,  # (d, bytes)
    coordinate: Any,  # (n, room)
    value: Any,  # (n, room)
    codes: Any,  # (d, n, bytes): parent sets of the candidates
    changed: Any,  # (d, n): 1 where they differ from the centre's
) -> None:
    """Write the parent sets of candidates as bytes, by toggling what differs from the centre."""
    d, dim = tier.shape[0], vector.shape[0]
    potential = vector[:d].copy()
    links = np.empty((d, d) if rank == 0 else (rank, d), F32)  # numbers of the pairs, or embeddings
    if rank == 0:
        for q in range(pairs.shape[0]):
            links[pairs[q, 0], pairs[q, 1]] = links[pairs[q, 1], pairs[q, 0]] = vector[d + q]
    else:
        for q in range(d * rank):
            links[q % rank, q // rank] = vector[d + q]
    for j in range(d):
        for c in range(first, last):
            changed[j, c] = 0
            for q in range(codes.shape[2]):
                codes[j, c, q] = center_codes[j, q]
    touched = np.zeros(d, np.uint8)
    product = np.empty(d, F32)
    words = np.zeros(-(-d // 8), np.uint64)
    differs = words.view(np.uint8)
    children = parents.T.copy()
    for c in range(first, last):
        count = 0
        while count < coordinate.shape[1] and coordinate[c, count] < dim:
            q = coordinate[c, count]
            if q < d:
                potential[q] = value[c, count] + tier[q]
                touched[q] = 1
            elif rank == 0:
                i, j = pairs[q - d]
                links[i, j] = links[j, i] = value[c, count]
            else:
                links[(q - d) % rank, (q - d) // rank] = value[c, count]
                touched[(q - d) // rank] = 1
            count += 1
        for i in range(d):
            if not touched[i]:
                continue
            touched[i] = 2  # its pairs are done
            if rank == 0:
                product[:] = links[i]
            else:
                product[:] = F32(0.0)
                for k in range(rank):
                    for j in range(d):
                        product[j] += links[k, i] * links[k, j]
            own, theirs, height = parents[i], children[i], potential[i]
            for j in range(d):
                linked = np.uint8(product[j] > 0)
                forward = (linked & np.uint8(height < potential[j])) ^ theirs[j]
                differs[j] = forward | ((linked & np.uint8(potential[j] < height)) ^ own[j])
            for word in range(words.shape[0]):
                if words[word] == 0:  # eight pairs as in the centre
                    continue
                for j in range(8 * word, min(8 * word + 8, d)):
                    if differs[j] and touched[j] < 2:
                        linked = product[j] > 0
                        _toggle(linked and height < potential[j], parents, place, codes, changed, c, i, j)
                        _toggle(linked and potential[j] < height, parents, place, codes, changed, c, j, i)
        if rank == 0:
            for q in range(count):
                if coordinate[c, q] >= d:
                    i, j = pairs[coordinate[c, q] - d]
                    if touched[i] == 0 and touched[j] == 0:
                        linked = links[i, j] > 0
                        _toggle(linked and potential[i] < potential[j], parents, place, codes, changed, c, i, j)
                        _toggle(linked and potential[j] < potential[i], parents, place, codes, changed, c, j, i)
        for q in range(count):  # back to the centre
            at = coordinate[c, q]
            if at < d:
                potential[at] = vector[at]
                touched[at] = 0
            elif rank == 0:
                i, j = pairs[at - d]
                links[i, j] = links[j, i] = vector[at]
            else:
                links[(at - d) % rank, (at - d) // rank] = vector[at]
                touched[(at - d) // rank] = 0


@numba.njit(cache=True, nogil=True)
def _toggle(present: bool, parents: Any, place: Any, codes: Any, changed: Any, c: int, i: int, j: int) -> None:
    """Bring the edge i -> j of candidate c into line, where it is allowed at all."""
    at = place[j, i]
    if at >= 0 and present != parents[j, i]:
        codes[j, c, at >> 3] ^= np.uint8(128 >> (at & 7))
        changed[j, c] = 1


@numba.njit(cache=True, nogil=True, fastmath=True)
def draw_values(
    first: int,
    last: int,
    codes: Any,  # (d, n, bytes)
    changed: Any,  # (d, n)
    center_codes: Any,  # (d, bytes)
    w1: Any,  # (d, m, h)
    b1: Any,  # (d, h)
    output: Any,  # (d, h, S)
    offset: Any,  # (d, 1)
    scale: Any,  # (4, d): mean, spread, least and largest value
    local: Any,  # (d, n, S)
) -> None:
    """Write the drawn local values of candidates, for some of the nodes; the centre's where nothing changed."""
    h, n_draws = output.shape[1], output.shape[2]
    table, z = np.empty((codes.shape[2], 256, h), F32), np.empty(h, F32)
    at_center = np.empty(n_draws, F32)
    for node in range(first, last):
        sums_by_byte(w1[node], table)
        z[:] = b1[node]
        add_rows(z, table, center_codes[node])
        _values(z, output[node], offset[node, 0], scale[:, node], at_center)
        for c in range(codes.shape[1]):
            if changed[node, c]:
                z[:] = b1[node]
                add_rows(z, table, codes[node, c])
                _values(z, output[node], offset[node, 0], scale[:, node], local[node, c])
            else:
                local[node, c] = at_center


@numba.njit(cache=True, nogil=True, fastmath=True, inline="always")
def _values(z: Any, output: Any, offset: float, scale: Any, out: Any) -> None:
    """Set the values of all draws for one hidden layer; units in groups of eight, to store sums less often."""
    h, n_draws = output.shape
    out[:] = offset
    k = 0
    while k + 8 <= h:
        a, b = max(z[k], F32(0.0)), max(z[k + 1], F32(0.0))
        c, d = max(z[k + 2], F32(0.0)), max(z[k + 3], F32(0.0))
        e, f = max(z[k + 4], F32(0.0)), max(z[k + 5], F32(0.0))
        g, i = max(z[k + 6], F32(0.0)), max(z[k + 7], F32(0.0))
        w = output[k : k + 8]
        for s in range(n_draws):
            first = (a * w[0, s] + b * w[1, s]) + (c * w[2, s] + d * w[3, s])
            out[s] += first + ((e * w[4, s] + f * w[5, s]) + (g * w[6, s] + i * w[7, s]))
        k += 8
    while k < h:
        a = max(z[k], F32(0.0))
        for s in range(n_draws):
            out[s] += a * output[k, s]
        k += 1
    for s in range(n_draws):
        out[s] = min(max(scale[0] + scale[1] * out[s], scale[2]), scale[3])


@numba.njit(cache=True, nogil=True, fastmath=True)
def draw_rows(
    first: int,
    last: int,
    codes: Any,  # (d, n, bytes)
    p: Any,  # parameters: w1 (d, m, h), b1, gamma, beta, w2 (d, h), b2 (d, 1)
    moments: Any,  # (2, d, h): mean and variance of the activations; (2, 0, h): those of these candidates
    scale: Any,  # (4, d): mean, spread, least and largest value
    seed: Any,
    dropout: float,
    eps: float,
    local: Any,  # (d, n)
) -> None:
    """Write one drawn local value per candidate, each with a dropout mask of its own, for some of the nodes.

    A mask is drawn from the numbers of its node and candidate, so that it can be drawn twice: activations are not kept.
    """
    w1, b1, gamma, beta, w2, b2 = p
    n, h = codes.shape[1], w1.shape[2]
    table, z = np.empty((codes.shape[2], 256, h), F32), np.empty(h, F32)
    words = np.empty((h + 3) // 4, np.uint64)
    for node in range(first, last):
        sums_by_byte(w1[node], table)
        start = np.uint64(seed) + np.uint64(node * n * words.shape[0])
        if moments.shape[1]:
            mean, variance = moments[0, node], moments[1, node]
        else:
            mean, variance = _row_moments(z, table, codes[node], b1[node], words, start, dropout)
        v = gamma[node] * w2[node] / np.sqrt(variance + F32(eps))
        offset = b2[node, 0] + np.sum(beta[node] * w2[node]) - np.sum(mean * v)
        for c in range(n):
            _activate(z, table, codes[node, c], b1[node], words, start + np.uint64(c * words.shape[0]), dropout)
            value = offset
            for k in range(h):
                value += z[k] * v[k]
            local[node, c] = min(max(scale[0, node] + scale[1, node] * value, scale[2, node]), scale[3, node])


@numba.njit(cache=True, nogil=True, fastmath=True)
def _row_moments(z: Any, table: Any, codes: Any, b1: Any, words: Any, start: Any, dropout: float) -> Any:
    """Return mean and variance of the activations of all candidates."""
    n, h = codes.shape[0], z.shape[0]
    mean, second = np.zeros(h, np.float64), np.zeros(h, np.float64)
    part, part2 = np.empty(h, F32), np.empty(h, F32)
    for begin in range(0, n, ROWS_AT_A_TIME):
        part[:] = F32(0.0)
        part2[:] = F32(0.0)
        for c in range(begin, min(begin + ROWS_AT_A_TIME, n)):
            _activate(z, table, codes[c], b1, words, start + np.uint64(c * words.shape[0]), dropout)
            for k in range(h):
                part[k] += z[k]
                part2[k] += z[k] * z[k]
        mean += part
        second += part2
    mean /= n
    return mean.astype(F32), np.maximum(second / n - mean * mean, 0.0).astype(F32)


@numba.njit(cache=True, nogil=True, fastmath=True)
def _activate(z: Any, table: Any, code: Any, b1: Any, words: Any, start: Any, dropout: float) -> None:
    """Set the hidden layer of one parent set, under the dropout mask that begins at a counter."""
    threshold, keep = np.uint16(round(dropout * 65_536)), F32(1.0 / (1.0 - dropout))
    fill_random(words, start)
    coins = words.view(np.uint16)
    z[:] = b1
    add_rows(z, table, code)
    for k in range(z.shape[0]):
        z[k] = z[k] * keep if z[k] > 0 and coins[k] >= threshold else F32(0.0)


@numba.njit(cache=True, nogil=True, fastmath=True)
def add_prices(
    first: int,
    last: int,
    codes: Any,  # (d, n, bytes)
    empty: Any,  # (d,): price of no parents
    each: Any,  # (d, m): what a parent adds
    price: Any,  # (d, n)
) -> None:
    """Write prices that add up over parents, for some of the nodes."""
    table = np.empty((codes.shape[2], 256, 1), F32)
    for node in range(first, last):
        sums_by_byte(each[node].reshape(-1, 1), table)
        for c in range(codes.shape[1]):
            total = empty[node]
            for q in range(codes.shape[2]):
                total += table[q, codes[node, c, q], 0]
            price[node, c] = total
