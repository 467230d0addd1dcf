"""NOTEARS with the TMPI constraint: least squares with an l1 penalty, cycles pushed to zero.

Zheng, Aragam, Ravikumar & Xing (2018), "DAGs with NO TEARS": min 1/(2n) |X - XW|^2 + lambda |W|_1 subject to h(W) = 0,
by an augmented Lagrangian whose subproblems go to L-BFGS-B over the positive and the negative parts of W. Zhang, Ng,
Gong, Liu, Abbasnejad, Gong, Zhang & Shi (2022), "Truncated Matrix Power Iteration for Differentiable DAG Learning": h
is the sum of the traces of the powers of B = W o W, cut where the powers vanish, by doubling.

What differs: the loss comes from the covariance, which is the same number without the rows. A recorded graph is what
the threshold leaves of the weights at that step; on the way it may have cycles. A step is an iteration of L-BFGS-B.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from benchmarks.methods.base import Graph, Record

Floats = npt.NDArray[np.float64]
#: Zheng et al. (2018), section 4 and their repository: weight of the l1 penalty, size of an edge, tolerance of h,
#: largest penalty factor, its growth and the progress of h that spares it, rounds.
LAMBDA1 = 0.1
THRESHOLD = 0.3
H_TOLERANCE = 1e-8
RHO_MAX = 1e16
RHO_GROWTH = 10.0
PROGRESS = 0.25
MAX_ROUNDS = 100
#: Zhang et al. (2022), section 4: powers of B with no entry above this end the sum.
EPSILON = 1e-6


def learn(
    values: Floats,  # (n, d)
    *,
    seed: int,  # noqa: ARG001 nothing is drawn
    record: Record | None = None,
    lambda1: float = LAMBDA1,
    threshold: float = THRESHOLD,
    max_rounds: int = MAX_ROUNDS,
) -> Graph:
    """Return the edges whose weights are larger than the threshold."""
    centred = values - values.mean(axis=0)
    d, steps = values.shape[1], 0

    def note(parts: Floats) -> None:
        nonlocal steps
        steps += 1
        if record:
            record(steps, np.abs(_weights(parts, d)) > threshold)

    weights = minimise(centred.T @ centred / len(values), lambda1, max_rounds, note)
    graph: Graph = np.abs(weights) > threshold
    return graph


def minimise(covariance: Floats, lambda1: float, max_rounds: int, callback: Callable[[Floats], None]) -> Floats:
    """Return the weights (d, d) at which the augmented Lagrangian ends."""
    d = len(covariance)
    parts, rho, alpha, h = np.zeros(2 * d * d), 1.0, 0.0, np.inf
    free = ~np.eye(d, dtype=bool).ravel()
    bounds = [(0.0, None if allowed else 0.0) for allowed in np.concatenate([free, free])]
    for _ in range(max_rounds):
        while True:
            lagrangian = partial(_objective, covariance=covariance, lambda1=lambda1, rho=rho, alpha=alpha)
            found = minimize(lagrangian, parts, method="L-BFGS-B", jac=True, bounds=bounds, callback=callback)
            reached = tmpi(_weights(found.x, d) ** 2)[0]
            if reached <= PROGRESS * h or rho >= RHO_MAX:
                break
            rho *= RHO_GROWTH
        parts, h = found.x, reached
        alpha += rho * h
        if h <= H_TOLERANCE or rho >= RHO_MAX:
            break
    return _weights(parts, d)


def _weights(parts: Floats, d: int) -> Floats:
    """Return W from its positive and its negative part."""
    weights: Floats = (parts[: d * d] - parts[d * d :]).reshape(d, d)
    return weights


def _objective(parts: Floats, covariance: Floats, lambda1: float, rho: float, alpha: float) -> tuple[float, Floats]:
    """Return the augmented Lagrangian and its gradient."""
    d = len(covariance)
    weights = _weights(parts, d)
    unexplained = np.eye(d) - weights
    slope = covariance @ unexplained
    h, h_slope = tmpi(weights**2)
    value = 0.5 * np.sum(unexplained * slope) + lambda1 * parts.sum() + alpha * h + 0.5 * rho * h**2
    gradient = ((alpha + rho * h) * h_slope * 2 * weights - slope).ravel()
    return float(value), np.concatenate([gradient, -gradient]) + lambda1


def tmpi(squares: Floats, epsilon: float = EPSILON) -> tuple[float, Floats]:
    """Return sum_{i=1..k} tr(B^i) and its gradient in B, with k = 1, 2, 4, ... until B^k vanishes or k reaches d.

    With S = sum_{i=1..k} B^i and D = sum_{i=1..k} i B^(i-1), doubling k adds B^k S to S and
    B^k D + k (B^k + B^k S - B^2k) to D. The gradient is the transpose of D.
    """
    d = len(squares)
    power, total, slope, k = squares, squares, np.eye(d), 1
    while k < d:
        more, square = power @ total, power @ power
        slope = slope + power @ slope + k * (power + more - square)
        total, power, k = total + more, square, 2 * k
        if np.abs(power).max() < epsilon:
            break
    return float(np.trace(total)), slope.T
