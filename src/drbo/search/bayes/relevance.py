"""Ranks the columns that could be parents of a node by their relevance in one Gaussian process of all of them.

Each column has a length scale of its own, and all are fitted together by marginal likelihood: those that do not help
become long ("automatic relevance determination": MacKay 1994; Neal 1996). Causes that act only together are found,
because the gradient by one length scale already sees the others.

With K the kernel matrix, ``k(x, y) = s exp(-sum_j w_j (x_j - y_j)^2 / 2)``, S = K + noise and a = S^-1 y,
  -ln p(y) = a'y / 2 + ln det S / 2 + constant,
  its derivative by ln w_j is -w_j sum_{ab} Q_ab (x_aj - x_bj)^2 / 2 with Q = (S^-1 - a a') * K / 2,
where the sum is 2 (sum_a x_aj^2 sum_b Q_ab - x_j' Q x_j), so that no matrix of differences is needed.

The formulas are written once, for arrays of NumPy and for tensors on a GPU, where the processes of many nodes are
fitted at the same time.
"""

import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.data.statistics.units import unit_free
from drbo.deadline import current
from drbo.machine.threads import one_blas_thread
from drbo.scores.gp.lapack import dpotrf, dpotri
from drbo.search.bayes.descent import descend
from drbo.search.parent_sets import Screen

#: Rows that a process is fitted to; more make the fits long.
MOST_ROWS = 500
#: The first weight w of every column, and the first noise, of standardised columns.
FIRST_WEIGHT, FIRST_NOISE = 0.3, 0.5
#: Evaluations of a fit: the order of the columns is settled long before the length scales are.
EVALUATIONS = 32
#: Limits of the logarithms of weights, of the variance of the function and of that of the noise.
WEIGHTS, VARIANCES, NOISES = (-12.0, 4.0), (-8.0, 3.0), (-8.0, 1.0)
#: Keeps the matrix positive definite.
JITTER = 1e-6
#: Processes that are fitted at the same time on a GPU: their matrices take about a GiB.
AT_ONCE = 64

#: What one core takes as long for as a GPU for as many times the work.
GPU_CORES = 50

#: An array of NumPy, or a tensor.
Values = Any


class RelevanceScreen(Screen):
    """The relevance of candidate parents in Gaussian processes, each fitted once.

    Parameters
    ----------
    values : (n, d) the complete rows of numeric columns.
    seed : draws the rows, if there are more than 500.
    device : "cpu" or "cuda", where the processes are fitted.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 5))
    >>> x[:, 4] = x[:, 0] * x[:, 1] * x[:, 2] + 0.1 * x[:, 4]
    >>> importance = RelevanceScreen(x, seed=0).importance(4, np.arange(5) < 4)
    >>> sorted(np.argsort(-importance)[:3].tolist())
    [0, 1, 2]
    """

    def __init__(self, values: Floats, seed: int, device: str = "cpu") -> None:
        rows = np.random.default_rng(seed).permutation(len(values))[:MOST_ROWS]
        self._values: Values = unit_free(values[np.sort(rows)])
        self._at_once = 1
        if device != "cpu":
            import torch

            self._values, self._at_once = torch.as_tensor(self._values, device=device), AT_ONCE
        self._found: dict[tuple[int, bytes], Floats] = {}

    def work(self) -> float:
        """Return the steps of all evaluations, each a factorisation with its inverse, and passes over the kernel."""
        n = len(self._values)
        return EVALUATIONS * (n**3 / 30 + 40 * n**2) / (GPU_CORES if self._at_once > 1 else 1)

    def prepare(self, asked: Sequence[tuple[int, Bools]]) -> None:
        """Fit the processes of some nodes with all their columns at the same time, where that is quicker."""
        if self._at_once > 1:
            new = {(node, inputs.tobytes()): (node, inputs) for node, inputs in asked if inputs.any()}
            self._fit([one for key, one in new.items() if key not in self._found])

    def importance(self, node: int, candidates: Bools, given: Bools | None = None) -> Floats:
        """Return (d,) the relevance of each candidate beside the given columns, which add to 1; 0 for all others."""
        inputs = candidates if given is None else candidates | given
        if not inputs.any():
            return np.zeros(len(inputs))
        if (key := (node, inputs.tobytes())) not in self._found:
            self._fit([(node, inputs)])
        kept: Floats = np.where(candidates, self._found[key], 0.0)
        kept /= max(kept.sum(), np.finfo(float).tiny)
        return kept

    def _fit(self, asked: Sequence[tuple[int, Bools]]) -> None:
        for start in range(0, len(asked), self._at_once):
            part = asked[start : start + self._at_once]
            inputs = np.stack([columns for _, columns in part])
            found = relevance(self._values, [node for node, _ in part], inputs)
            self._found.update({(node, own.tobytes()): row for (node, own), row in zip(part, found, strict=True)})


