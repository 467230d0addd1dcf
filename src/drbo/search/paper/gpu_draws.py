"""GPU kernels that draw candidates and predict their scores without storing parent sets or hidden layers in memory."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

#: Candidates, and parents at a time, of one block; candidates of one block that moves them.
BLOCK, PARENTS, MOVERS = 64, 32, 128


@triton.jit  # type: ignore[untyped-decorator]
def _moves(
    low: tl.tensor,  # (dim,)
    width: tl.tensor,  # (dim,)
    directions: tl.tensor,  # (dim, BITS) int32
    shift: tl.tensor,  # (dim,) int32
    seeds: tl.tensor,  # (1,)
    coordinate: tl.tensor,  # (room, C) int32
    value: tl.tensor,  # (room, C)
    log_stay: tl.tensor,  # logarithm of the probability that a coordinate stays
    unit: tl.tensor,  # of a Sobol point
    n_candidates: tl.tensor,
    dim: tl.tensor,
    room: tl.tensor,
    BITS: tl.constexpr,  # 0: plain uniform points
    BLOCK: tl.constexpr,
) -> None:
    """Set the moved coordinates of a block of candidates and their new values."""
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real, gray, seed = c < n_candidates, c ^ (c >> 1), tl.load(seeds)
    reached = tl.full((BLOCK,), -1, tl.int32)
    forced = (tl.rand(seed, room * n_candidates + c) * dim).to(tl.int32)
    for move in range(room):
        number = move * n_candidates + c
        gap = tl.log(1.0 - tl.rand(seed, number)) / log_stay  # geometric, rounded down
        reached = tl.minimum(reached + 1 + tl.minimum(gap, dim + 0.0).to(tl.int32), dim)
        moved = tl.where((move == 0) & (reached == dim), tl.minimum(forced, dim - 1), reached)
        place = tl.minimum(moved, dim - 1)  # free places get some value
        if BITS == 0:
            point = tl.rand(seed, (room + 1) * n_candidates + number)
        else:
            digits = tl.load(shift + place)
            for bit in tl.static_range(BITS):
                digits ^= tl.where((gray >> bit) & 1 == 1, tl.load(directions + place * BITS + bit), 0)
            point = (digits.to(tl.float32) + 0.5) * unit
        at = (tl.zeros((BLOCK,), tl.int64) + move) * n_candidates + c
        tl.store(coordinate + at, moved, mask=real)
        tl.store(value + at, tl.load(low + place) + tl.load(width + place) * point, mask=real)


def move(
    n: int,
    room: int,
    log_stay: float,
    cube: tuple[Tensor, Tensor],  # low and width (dim,)
    sobol: tuple[Tensor, Tensor],  # directions (dim, bits) and shift (dim,)
    unit: float,
    seed: Tensor,  # (1,) int64
) -> tuple[Tensor, Tensor]:
    """Return moved coordinates (room, n), free places dim, and their new values."""
    dim, bits = sobol[0].shape
    coordinate, value = seed.new_empty(room, n, dtype=torch.int32), cube[0].new_empty(room, n)
    arrays = [tensor.contiguous() for tensor in (*cube, *sobol, seed)]
    grid = (triton.cdiv(n, MOVERS),)
    _moves[grid](*arrays, coordinate, value, log_stay, unit, n, dim, room, BITS=bits, BLOCK=MOVERS)
    return coordinate, value


@triton.jit  # type: ignore[untyped-decorator]
def _links(
    vectors: tl.tensor,  # (dim, C)
    own: tl.tensor,  # row of the node's own embedding
    row: tl.tensor,
    c: tl.tensor,
    there: tl.tensor,
    size: tl.tensor,
    RANK: tl.constexpr,
    BLOCK: tl.constexpr,
    PARENTS: tl.constexpr,
) -> tl.tensor:
    """Return the number of each pair of parent and node (parents, candidates): they are linked where it is positive."""
    if RANK == 0:
        link = tl.load(vectors + row[:, None] * size + c[None, :], mask=there, other=-1.0)
    else:
        link = tl.zeros((PARENTS, BLOCK), tl.float32)
        for k in tl.static_range(RANK):
            mine = tl.load(vectors + (own + k) * size + c, mask=c < size, other=0.0)
            link += mine[None, :] * tl.load(vectors + (row[:, None] + k) * size + c[None, :], mask=there, other=0.0)
    return link


@triton.jit  # type: ignore[untyped-decorator]
def _predictions(
    hidden: tl.tensor,  # (h, candidates)
    output: tl.tensor,
    offset: tl.tensor,
    scale: tl.tensor,
    node: tl.tensor,
    n_nodes: tl.tensor,
    n_hidden: tl.tensor,
    n_draws: tl.tensor,
    HIDDEN: tl.constexpr,
    DRAWS: tl.constexpr,
) -> tl.tensor:
    """Return the drawn local scores (draws, candidates) from the hidden units: scaled back and within their range."""
    unit, draw = tl.arange(0, HIDDEN), tl.arange(0, DRAWS)
    v = tl.load(
        output + (node * n_hidden + unit[None, :]) * n_draws + draw[:, None],
        mask=(unit < n_hidden)[None, :] & (draw < n_draws)[:, None],
        other=0.0,
    )
    value = tl.dot(v, tl.maximum(hidden, 0.0), input_precision="tf32x3") + tl.load(offset + node)
    value = tl.load(scale + node) + tl.load(scale + n_nodes + node) * value
    value = tl.maximum(value, tl.load(scale + 2 * n_nodes + node))
    return tl.minimum(value, tl.load(scale + 3 * n_nodes + node))


@triton.jit  # type: ignore[untyped-decorator]
def _values(
    vectors: tl.tensor,  # (dim, C)
    parents: tl.tensor,  # (d, m) int32: the parent behind an input; -1: none
    rows: tl.tensor,  # (d, m) int32: row of the parent's embedding, or of the pair's number
    weight1: tl.tensor,  # (d, m, h)
    bias1: tl.tensor,  # (d, h)
    output: tl.tensor,  # (d, h, S)
    offset: tl.tensor,  # (d,)
    scale: tl.tensor,  # (4, d)
    empty: tl.tensor,  # (d,): price of no parents
    each: tl.tensor,  # (d, m): what a parent adds
    local: tl.tensor,  # (d, S, C)
    price: tl.tensor,  # (d, C)
    n_candidates: tl.tensor,
    n_nodes: tl.tensor,
    n_hidden: tl.tensor,
    n_draws: tl.tensor,
    n_inputs: tl.constexpr,
    RANK: tl.constexpr,  # 0: one number per pair
    HIDDEN: tl.constexpr,
    DRAWS: tl.constexpr,
    BLOCK: tl.constexpr,
    PARENTS: tl.constexpr,
) -> None:
    """Set the drawn local scores and the prices of one node for a block of candidates."""
    node = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    real, size = c < n_candidates, n_candidates.to(tl.int64)
    unit, draw = tl.arange(0, HIDDEN), tl.arange(0, DRAWS)
    height = tl.load(vectors + node * size + c, mask=real, other=0.0)
    hidden = tl.load(bias1 + node * n_hidden + unit, mask=unit < n_hidden, other=0.0)[:, None]
    hidden = hidden + tl.zeros((HIDDEN, BLOCK), tl.float32)
    total = tl.load(empty + node) + tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n_inputs, PARENTS):
        q = start + tl.arange(0, PARENTS)
        place, inside = node * n_inputs + q, q < n_inputs
        parent = tl.load(parents + place, mask=inside, other=-1)
        there = (parent >= 0)[:, None] & real[None, :]
        before = vectors + tl.maximum(parent, 0).to(tl.int64)[:, None] * size + c[None, :]
        earlier = tl.load(before, mask=there, other=0.0) < height[None, :]
        row = tl.load(rows + place, mask=inside, other=0).to(tl.int64)
        link = _links(vectors, n_nodes + node * RANK, row, c, there, size, RANK, BLOCK, PARENTS)
        chosen = tl.where(there & earlier & (link > 0), 1.0, 0.0)
        total += tl.sum(chosen * tl.load(each + place, mask=inside, other=0.0)[:, None], axis=0)
        w = tl.load(
            weight1 + place.to(tl.int64)[None, :] * n_hidden + unit[:, None],
            mask=inside[None, :] & (unit < n_hidden)[:, None],
            other=0.0,
        )
        hidden += tl.dot(w, chosen, input_precision="tf32x3")
    value = _predictions(hidden, output, offset, scale, node, n_nodes, n_hidden, n_draws, HIDDEN, DRAWS)
    at = (node * n_draws + draw[:, None]) * size + c[None, :]
    tl.store(local + at, value, mask=(draw < n_draws)[:, None] & real[None, :])
    tl.store(price + node * size + c, total, mask=real)


def draw_values(
    vectors: Tensor,  # (dim, C): candidates as columns; potentials in their tiers
    rank: int,
    parents: Tensor,  # (d, m) int32
    rows: Tensor,  # (d, m) int32
    function: tuple[Tensor, ...],  # weight1 (d, m, h), bias1 (d, h), output (d, h, S), offset (d, 1), scale (4, d)
    prices: tuple[Tensor, ...],  # (d,), (d, m)
) -> tuple[Tensor, Tensor]:
    """Return the drawn local values (d, S, C) and the prices (d, C) of candidates."""
    n, (d, m), (h, n_draws) = vectors.shape[1], parents.shape, function[2].shape[1:]
    local, price = vectors.new_empty(d, n_draws, n), vectors.new_empty(d, n)
    tensors: list[Any] = [vectors, parents, rows, *function, *prices, local, price]
    grid = (d, triton.cdiv(n, BLOCK))  # nodes first: blocks that run together share their candidates
    _values[grid](
        *(tensor.contiguous() for tensor in tensors),
        n,
        d,
        h,
        n_draws,
        n_inputs=m,
        RANK=rank,
        HIDDEN=max(16, triton.next_power_of_2(h)),
        DRAWS=max(16, triton.next_power_of_2(n_draws)),
        BLOCK=BLOCK,
        PARENTS=PARENTS,
        num_stages=1,  # buffers for prefetching would fill the chip's memory
    )
    return local, price


def as_columns(
    center: Tensor,  # (dim,)
    coordinate: Tensor,  # (C, room)
    value: Tensor,  # (C, room)
) -> Tensor:
    """Return candidates written out as columns (dim + 1, C or a few more), the centre where there are more.

    Rows of a whole number of blocks begin at addresses from which the kernel can load several numbers at once; without
    that it is many times slower.
    """
    room = -(-len(coordinate) // BLOCK) * BLOCK
    columns = nn.functional.pad(center, (0, 1))[:, None].repeat(1, room)
    return columns.scatter_(0, coordinate.T.long(), value.T)
