"""GPU kernels for the training steps of the networks in :class:`drbo.search.paper.networks.DropoutSurrogate`."""

from typing import NamedTuple

import triton
import triton.language as tl
from torch import Tensor

#: Rows, and inputs at a time, of one block; parameters of one block of Adam's step.
ROWS, INPUTS, BLOCK = 128, 32, 1_024
#: Warps of a block of rows: few, so that several networks share a multiprocessor.
WARPS = 4


class Rules(NamedTuple):
    """Constants of a training step."""

    threshold: int  # a unit is kept whose coin is at least this
    keep: float  # factor of a kept unit
    eps: float  # of the batch norm
    clip: float  # largest norm of the gradient
    betas: tuple[float, float]  # of Adam
    adam_eps: float


@triton.jit
def _seen(codes, row, column, n_rows, n_inputs, n_bytes):  # type: ignore[no-untyped-def]
    """Return the 0.0/1.0 inputs (rows, columns) of a block from their bits."""
    there = (row < n_rows)[:, None] & (column < n_inputs)[None, :]
    byte = tl.load(codes + row[:, None] * n_bytes + (column >> 3)[None, :], mask=there, other=0).to(tl.int32)
    return ((byte >> (7 - (column & 7))[None, :]) & 1).to(tl.float32)


@triton.jit(do_not_specialize=["step"])  # type: ignore[untyped-decorator]
def _gradients(  # type: ignore[no-untyped-def]
    flat,  # w1 (d, m, h), b1, gamma, beta, w2 (d, h), b2 (d,)
    gradient,  # the same
    squares,  # (d,): squared norm of each network's gradient
    codes,  # (G, d, N, bytes) uint8
    targets,  # (G, d, N)
    coins,  # (G, d, N, h) int16
    act,  # (d, N, h): activations, then the gradient with respect to what goes into them
    residual,  # (d, N)
    step,
    n_nodes,
    n_rows,
    n_bytes,
    n_hidden,
    threshold,
    keep,
    eps,
    n_inputs: tl.constexpr,
    HIDDEN: tl.constexpr,
    ROWS: tl.constexpr,
    INPUTS: tl.constexpr,
):
    """Set the gradient of one network: the formulas of ``DropoutSurrogate._gradients``.

    The function is long because Triton compiles one function into one kernel, which keeps its values on the chip.
    """
    network = tl.program_id(0)
    unit, q = tl.arange(0, HIDDEN), tl.arange(0, INPUTS)
    real = unit < n_hidden
    side = n_nodes * n_hidden
    small = n_nodes * n_inputs * n_hidden + network * n_hidden  # where its first vector begins
    last = n_nodes * n_inputs * n_hidden + 4 * side + network  # where its one number is
    b1 = tl.load(flat + small + unit, mask=real, other=0.0)
    gamma = tl.load(flat + small + side + unit, mask=real, other=0.0)
    beta = tl.load(flat + small + 2 * side + unit, mask=real, other=0.0)
    w2 = tl.load(flat + small + 3 * side + unit, mask=real, other=0.0)
    number = (step * n_nodes + network).to(tl.int64)
    codes += number * n_rows * n_bytes
    targets += number * n_rows
    coins += number * n_rows * n_hidden
    act += network.to(tl.int64) * n_rows * n_hidden
    residual += network * n_rows

    sums, squared = tl.zeros((HIDDEN,), tl.float32), tl.zeros((HIDDEN,), tl.float32)
    for start in range(0, n_rows, ROWS):
        row = start + tl.arange(0, ROWS)
        hidden = b1[None, :] + tl.zeros((ROWS, HIDDEN), tl.float32)
        for first in range(0, n_inputs, INPUTS):
            column = first + q
            w1 = tl.load(
                flat + (network * n_inputs + column)[:, None] * n_hidden + unit[None, :],
                mask=(column < n_inputs)[:, None] & real[None, :],
                other=0.0,
            )
            hidden += tl.dot(_seen(codes, row, column, n_rows, n_inputs, n_bytes), w1, input_precision="tf32x3")
        at = row[:, None] * n_hidden + unit[None, :]
        there = (row < n_rows)[:, None] & real[None, :]
        kept = tl.load(coins + at, mask=there, other=0).to(tl.int32) >= threshold
        a = tl.where(kept & there, tl.maximum(hidden, 0.0) * keep, 0.0)
        tl.store(act + at, a, mask=there)
        sums += tl.sum(a, axis=0)
        squared += tl.sum(a * a, axis=0)
    tl.debug_barrier()  # what other threads of the block have written is read below

    mu = sums / n_rows
    inv_sigma = 1.0 / tl.sqrt(tl.maximum(squared / n_rows - mu * mu, 0.0) + eps)
    v = gamma * w2 * inv_sigma
    offset = tl.sum(beta * w2, axis=0) + tl.load(flat + last) - tl.sum(mu * v, axis=0)
    total, weighted = 0.0, tl.zeros((HIDDEN,), tl.float32)
    for start in range(0, n_rows, ROWS):
        row = start + tl.arange(0, ROWS)
        at = row[:, None] * n_hidden + unit[None, :]
        a = tl.load(act + at, mask=(row < n_rows)[:, None] & real[None, :], other=0.0)
        r = tl.sum(a * v[None, :], axis=1) + offset - tl.load(targets + row, mask=row < n_rows, other=0.0)
        r = tl.where(row < n_rows, r * (2.0 / (n_nodes * n_rows)), 0.0)
        tl.store(residual + row, r, mask=row < n_rows)
        total += tl.sum(r, axis=0)
        weighted += tl.sum(r[:, None] * a, axis=0)
    tl.debug_barrier()

    centred = (weighted - mu * total) * inv_sigma
    slope = v * centred * inv_sigma / n_rows
    level = slope * mu - v * total / n_rows
    g_b1 = tl.zeros((HIDDEN,), tl.float32)
    for start in range(0, n_rows, ROWS):
        row = start + tl.arange(0, ROWS)
        at = row[:, None] * n_hidden + unit[None, :]
        there = (row < n_rows)[:, None] & real[None, :]
        a = tl.load(act + at, mask=there, other=0.0)
        r = tl.load(residual + row, mask=row < n_rows, other=0.0)
        back = tl.where(a > 0, (level[None, :] + r[:, None] * v[None, :] - a * slope[None, :]) * keep, 0.0)
        tl.store(act + at, back, mask=there)
        g_b1 += tl.sum(back, axis=0)
    tl.debug_barrier()

    g_gamma, g_beta, g_w2 = centred * w2, total * w2, centred * gamma + total * beta
    tl.store(gradient + small + unit, g_b1, mask=real)
    tl.store(gradient + small + side + unit, g_gamma, mask=real)
    tl.store(gradient + small + 2 * side + unit, g_beta, mask=real)
    tl.store(gradient + small + 3 * side + unit, g_w2, mask=real)
    tl.store(gradient + last, total)
    square = total * total + tl.sum(g_b1 * g_b1 + g_gamma * g_gamma + g_beta * g_beta + g_w2 * g_w2, axis=0)
    for first in range(0, n_inputs, INPUTS):
        column = first + q
        g_w1 = tl.zeros((INPUTS, HIDDEN), tl.float32)
        for start in range(0, n_rows, ROWS):
            row = start + tl.arange(0, ROWS)
            there = (row < n_rows)[:, None] & real[None, :]
            back = tl.load(act + row[:, None] * n_hidden + unit[None, :], mask=there, other=0.0)
            seen = _seen(codes, row, column, n_rows, n_inputs, n_bytes)
            g_w1 += tl.dot(tl.trans(seen), back, input_precision="tf32x3")
        at = (network * n_inputs + column)[:, None] * n_hidden + unit[None, :]
        tl.store(gradient + at, g_w1, mask=(column < n_inputs)[:, None] & real[None, :])
        square += tl.sum(tl.sum(g_w1 * g_w1, axis=1), axis=0)
    tl.store(squares + network, square)