def relevance(
    values: Values,  # (n, d) standardised
    nodes: list[int],
    inputs: Bools,  # (m, d) of the process of each node
) -> Floats:
    """Return (m, d) the inverse squares of the length scales of the fitted processes, 0 for other columns."""
    columns = np.flatnonzero(inputs.any(axis=0)).tolist()
    chosen, p, deadline = inputs[:, columns].astype(np.float64), len(columns), current()
    own = values[:, columns] * _like(values, chosen)[:, None, :]  # (m, n, p): columns of 0 have no effect
    targets = values[:, nodes].T

    def cost(points: Floats) -> tuple[Floats, Floats]:
        deadline.check()
        found = negative_evidence(_like(values, points), own, targets)
        value, slope = (part if isinstance(part, np.ndarray) else part.cpu().numpy() for part in found)
        return value, slope

    first = np.tile(np.log([*[FIRST_WEIGHT] * p, 1.0, FIRST_NOISE]), (len(nodes), 1))
    low, high = np.array([*[WEIGHTS] * p, VARIANCES, NOISES]).T
    with one_blas_thread():
        ends = descend(cost, first, low, high, EVALUATIONS)
    weights = np.zeros(inputs.shape)
    weights[:, columns] = np.exp(ends[:, :p]) * chosen
    return weights


def negative_evidence(
    points: Values,  # (m, p + 2) logarithms of the weights, of the function's variance, and of the noise's
    inputs: Values,  # (m, n, p)
    targets: Values,  # (m, n)
) -> tuple[Values, Values]:
    """Return minus the log evidence (m,) of each process, up to a constant, and its gradient (m, p + 2)."""
    library, p = _library(points), inputs.shape[2]
    weights, variance, noise = library.exp(points[:, :p]), library.exp(points[:, p]), library.exp(points[:, p + 1])
    scaled = inputs * library.sqrt(weights)[:, None, :]
    half = (scaled**2).sum(axis=2) / 2
    kernel = (
        scaled @ scaled.mT
    )  # changed in place from here on, as the inverse is: new memory takes as long as the sums
    kernel -= half[:, :, None]
    kernel -= half[:, None, :]
    library.exp(kernel, out=kernel)
    kernel *= variance[:, None, None]
    slope, log_determinant = _inverted(kernel, noise + JITTER)
    solved = (slope @ targets[:, :, None])[:, :, 0]
    value = ((targets * solved).sum(axis=1) + log_determinant) / 2
    slope -= solved[:, :, None] * solved[:, None, :]
    slope /= 2
    by_noise = noise * library.linalg.diagonal(slope).sum(axis=1)
    slope *= kernel
    sums = slope.sum(axis=2)
    by_weights = -weights * ((sums[:, None, :] @ inputs**2)[:, 0] - (inputs * (slope @ inputs)).sum(axis=1))
    return value, library.concatenate([by_weights, sums.sum(axis=1)[:, None], by_noise[:, None]], 1)


def _inverted(kernel: Values, noise: Values) -> tuple[Values, Values]:
    """Return the inverses of kernel matrices (m, n, n) with noise, and the log determinants (m,) of these."""
    library, n = _library(kernel), kernel.shape[1]
    work = kernel + 0.0
    work.reshape(len(work), -1)[:, :: n + 1] += noise[:, None]
    if library is not np:
        factor = library.linalg.cholesky(work)
        return library.cholesky_inverse(factor), 2 * library.log(library.linalg.diagonal(factor)).sum(axis=1)
    log_determinant = np.empty(len(work))
    for place, matrix in enumerate(work):
        dpotrf(matrix)
        log_determinant[place] = 2 * np.log(np.diagonal(matrix)).sum()
        dpotri(matrix)
    np.copyto(work, work.mT, where=_above(n))
    return work, log_determinant


@lru_cache(maxsize=1)
def _above(n: int) -> Bools:
    """Return (n, n) the places above the diagonal."""
    return ~np.tri(n, dtype=bool)


def _library(array: Values) -> Any:
    """Return the module whose functions take an array: NumPy, or torch."""
    return np if isinstance(array, np.ndarray) else sys.modules["torch"]


def _like(array: Values, values: Floats) -> Values:
    """Return values where another array is."""
    return values if isinstance(array, np.ndarray) else _library(array).as_tensor(values, device=array.device)
