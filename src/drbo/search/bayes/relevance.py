"""Ranks the columns that could be parents of a node by their relevance in one Gaussian process of all of them.

Each column has a length scale of its own, and all are fitted together by marginal likelihood: those that do not help
become long ("automatic relevance determination": MacKay 1994; Neal 1996). Causes that act only together are found,
because the gradient by one length scale already sees the others.

With K the kernel matrix, ``k(x, y) = s exp(-sum_j w_j (x_j - y_j)^2 / 2)``, S = K + noise and a = S^-1 y,
  -ln p(y) = a'y / 2 + ln det S / 2 + constant,
  its derivative by ln w_j is -w_j sum_{ab} Q_ab (x_aj - x_bj)^2 / 2 with Q = (S^-1 - a a') * K / 2,
where the sum is 2 (sum_a x_aj^2 sum_b Q_ab - x_j' Q x_j), so that no matrix of differences is needed.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import minimize

from drbo.arrays import Bools, Floats
from drbo.data.statistics.units import unit_free
from drbo.deadline import current
from drbo.machine.threads import one_blas_thread

#: Rows that a process is fitted to; more make the fits long.
MOST_ROWS = 500
#: The first weight w of every column, and the first noise, of standardised columns.
FIRST_WEIGHT, FIRST_NOISE = 0.3, 0.5
#: Steps of the fit: the order of the columns is settled long before the length scales are.
STEPS = 25
#: Limits of the logarithms of weights, of the variance of the function and of that of the noise.
WEIGHTS, VARIANCES, NOISES = (-12.0, 4.0), (-8.0, 3.0), (-8.0, 1.0)
#: Keeps the matrix positive definite.
JITTER = 1e-6


class RelevanceScreen:
    """The relevance of candidate parents in Gaussian processes, each fitted once.

    Parameters
    ----------
    values : (n, d) the complete rows of numeric columns.
    seed : draws the rows, if there are more than 500.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 5))
    >>> x[:, 4] = x[:, 0] * x[:, 1] * x[:, 2] + 0.1 * x[:, 4]
    >>> importance = RelevanceScreen(x, seed=0).importance(4, np.arange(5) < 4)
    >>> sorted(np.argsort(-importance)[:3].tolist())
    [0, 1, 2]
    """

    def __init__(self, values: Floats, seed: int) -> None:
        rows = np.random.default_rng(seed).permutation(len(values))[:MOST_ROWS]
        self._values = unit_free(values[np.sort(rows)])
        self._found: dict[tuple[int, bytes], Floats] = {}

    def importance(self, node: int, candidates: Bools, given: Bools | None = None) -> Floats:
        """Return (d,) the relevance of each candidate beside the given columns, which add to 1; 0 for all others."""
        inputs = candidates if given is None else candidates | given
        key = node, inputs.tobytes()
        if key not in self._found:
            found = np.zeros(len(inputs))
            if inputs.any():
                found[inputs] = relevance(self._values[:, inputs], self._values[:, node])
            self._found[key] = found
        kept: Floats = np.where(candidates, self._found[key], 0.0)
        kept /= max(kept.sum(), np.finfo(float).tiny)
        return kept


def relevance(
    inputs: Floats,  # (n, p) standardised
    target: Floats,  # (n,)
) -> Floats:
    """Return (p,) the inverse squares of the length scales of the fitted process."""
    p, deadline = inputs.shape[1], current()

    def cost(point: Floats) -> tuple[float, Floats]:
        deadline.check()
        return negative_evidence(point, inputs, target)

    first = np.log([*[FIRST_WEIGHT] * p, 1.0, FIRST_NOISE])
    with one_blas_thread():
        found = minimize(
            cost, first, jac=True, method="L-BFGS-B",
            bounds=[WEIGHTS] * p + [VARIANCES, NOISES], options={"maxiter": STEPS},
        )  # fmt: skip
    weights: Floats = np.exp(found.x[:p])
    return weights


def negative_evidence(
    point: Floats,  # (p + 2,) logarithms of the weights, of the function's variance, and of the noise's
    inputs: Floats,  # (n, p)
    target: Floats,  # (n,)
) -> tuple[float, Floats]:
    """Return minus the log evidence, up to a constant, and its gradient."""
    n, p = inputs.shape
    weights, (variance, noise) = np.exp(point[:p]), np.exp(point[p:])
    scaled = inputs * np.sqrt(weights)
    half = (scaled**2).sum(axis=1) / 2
    kernel = variance * np.exp(scaled @ scaled.T - half[:, None] - half)
    factor, failed = dpotrf(kernel + (noise + JITTER) * np.eye(n), lower=1)
    if failed:
        return np.inf, np.zeros(p + 2)
    lower = np.tril(dpotri(factor, lower=1)[0])
    inverse = lower + np.tril(lower, -1).T
    solved = inverse @ target
    value = target @ solved / 2 + np.log(np.diagonal(factor)).sum()
    slope = (inverse - np.outer(solved, solved)) / 2
    by_noise = noise * np.trace(slope)
    slope *= kernel
    sums = slope.sum(axis=1)
    by_weights = -weights * (inputs.T**2 @ sums - (inputs * (slope @ inputs)).sum(axis=0))
    return float(value), np.concatenate([by_weights, [sums.sum(), by_noise]])
