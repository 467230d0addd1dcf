"""The Gaussian-process score: the log evidence with length scale, amplitude and noise fitted."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from drbo.data.table import Table, unit_free
from drbo.deadline import current
from drbo.scores.families import Families
from drbo.scores.gp_kernels import Floats, KernelData, KernelScore, ParentSets, rbf_kernel, solve
from drbo.scores.outliers import winsorized

#: Length scales tried first, in units of the root of the number of parents: columns have variance 1.
START_SCALES = (0.5, 1.0, 2.0, 5.0)
#: Noise tried first, in units of the variance of the part of the function that is not constant.
START_NOISE = (0.02, 0.3, 4.0, 50.0)
#: Ranges of the length scale (same unit) and of noise / amplitude.
SCALE_RANGE = (0.3, 30.0)
NOISE_RANGE = (1e-6, 1e4)
#: A second start is followed if the first evaluation is at most this much (in log evidence) under the best.
START_MARGIN = 3.0
#: The climb ends when the step promises less log evidence than this, or after so many steps.
CLIMB_GAIN = 1e-3
CLIMB_STEPS = 30
#: Longest step in (log length scale, log noise).
CLIMB_REACH = (0.7, 1.5)


class GpFit(NamedTuple):
    """The fitted Gaussian process of each family, on standardised columns."""

    log_evidence: Floats  # (m,)
    length_scale: Floats  # (m,)
    amplitude: Floats  # (m,) variance of the function; 0: no function, noise alone
    noise: Floats  # (m,) variance of the noise


class GpScore(KernelScore):
    """Nonlinear score: the log evidence of a Gaussian process per family, ``2 sum_i ln p(x_i | pa_i) - price``.

    ``x_i = f(pa_i) + noise``, f a Gaussian process with a squared-exponential kernel; one length scale, the amplitude
    and the noise are fitted by maximising the marginal likelihood (Rasmussen & Williams 2006, section 5.4.1).
    ``local`` is that log evidence, for standardised columns whose far-out values are pulled in (:func:`winsorized`):
    units do not matter. A function that does not pay is dropped, so no family is worse than the empty one.

    The penalty counts 2 parameters per parent (length scale and amplitude), on top of the price of flexibility that
    the evidence contains. At ``penalty=1`` 20 independent columns give on average 0.3 edges (n = 100) and none
    (n = 1,000), Gaussian or heavy-tailed.

    Parameters
    ----------
    table : the checked data, numeric, at most 4,000 rows.
    device : "cpu" or "cuda", where the kernels are factorised.
    options : ``max_memory``, the GiB that kernel matrices may take at once, and those of
        :class:`~drbo.scores.base.Score`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=100)
    >>> score = GpScore(Table.from_array(np.column_stack([x, np.sin(2 * x) + 0.3 * rng.normal(size=100)])))
    >>> empty, backward, forward = score.local(Families.from_sets(2, [(1, ()), (0, (1,)), (1, (0,))]))
    >>> bool(forward > backward > empty)
    True
    """

    name = "gp"
    assumption = "nonlinear effects with additive noise"
    regression = "splines"
    evidence_scale = 2.0

    def __init__(self, table: Table, *, device: str = "cpu", **options: Any) -> None:
        super().__init__(table, device=device, **options)
        self.gain = 2.0

    def _prepare(self, values: Floats) -> tuple[Floats, Floats]:
        columns = unit_free(winsorized(values))
        return columns, columns

    def local(self, families: Families) -> Floats:
        """Return the log evidence of each family."""
        return self.fit(families).log_evidence

    def parameters(self, families: Families) -> npt.NDArray[np.intp]:
        """Return two per parent: a length scale and an amplitude."""
        return 2 * families.sizes

    def fit(self, families: Families) -> GpFit:
        """Return the fitted parameters of each family, and its log evidence."""
        empty = -0.5 * self.n_rows[families.nodes] * (np.log(2 * np.pi) + 1)  # variance 1: standardised
        zeros = np.zeros(len(families))
        result = GpFit(empty, np.full(len(families), np.inf), zeros, zeros + 1.0)
        for rows, data in self._parts(families):
            sets = ParentSets.of(families[rows])
            family, theta = _starts(data, sets)
            evidence, theta, variance = _climb(
                data, sets.parents[sets.row[family]], families.nodes[rows][family], theta
            )
            order = np.argsort(evidence, kind="stable")  # the best start of a family is written last
            better = order[evidence[order] > empty[rows][family[order]]]
            place = rows[family[better]]
            result.log_evidence[place] = evidence[better]
            result.length_scale[place] = np.exp(theta[better, 0])
            result.amplitude[place] = variance[better]
            result.noise[place] = variance[better] * np.exp(theta[better, 1])
        return result


def _evidence(n: int, quadratic: Any, log_determinant: Any, log: Any) -> Any:
    """Log marginal likelihood of y ~ N(0, s (K + noise I)) at its maximum over s: y' (K + noise I)^-1 y / n."""
    return -0.5 * (n * (log(2 * np.pi * quadratic / n) + 1) + log_determinant)


