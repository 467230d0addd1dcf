"""SCORE: the leaf is the node whose second derivative of the log density varies least; then CAM pruning.

Rolland, Cevher, Kleindessner, Russel, Janzing, Schoelkopf & Locatello (2022), "Score Matching Enables Causal Discovery
of Nonlinear Additive Noise Models". In an additive model with Gaussian noise, d2 log p / dx_j^2 is constant exactly for
leaves. It is estimated at the rows by Stein's identities with an RBF kernel, the leaf is removed, and so on (their
Algorithm 1).

What differs: sums over pairs of rows go through matrix products, so nothing of size n x n x d is held; and pruning is
drbo's CAM (an F test on unpenalised splines) in place of R's ``mgcv``. The paper on DrBO prunes linear data by
``prune="threshold"`` and Sachs by ``"kci"``.
"""

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import pdist

from benchmarks.methods.base import Graph, Record
from benchmarks.methods.ordering import pruned

Floats = npt.NDArray[np.float64]
#: Ridges of the first and of the second derivative: section 5 of the paper and the authors' repository.
ETA_GRADIENT = 0.001
ETA_HESSIAN = 0.001


def learn(
    values: Floats,  # (n, d)
    *,
    seed: int,  # noqa: ARG001 nothing is drawn
    record: Record | None = None,
    eta_gradient: float = ETA_GRADIENT,
    eta_hessian: float = ETA_HESSIAN,
    prune: str = "cam",
) -> Graph:
    """Return the DAG after pruning."""
    graph = pruned(values, stein_order(values, eta_gradient, eta_hessian), prune)
    if record:
        record(1, graph)
    return graph


def stein_order(values: Floats, eta_gradient: float = ETA_GRADIENT, eta_hessian: float = ETA_HESSIAN) -> list[int]:
    """Return the nodes, causes first."""
    left, leaves = list(range(values.shape[1])), list[int]()
    while len(left) > 1:
        hessian = stein_hessian(values[:, left], eta_gradient, eta_hessian)
        leaves.append(left.pop(int(np.argmin(hessian.var(axis=0)))))
    return [*left, *reversed(leaves)]


def stein_hessian(values: Floats, eta_gradient: float, eta_hessian: float) -> Floats:
    """Return d2 log p / dx_j^2 (n, d) at every row: equations 4 and 10 of the paper.

    With k(x, y) = exp(-|x - y|^2 / (2 s^2)) / s and s the median distance of two rows, Stein's identities say that
    K G = -<grad, K> for the gradient G, and K (H + G^2) = <grad^2, K> for the diagonal H of the Hessian.
    """
    x = values - values.mean(axis=0)
    n = len(x)
    distances = pdist(x, "sqeuclidean")
    # The authors' median counts every row's distance to itself.
    width = float(np.median(np.concatenate([np.zeros(n), np.repeat(np.sqrt(distances), 2)])))
    kernel = np.empty((n, n))
    kernel[np.triu_indices(n, 1)] = np.exp(-distances / (2 * width**2)) / width
    kernel = np.triu(kernel, 1)
    kernel += kernel.T + np.eye(n) / width
    total, first, second = kernel.sum(axis=1)[:, None], kernel @ x, kernel @ x**2
    gradient_sums = (first - x * total) / width**2  # sum_i (x_i - x_k) K_ik / s^2
    hessian_sums = (x**2 * total - 2 * x * first + second) / width**4 - total / width**2
    ridge = np.eye(n)
    gradient = cho_solve(cho_factor(kernel + eta_gradient * ridge), gradient_sums)
    hessian: Floats = cho_solve(cho_factor(kernel + eta_hessian * ridge), hessian_sums) - gradient**2
    return hessian