@triton.jit(do_not_specialize=["step"])  # type: ignore[untyped-decorator]
def _adam(  # type: ignore[no-untyped-def]
    flat,
    gradient,
    squares,
    moment1,
    moment2,
    corrections,  # (G, 2): rate and factor of the second moment
    step,
    n_nodes,
    n_hidden,
    clip,
    beta1,
    beta2,
    eps,
    n_inputs: tl.constexpr,
    NODES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Clip the norm of the gradient and take a step of Adam: a block of w1 of one network, or all its rest."""
    network, block = tl.program_id(0), tl.program_id(1)
    node = tl.arange(0, NODES)
    norm = tl.sqrt(tl.sum(tl.load(squares + node, mask=node < n_nodes, other=0.0), axis=0))
    shrink = tl.minimum(clip / (norm + 1e-6), 1.0)
    large, side = n_inputs * n_hidden, n_nodes * n_hidden
    index = block * BLOCK + tl.arange(0, BLOCK)
    if block < tl.cdiv(large, BLOCK):
        at, real = network * large + index, index < large
    else:
        rest = index - tl.cdiv(large, BLOCK) * BLOCK
        at = n_nodes * large + rest // n_hidden * side
        at += tl.where(rest < 4 * n_hidden, network * n_hidden + rest % n_hidden, network)
        real = rest < 4 * n_hidden + 1
    g = tl.load(gradient + at, mask=real, other=0.0) * shrink
    m1 = tl.load(moment1 + at, mask=real, other=0.0)
    m2 = tl.load(moment2 + at, mask=real, other=0.0)
    m1 += (1.0 - beta1) * (g - m1)
    m2 = beta2 * m2 + (1.0 - beta2) * g * g
    rate, factor = tl.load(corrections + 2 * step), tl.load(corrections + 2 * step + 1)
    value = tl.load(flat + at, mask=real, other=0.0)
    tl.store(moment1 + at, m1, mask=real)
    tl.store(moment2 + at, m2, mask=real)
    tl.store(flat + at, value - rate * m1 / (tl.sqrt(m2 * factor) + eps), mask=real)


def train(
    parts: tuple[Tensor, Tensor, Tensor, Tensor],  # parameters, both moments and gradient, each flat
    codes: Tensor,  # (G, d, N, bytes) uint8
    targets: Tensor,  # (G, d, N)
    coins: Tensor,  # (G, units) int16
    corrections: Tensor,  # (G, 2)
    n_inputs: int,
    n_hidden: int,
    rules: Rules,
) -> None:
    """Take G steps of Adam; all tensors are contiguous."""
    flat, moment1, moment2, gradient = parts
    n_steps, d, n_rows, n_bytes = codes.shape
    squares, residual = flat.new_empty(d), flat.new_empty(d, n_rows)
    act = flat.new_empty(d, n_rows, n_hidden)
    blocks = triton.cdiv(n_inputs * n_hidden, BLOCK) + triton.cdiv(4 * n_hidden + 1, BLOCK)
    hidden = max(16, triton.next_power_of_2(n_hidden))
    for step in range(n_steps):
        _gradients[(d,)](
            flat, gradient, squares, codes, targets, coins, act, residual,
            step, d, n_rows, n_bytes, n_hidden, rules.threshold, rules.keep, rules.eps,
            n_inputs=n_inputs, HIDDEN=hidden, ROWS=ROWS, INPUTS=INPUTS, num_warps=WARPS,
        )  # fmt: skip
        _adam[(d, blocks)](
            flat, gradient, squares, moment1, moment2, corrections,
            step, d, n_hidden, rules.clip, *rules.betas, rules.adam_eps,
            n_inputs=n_inputs, NODES=triton.next_power_of_2(d), BLOCK=BLOCK,
        )  # fmt: skip