def _starts(data: KernelData, sets: ParentSets) -> tuple[npt.NDArray[np.intp], Floats]:
    """Evaluate all families on a grid; return (family, log length scale and log noise) of the starts worth a climb."""
    root = np.sqrt(sets.parents.sum(axis=1))
    scales, noises = np.array(START_SCALES), np.array(START_NOISE)
    noise = noises[None, :] / (1 + scales[:, None] ** 2)  # long scales: the function is almost constant
    shape = (*sets.children.shape, len(scales), len(noises))
    evidence = np.full(shape, -np.inf)
    for part in data.chunks(len(sets.parents)):
        squared = data.squared_distances(sets.parents[part])
        targets = data.targets(sets.children[part])
        for a, scale in enumerate(scales):
            width = torch.as_tensor((scale * root[part]) ** -2, device=data.device)
            kernel = rbf_kernel(squared, width, data.scratch("kernel", len(squared)))
            for b in range(len(noises)):
                work = data.scratch("work", len(squared))
                log_determinant, weights = solve(kernel, float(noise[a, b]), targets, work)
                quadratic = (targets * weights).sum(dim=1)
                value = _evidence(data.n_rows, quadratic, log_determinant[:, None], torch.log)
                evidence[part, :, a, b] = value.cpu().numpy()
    grid = evidence[sets.row, sets.column]  # (m, scales, noises)
    near_best = grid >= grid.max(axis=(1, 2), keepdims=True) - START_MARGIN
    family, at_scale, at_noise = np.nonzero(_peaks(grid) & near_best)
    theta = np.column_stack([np.log(scales[at_scale] * root[sets.row[family]]), np.log(noise[at_scale, at_noise])])
    return family, theta


