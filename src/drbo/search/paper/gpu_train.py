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


@triton.jit  # type: ignore[untyped-decorator]
def _seen(
    codes: tl.tensor, row: tl.tensor, column: tl.tensor, n_rows: tl.tensor, n_inputs: tl.tensor, n_bytes: tl.tensor
) -> tl.tensor:
    """Return the 0.0/1.0 inputs (rows, columns) of a block from their bits."""
    there = (row < n_rows)[:, None] & (column < n_inputs)[None, :]
    byte = tl.load(codes + row[:, None] * n_bytes + (column >> 3)[None, :], mask=there, other=0).to(tl.int32)
    return ((byte >> (7 - (column & 7))[None, :]) & 1).to(tl.float32)


@triton.jit  # type: ignore[untyped-decorator]
def _places(row: tl.tensor, unit: tl.tensor, n_rows: tl.tensor, n_hidden: tl.tensor) -> tuple[tl.tensor, tl.tensor]:
    """Return where the hidden units of a block of rows are in memory, and which of them exist."""
    return row[:, None] * n_hidden + unit[None, :], (row < n_rows)[:, None] & (unit < n_hidden)[None, :]


@triton.jit  # type: ignore[untyped-decorator]
def _activations(
    act: tl.tensor, weight1: tl.tensor, b1: tl.tensor, codes: tl.tensor, coins: tl.tensor,
    threshold: tl.tensor, keep: tl.tensor, n_rows: tl.tensor, n_bytes: tl.tensor, n_hidden: tl.tensor,
    n_inputs: tl.constexpr, HIDDEN: tl.constexpr, ROWS: tl.constexpr, INPUTS: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:  # fmt: skip
    """Set the activations of the hidden units, and return their sums and sums of squares over the rows."""
    unit = tl.arange(0, HIDDEN)
    sums, squared = tl.zeros((HIDDEN,), tl.float32), tl.zeros((HIDDEN,), tl.float32)
    for start in range(0, n_rows, ROWS):
        row = start + tl.arange(0, ROWS)
        hidden = b1[None, :] + tl.zeros((ROWS, HIDDEN), tl.float32)
        for first in range(0, n_inputs, INPUTS):
            column = first + tl.arange(0, INPUTS)
            at, there = _places(column, unit, n_inputs, n_hidden)
            w1 = tl.load(weight1 + at, mask=there, other=0.0)
            hidden += tl.dot(_seen(codes, row, column, n_rows, n_inputs, n_bytes), w1, input_precision="tf32x3")
        at, there = _places(row, unit, n_rows, n_hidden)
        kept = tl.load(coins + at, mask=there, other=0).to(tl.int32) >= threshold
        a = tl.where(kept & there, tl.maximum(hidden, 0.0) * keep, 0.0)
        tl.store(act + at, a, mask=there)
        sums += tl.sum(a, axis=0)
        squared += tl.sum(a * a, axis=0)
    return sums, squared


@triton.jit  # type: ignore[untyped-decorator]
def _residuals(
    residual: tl.tensor, act: tl.tensor, targets: tl.tensor, v: tl.tensor, offset: tl.tensor, factor: tl.tensor,
    n_rows: tl.tensor, n_hidden: tl.tensor, HIDDEN: tl.constexpr, ROWS: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:  # fmt: skip
    """Set the gradient with respect to each prediction, and return its sum, plain and weighted by the activations."""
    unit = tl.arange(0, HIDDEN)
    total, weighted = 0.0, tl.zeros((HIDDEN,), tl.float32)
    for start in range(0, n_rows, ROWS):
        row = start + tl.arange(0, ROWS)
        at, there = _places(row, unit, n_rows, n_hidden)
        a = tl.load(act + at, mask=there, other=0.0)
        r = tl.sum(a * v[None, :], axis=1) + offset - tl.load(targets + row, mask=row < n_rows, other=0.0)
        r = tl.where(row < n_rows, r * factor, 0.0)
        tl.store(residual + row, r, mask=row < n_rows)
        total += tl.sum(r, axis=0)
        weighted += tl.sum(r[:, None] * a, axis=0)
    return total, weighted


@triton.jit  # type: ignore[untyped-decorator]
def _backward(
    act: tl.tensor, residual: tl.tensor, v: tl.tensor, slope: tl.tensor, level: tl.tensor, keep: tl.tensor,
    n_rows: tl.tensor, n_hidden: tl.tensor, HIDDEN: tl.constexpr, ROWS: tl.constexpr,
) -> tl.tensor:  # fmt: skip
    """Replace the activations by the gradient with respect to what goes into them, and return its sum over the rows."""
    unit = tl.arange(0, HIDDEN)
    sums = tl.zeros((HIDDEN,), tl.float32)
    for start in range(0, n_rows, ROWS):
        row = start + tl.arange(0, ROWS)
        at, there = _places(row, unit, n_rows, n_hidden)
        a = tl.load(act + at, mask=there, other=0.0)
        r = tl.load(residual + row, mask=row < n_rows, other=0.0)
        back = tl.where(a > 0, (level[None, :] + r[:, None] * v[None, :] - a * slope[None, :]) * keep, 0.0)
        tl.store(act + at, back, mask=there)
        sums += tl.sum(back, axis=0)
    return sums


@triton.jit  # type: ignore[untyped-decorator]
def _first_layer(
    gradient1: tl.tensor, back: tl.tensor, codes: tl.tensor, n_rows: tl.tensor, n_bytes: tl.tensor, n_hidden: tl.tensor,
    n_inputs: tl.constexpr, HIDDEN: tl.constexpr, ROWS: tl.constexpr, INPUTS: tl.constexpr,
) -> tl.tensor:  # fmt: skip
    """Set the gradient of the first layer's weights, and return its squared norm."""
    unit = tl.arange(0, HIDDEN)
    square = 0.0
    for first in range(0, n_inputs, INPUTS):
        column = first + tl.arange(0, INPUTS)
        g_w1 = tl.zeros((INPUTS, HIDDEN), tl.float32)
        for start in range(0, n_rows, ROWS):
            row = start + tl.arange(0, ROWS)
            at, there = _places(row, unit, n_rows, n_hidden)
            seen = _seen(codes, row, column, n_rows, n_inputs, n_bytes)
            g_w1 += tl.dot(tl.trans(seen), tl.load(back + at, mask=there, other=0.0), input_precision="tf32x3")
        at, there = _places(column, unit, n_inputs, n_hidden)
        tl.store(gradient1 + at, g_w1, mask=there)
        square += tl.sum(tl.sum(g_w1 * g_w1, axis=1), axis=0)
    return square


@triton.jit  # type: ignore[untyped-decorator]
def _vectors(
    place: tl.tensor, g_b1: tl.tensor, g_gamma: tl.tensor, g_beta: tl.tensor, g_w2: tl.tensor, side: tl.tensor,
    real: tl.tensor,
) -> tl.tensor:  # fmt: skip
    """Set the gradients of the four vectors of a network, and return their squared norm."""
    tl.store(place, g_b1, mask=real)
    tl.store(place + side, g_gamma, mask=real)
    tl.store(place + 2 * side, g_beta, mask=real)
    tl.store(place + 3 * side, g_w2, mask=real)
    return tl.sum(g_b1 * g_b1 + g_gamma * g_gamma + g_beta * g_beta + g_w2 * g_w2, axis=0)


@triton.jit(do_not_specialize=["step"])  # type: ignore[untyped-decorator]
def _gradients(
    flat: tl.tensor,  # w1 (d, m, h), b1, gamma, beta, w2 (d, h), b2 (d,)
    gradient: tl.tensor,  # the same
    squares: tl.tensor,  # (d,): squared norm of each network's gradient
    codes: tl.tensor,  # (G, d, N, bytes) uint8
    targets: tl.tensor,  # (G, d, N)
    coins: tl.tensor,  # (G, d, N, h) int16
    act: tl.tensor,  # (d, N, h): activations, then the gradient with respect to what goes into them
    residual: tl.tensor,  # (d, N)
    step: tl.tensor,
    n_nodes: tl.tensor,
    n_rows: tl.tensor,
    n_bytes: tl.tensor,
    n_hidden: tl.tensor,
    threshold: tl.tensor,
    keep: tl.tensor,
    eps: tl.tensor,
    n_inputs: tl.constexpr,
    HIDDEN: tl.constexpr,
    ROWS: tl.constexpr,
    INPUTS: tl.constexpr,
) -> None:
    """Set the gradient of one network: the formulas of ``DropoutSurrogate._gradients``."""
    network, unit = tl.program_id(0), tl.arange(0, HIDDEN)
    number, real, side = (step * n_nodes + network).to(tl.int64), unit < n_hidden, n_nodes * n_hidden
    codes += number * n_rows * n_bytes
    act += network.to(tl.int64) * n_rows * n_hidden
    residual += network * n_rows
    first = network * n_inputs * n_hidden  # where its first layer begins, its first vector, and its one number
    small, last = n_inputs * side + network * n_hidden + unit, (n_inputs + 4) * side + network
    b1 = tl.load(flat + small, mask=real, other=0.0)
    gamma = tl.load(flat + small + side, mask=real, other=0.0)
    beta = tl.load(flat + small + 2 * side, mask=real, other=0.0)
    w2 = tl.load(flat + small + 3 * side, mask=real, other=0.0)

    sums, squared = _activations(
        act, flat + first, b1, codes, coins + number * n_rows * n_hidden, threshold, keep, n_rows, n_bytes, n_hidden,
        n_inputs, HIDDEN, ROWS, INPUTS,
    )  # fmt: skip
    tl.debug_barrier()  # what other threads of the block have written is read below, here and after each pass
    mu = sums / n_rows
    inv_sigma = 1.0 / tl.sqrt(tl.maximum(squared / n_rows - mu * mu, 0.0) + eps)
    v = gamma * w2 * inv_sigma
    offset = tl.sum(beta * w2, axis=0) + tl.load(flat + last) - tl.sum(mu * v, axis=0)
    mean = 2.0 / (n_nodes * n_rows)
    targets += number * n_rows
    total, weighted = _residuals(residual, act, targets, v, offset, mean, n_rows, n_hidden, HIDDEN, ROWS)
    tl.debug_barrier()
    centred = (weighted - mu * total) * inv_sigma
    slope = v * centred * inv_sigma / n_rows
    level = slope * mu - v * total / n_rows
    g_b1 = _backward(act, residual, v, slope, level, keep, n_rows, n_hidden, HIDDEN, ROWS)
    tl.debug_barrier()
    tl.store(gradient + last, total)
    square = total * total
    square += _vectors(gradient + small, g_b1, centred * w2, total * w2, centred * gamma + total * beta, side, real)
    square += _first_layer(gradient + first, act, codes, n_rows, n_bytes, n_hidden, n_inputs, HIDDEN, ROWS, INPUTS)
    tl.store(squares + network, square)


@triton.jit(do_not_specialize=["step"])  # type: ignore[untyped-decorator]
def _adam(
    flat: tl.tensor,
    gradient: tl.tensor,
    squares: tl.tensor,
    moment1: tl.tensor,
    moment2: tl.tensor,
    corrections: tl.tensor,  # (G, 2): rate and factor of the second moment
    step: tl.tensor,
    n_nodes: tl.tensor,
    n_hidden: tl.tensor,
    clip: tl.tensor,
    beta1: tl.tensor,
    beta2: tl.tensor,
    eps: tl.tensor,
    n_inputs: tl.constexpr,
    NODES: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
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
