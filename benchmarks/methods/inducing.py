"""Gaussian processes by inducing points, one per node, all nodes in one batch.

Titsias (2009), "Variational Learning of Inducing Variables in Sparse Gaussian Processes": the posterior given M of the
N points that were seen, and the lower bound of the evidence by which length scale and noise are chosen. It is the
optimum of what Hensman et al. (2015), the paper's reference, climb by stochastic gradients. The points are chosen among
those seen, each the one that the others say least about (Burt et al. 2020): parent vectors are 0/1, so there is
nothing between them to learn.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

#: Inducing points of a node (paper, App. G: "a small number of 100").
N_INDUCING = 100
#: What is chosen from, in the units of the 0/1 vectors and of standardised values: 100 points cannot follow thousands
#: of exact values, so the noise has to take what is left.
LENGTH_SCALES = (1.0, 2.0, 4.0, 8.0, 16.0)
NOISES = (1e-3, 1e-2, 1e-1)
#: The length scale at which the points are chosen.
CHOSEN_AT = 4.0
#: Added to the diagonal of the inducing points' kernel, which has equal points twice where few are distinct.
JITTER = 1e-6


class Fit(NamedTuple):
    """The posterior of every node at one length scale and noise, and the bound (d,) of its evidence."""

    factor: Tensor  # (d, M, M) of the kernel between inducing points
    inner: Tensor  # (d, M, M) of 1 + reduced kernel squared over the noise
    weights: Tensor  # (d, M)
    bound: Tensor


def choose(seen: Tensor, count: int) -> Tensor:
    """Return the inducing points (d, M) as row numbers of the vectors seen (d, N, w): a pivoted Cholesky factor."""
    d, n, _ = seen.shape
    count = min(count, n)
    left, nodes = seen.new_ones(d, n), torch.arange(d, device=seen.device)
    columns, chosen = seen.new_zeros(d, count, n), torch.zeros(d, count, dtype=torch.int64, device=seen.device)
    for k in range(count):
        chosen[:, k] = pivot = left.argmax(1)
        kernel = rbf(seen, seen[nodes, pivot][:, None], CHOSEN_AT)[..., 0]
        reduced = kernel - torch.einsum("dk,dkn->dn", columns[nodes, :k, pivot], columns[:, :k])
        columns[:, k] = reduced / left[nodes, pivot].clamp(min=JITTER).sqrt()[:, None]
        left = (left - columns[:, k].square()).clamp(min=0.0)
    return chosen


def rbf(first: Tensor, second: Tensor, scale: float | Tensor) -> Tensor:
    """Return the kernel (d, N, M) between vectors (d, N, w) and (d, M, w)."""
    return torch.exp(-torch.cdist(first, second).square() / (2 * scale**2))


def fit(points: Tensor, seen: Tensor, target: Tensor, scale: float, noises: tuple[float, ...]) -> list[Fit]:
    """Return the posteriors given standardised values (d, N), one per noise; nothing of size N is done twice."""
    n = seen.shape[1]
    unit = torch.eye(points.shape[1], dtype=seen.dtype, device=seen.device)
    factor = torch.linalg.cholesky(rbf(points, points, scale) + JITTER * unit)
    reduced = torch.linalg.solve_triangular(factor, rbf(points, seen, scale), upper=False)  # (d, M, N)
    square, projected = reduced @ reduced.mT, (reduced @ target[..., None])[..., 0]
    unexplained = n - square.diagonal(dim1=1, dim2=2).sum(1)
    found = []
    for noise in noises:
        inner = torch.linalg.cholesky(unit + square / noise)
        weights = torch.linalg.solve_triangular(inner, projected[..., None] / noise, upper=False)[..., 0]
        determinant = inner.diagonal(dim1=1, dim2=2).log().sum(1) + 0.5 * n * math.log(2 * math.pi * noise)
        misfit = 0.5 * (target.square().sum(1) / noise - weights.square().sum(1) + unexplained / noise)
        found.append(Fit(factor, inner, weights, -determinant - misfit))
    return found


def draw(seen: Tensor, values: Tensor, asked: Tensor, noise: Tensor, count: int = N_INDUCING) -> Tensor:
    """Return mean plus noise times deviation (d, C) of every node at the vectors asked (d, C, w).

    ``seen`` (d, N, w) may hold equal vectors; ``noise`` is (d, C).
    """
    seen, values, asked = seen.double(), values.double(), asked.double()
    middle, spread = values.mean(1, keepdim=True), values.std(1, correction=0, keepdim=True).clamp(min=1e-6)
    target, nodes = (values - middle) / spread, torch.arange(len(seen), device=seen.device)
    points = seen[nodes[:, None], choose(seen, count)]
    fits = [(scale, one) for scale in LENGTH_SCALES for one in fit(points, seen, target, scale, NOISES)]
    best = torch.stack([one.bound for _, one in fits]).argmax(0)  # (d,)
    scales = seen.new_tensor([scale for scale, _ in fits])[best]
    factor, inner, weights = (torch.stack([one[at] for _, one in fits])[best, nodes] for at in range(3))
    across = rbf(points, asked, scales[:, None, None])  # (d, M, C)
    outer = torch.linalg.solve_triangular(factor, across, upper=False)
    both = torch.linalg.solve_triangular(inner, outer, upper=False)
    variance = (1.0 - outer.square().sum(1) + both.square().sum(1)).clamp(min=0.0)
    return middle + spread * ((both.mT @ weights[..., None])[..., 0] + variance.sqrt() * noise)