def _peaks(grid: Floats) -> npt.NDArray[np.bool_]:  # (m, A, B)
    """Return where a value on the grid is at least as high as its eight neighbours."""
    padded = np.pad(grid, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    rows, columns = grid.shape[1:]
    around = [padded[:, i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
    peaks: npt.NDArray[np.bool_] = grid >= np.max(around, axis=0)
    return peaks


def _climb(
    data: KernelData,
    parents: npt.NDArray[np.bool_],  # (m, d)
    nodes: npt.NDArray[np.intp],  # (m,)
    theta: Floats,  # (m, 2)
) -> tuple[Floats, Floats, Floats]:
    """Maximise the log evidence from each start; return it, where it is reached, and the amplitude there.

    Damped Newton steps with the average-information matrix (Gilmour, Thompson & Cullis 1995) for the Hessian: it costs
    two products with the inverse, and is never negative definite.
    """
    root = np.sqrt(parents.sum(axis=1))[:, None]
    low = np.log(np.hstack([SCALE_RANGE[0] * root, np.full_like(root, NOISE_RANGE[0])]))
    high = np.log(np.hstack([SCALE_RANGE[1] * root, np.full_like(root, NOISE_RANGE[1])]))
    theta = np.clip(theta, low, high)
    evidence, variance, gradient, information = _derivatives(data, parents, nodes, theta)
    damping = np.full(len(nodes), 1e-3)
    active = np.arange(len(nodes))
    for _ in range(CLIMB_STEPS):
        here, slope = theta[active], gradient[active]
        free = ~(((here <= low[active]) & (slope < 0)) | ((here >= high[active]) & (slope > 0)))
        move, promise = _newton_step(slope, information[active], damping[active], free)
        trial = np.clip(here + move, low[active], high[active])
        going = promise > CLIMB_GAIN
        active, trial = active[going], trial[going]
        if len(active) == 0:
            break
        found = _derivatives(data, parents[active], nodes[active], trial)
        better = found[0] > evidence[active]
        damping[active] = np.where(better, damping[active] / 4, np.maximum(damping[active], 1e-2) * 8)
        kept = active[better]
        theta[kept] = trial[better]
        for old, new in zip((evidence, variance, gradient, information), found, strict=True):
            old[kept] = new[better]
    return evidence, theta, variance


def _newton_step(
    gradient: Floats,  # (m, 2)
    information: Floats,  # (m, 2, 2)
    damping: Floats,  # (m,)
    free: npt.NDArray[np.bool_],  # (m, 2) False: at a bound, with the gradient outward
) -> tuple[Floats, Floats]:
    """Return the damped Newton step, cut to its longest allowed length, and the gain that its model promises."""
    both = free[:, :, None] & free[:, None, :]
    damped = information * (1 + damping[:, None, None] * np.eye(2)) + 1e-8 * np.eye(2)  # 1e-8: where all is flat
    move = np.linalg.solve(np.where(both, damped, np.eye(2)), np.where(free, gradient, 0.0)[:, :, None])[:, :, 0]
    move *= np.minimum(1.0, (np.array(CLIMB_REACH) / np.maximum(np.abs(move), 1e-300)).min(axis=1))[:, None]
    promise = (gradient * move).sum(axis=1) - 0.5 * np.einsum("mi,mij,mj->m", move, information, move)
    return move, promise


def _derivatives(
    data: KernelData,
    parents: npt.NDArray[np.bool_],  # (m, d)
    nodes: npt.NDArray[np.intp],  # (m,)
    theta: Floats,  # (m, 2)
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return log evidence (m,), amplitude (m,), gradient (m, 2) and average information (m, 2, 2)."""
    n, found, deadline = data.n_rows, [], current()
    for part in data.chunks(len(nodes)):
        squared = data.squared_distances(parents[part])
        targets = data.targets(nodes[part][:, None])
        place = torch.as_tensor(theta[part], device=data.device)
        noise = place[:, 1].exp()
        scaled = squared.mul_((-2 * place[:, 0]).exp()[:, None, None])
        kernel = torch.mul(scaled, -0.5, out=data.scratch("kernel", len(squared))).exp_()
        change = scaled.mul_(kernel)  # dK / d log length scale
        kernel.diagonal(dim1=1, dim2=2).add_(noise[:, None])
        factor, _ = torch.linalg.cholesky_ex(kernel)
        deadline.check()
        inverse = torch.cholesky_inverse(factor)
        deadline.check()
        weights = inverse @ targets
        slopes = torch.cat([change @ weights, noise[:, None, None] * weights], dim=2)  # (B, n, 2)
        quadratic = (targets * weights).sum(dim=(1, 2))
        amplitude = quadratic / n
        fit = (weights * slopes).sum(dim=1) / amplitude[:, None]
        traces = torch.stack([(inverse * change).sum(dim=(1, 2)), noise * inverse.diagonal(dim1=1, dim2=2).sum(1)], 1)
        information = slopes.transpose(1, 2) @ inverse @ slopes / (2 * amplitude[:, None, None])
        information -= fit[:, :, None] * fit[:, None, :] / (2 * n)
        log_determinant = 2 * factor.diagonal(dim1=1, dim2=2).log().sum(dim=1)
        evidence = _evidence(n, quadratic, log_determinant, torch.log)
        found.append([part.cpu().numpy() for part in (evidence, amplitude, 0.5 * (fit - traces), information)])
    first, second, third, fourth = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return first, second, third, fourth
