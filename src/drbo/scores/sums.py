"""Sums over nodes whose order follows from their number alone.

``ndarray.sum`` adds in an order that depends on the shape, the strides and the processor, so the last bits of a score
would depend on how many candidates are scored at a time, and with them the ranking of candidates that nearly tie.
"""

import numpy as np

from drbo.arrays import Floats


def sum_nodes(
    values: Floats,  # (..., d)
) -> Floats:
    """Return the sums (...) over the last axis, each by the same additions in the same order for every shape.

    The upper half of the terms is added to the lower half until one is left. That takes log2(d) element-wise
    operations, which round alike on every processor, and rounding errors grow with log2(d), too.
    """
    size = values.shape[-1]
    if size == 0:
        return np.zeros(values.shape[:-1])
    kept = -(-size // 2)
    total = values[..., :kept].copy(order="K")
    total[..., : size - kept] += values[..., kept:]
    while kept > 1:
        size, kept = kept, -(-kept // 2)
        total[..., : size - kept] += total[..., kept:size]
    return total[..., 0].copy()


def log_sum_exp(
    values: Floats,  # (..., d)
) -> Floats:
    """Return ``ln sum exp`` (...) over the last axis, summed as by :func:`sum_nodes`."""
    largest = values.max(axis=-1)
    largest = np.where(np.isinf(largest), 0.0, largest)  # infinity less infinity is no number
    with np.errstate(divide="ignore"):  # all values are minus infinity
        logs: Floats = np.log(sum_nodes(np.exp(values - largest[..., None])))
    return logs + largest
