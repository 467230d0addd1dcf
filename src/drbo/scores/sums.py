"""Sums over nodes whose order follows from their number alone.

``Tensor.sum`` adds in an order that depends on the shape, the strides and the processor, so the last bits of a score
would depend on how many candidates are scored at a time, and with them the ranking of candidates that nearly tie.
"""

import torch
from torch import Tensor


def sum_nodes(
    values: Tensor,  # (..., d)
) -> Tensor:
    """Return the sums (...) over the last axis, each by the same additions in the same order for every shape.

    The upper half of the terms is added to the lower half until one is left. That takes log2(d) element-wise
    operations, which round alike on every processor, and rounding errors grow with log2(d), too. On a GPU so many
    operations take longer than the sum itself: there torch adds in double precision, whose order hardly ever shows.

    Examples
    --------
    >>> sum_nodes(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    tensor([ 6., 15.])
    """
    size = values.shape[-1]
    if size == 0:
        return values.new_zeros(values.shape[:-1])
    if values.is_cuda:
        return values.sum(-1, dtype=torch.float64).to(values.dtype)
    kept = -(-size // 2)
    total = values[..., :kept].clone()
    total[..., : size - kept] += values[..., kept:]
    while kept > 1:
        size, kept = kept, -(-kept // 2)
        total[..., : size - kept] += total[..., kept:size]
    return total[..., 0].contiguous()


def log_sum_exp(
    values: Tensor,  # (..., d)
) -> Tensor:
    """Return ``ln sum exp`` (...) over the last axis, summed as by :func:`sum_nodes`; on a GPU, by torch.

    Examples
    --------
    >>> log_sum_exp(torch.tensor([0.0, 0.0, -torch.inf])), log_sum_exp(torch.tensor([1e4, 1e4]))
    (tensor(0.6931), tensor(10000.6934))
    """
    if values.is_cuda:
        return torch.logsumexp(values, -1)
    largest = values.amax(-1)
    largest = torch.where(largest.isinf(), 0.0, largest)  # infinity less infinity is no number
    return sum_nodes((values - largest[..., None]).exp_()).log_().add_(largest)
