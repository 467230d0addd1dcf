"""A rough log evidence of Gaussian processes, at a hundredth of the cost: where the exact one is worth computing."""

import numpy as np
import torch
from torch import Tensor

from drbo.arrays import Bools, Floats, Indices
from drbo.scores.gp.kernels import KernelData, ParentSets

#: Rows whose kernels stand for those of all others (inducing points; every row counts): this share, at least and most.
FEW_SHARE, LEAST_FEW, MOST_FEW = 0.2, 80, 100
#: Length scales tried first, in units of the root of the number of parents: columns have variance 1.
START_SCALES = (0.4, 0.8, 1.6, 3.2, 8.0)
#: Noise tried first, in units of the variance of the part of the function that is not constant.
START_NOISE = (0.005, 0.03, 0.2, 1.0, 5.0, 40.0)
#: A second start is followed if its rough evidence is at most this much (in log evidence) under the best.
START_MARGIN = 3.0
#: Added to their kernels, which are nearly singular where the length scale is long.
JITTER = 1e-6


def profile_evidence(n: int, quadratic: Tensor, log_determinant: Tensor) -> Tensor:
    """Log marginal likelihood of y ~ N(0, s (K + noise I)) at its maximum over s: y' (K + noise I)^-1 y / n."""
    return -0.5 * (n * (torch.log(2 * np.pi * quadratic / n) + 1) + log_determinant)


class RoughEvidence:
    """The log evidence with kernels that follow from those of a few rows.

    ``k(x, x')`` is replaced by ``k(x, few) k(few, few)^-1 k(few, x')``, and what that lacks on the diagonal is added to
    the noise, the same for all rows. This is exact for functions so smooth that the few rows determine them, and the
    more of an approximation the shorter the length scale is (Quinonero-Candela & Rasmussen 2005, JMLR 6, "A unifying
    view of sparse approximate Gaussian process regression").
    """

    def __init__(self, data: KernelData) -> None:
        self.data = data
        count = min(max(int(FEW_SHARE * data.n_rows), LEAST_FEW), MOST_FEW)
        self.few = np.sort(np.random.default_rng(0).permutation(data.n_rows)[:count])

    def at(
        self,
        parents: Bools,  # (B, d)
        children: Indices,  # (B, C)
        scales: Floats,  # (B, A)
        noises: Floats,  # (B, A, N) over the amplitude
    ) -> Floats:
        """Return the rough log evidence (B, C, A, N) for several length scales, and several noises for each."""
        data = self.data
        found = np.empty((*children.shape, *noises.shape[1:]))
        for part in data.chunks(len(parents)):
            points, targets = data.points(parents[part]), data.targets(children[part])
            apart = torch.cdist(points[:, :, self.few].mT, points.mT, compute_mode="donot_use_mm_for_euclid_dist")
            squared = apart.square_()
            for a in range(scales.shape[1]):
                width = torch.as_tensor(scales[part, a] ** -2, device=data.device)
                kernel = squared.mul(-0.5 * width[:, None, None]).exp_()  # (B, m, n)
                noise = torch.as_tensor(noises[part, a], device=data.device)
                found[part, :, a] = self._evidence(kernel, targets, noise).cpu().numpy()
        return found

    def _evidence(self, kernel: Tensor, targets: Tensor, noises: Tensor) -> Tensor:  # (B, m, n), (B, n, C), (B, N)
        n, m = kernel.shape[2], len(self.few)
        eye = torch.eye(m, dtype=kernel.dtype, device=kernel.device)
        corner = torch.linalg.cholesky(kernel[:, :, self.few] + JITTER * eye)
        basis = torch.linalg.solve_triangular(corner, kernel, upper=False)
        gram, seen = basis @ basis.mT, basis @ targets
        lacking = (1 - gram.diagonal(dim1=1, dim2=2).sum(dim=1) / n).clamp_(min=0.0)
        total = noises + lacking[:, None]  # (B, N)
        factor = torch.linalg.cholesky(gram[:, None] + total[:, :, None, None] * eye)  # (B, N, m, m)
        log_determinant = 2 * factor.diagonal(dim1=2, dim2=3).log().sum(dim=2) + (n - m) * total.log()
        inner = torch.linalg.solve_triangular(factor, seen[:, None], upper=False)  # (B, N, m, C)
        left = targets.square().sum(dim=1)[:, None] - inner.square().sum(dim=2)
        return profile_evidence(n, left / total[:, :, None], log_determinant[:, :, None]).mT


def starts(rough: RoughEvidence, sets: ParentSets) -> tuple[Indices, Floats]:
    """Look at all families on a grid; return (family, log length scale and log noise) of the starts worth a climb."""
    root = np.sqrt(sets.parents.sum(axis=1))
    scales, noises = np.array(START_SCALES), np.array(START_NOISE)
    noise = noises[None, :] / (1 + scales[:, None] ** 2)  # long scales: the function is almost constant
    grid = rough.at(sets.parents, sets.children, scales * root[:, None], np.tile(noise, (len(root), 1, 1)))
    grid = grid[sets.row, sets.column]  # (m, scales, noises)
    near_best = grid >= grid.max(axis=(1, 2), keepdims=True) - START_MARGIN
    family, at_scale, at_noise = np.nonzero(_peaks(grid) & near_best)
    theta = np.column_stack([np.log(scales[at_scale] * root[sets.row[family]]), np.log(noise[at_scale, at_noise])])
    return family, theta


def _peaks(grid: Floats) -> Bools:  # (m, A, B)
    """Return where a value on the grid is at least as high as its eight neighbours."""
    padded = np.pad(grid, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    rows, columns = grid.shape[1:]
    around = [padded[:, i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
    peaks: Bools = grid >= np.max(around, axis=0)
    return peaks
