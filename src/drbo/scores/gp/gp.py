"""The Gaussian-process score: the log evidence with length scale, amplitude and noise fitted."""

from collections.abc import Sequence
from contextvars import copy_context
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from drbo.arrays import Bools, Floats, Indices
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.units import unit_free, winsorized
from drbo.machine.threads import available, one_thread_each, together
from drbo.scores.base import Relative
from drbo.scores.families import Families
from drbo.scores.gp.kernels import KernelData, KernelScore, ParentSets, factorize, invert, solved
from drbo.scores.gp.random_features import RandomFeatures
from drbo.scores.gp.rough import RoughEvidence, profile_evidence, starts

#: Ranges of the length scale (same unit) and of noise / amplitude.
SCALE_RANGE = (0.3, 30.0)
NOISE_RANGE = (1e-6, 1e4)
#: Steps of the climb of the rough evidence, and the distance of the places between which its slopes are taken.
ROUGH_STEPS, STENCIL = 2, 0.15
#: The climb ends when a step promises less log evidence than this, or after so many steps.
CLIMB_GAIN = 1e-3
CLIMB_STEPS = 30
#: After a step that promises less than this, the evidence is computed without its slopes, and the climb ends.
LAST_GAIN = 0.01
#: A climb is given up if so many times the promised gain does not reach the evidence of noise alone.
HOPE = 4.0
#: The cost of random features, times the number of rows, and the most: measured by benchmarks/studies/gp_speed.py.
FEATURES_COST, MOST_COST = 50.0, 0.5
#: With so many rows, families are fitted one at a time, each by one thread.
SINGLE_ROWS = 300
#: Longest step in (log length scale, log noise), and the least curvature: where all is flat.
CLIMB_REACH = (0.7, 1.5)
LEAST_CURVATURE = 1e-2


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
    units do not matter. A function that does not pay is dropped, so no family is worse than the empty one. The maximum
    is met to about 0.01: an approximation from a few rows (:mod:`drbo.scores.gp.rough`) says where it lies, and the
    evidence of all rows is climbed from there.

    The penalty counts 2 parameters per parent (length scale and amplitude), on top of the price of flexibility that
    the evidence contains; docs/evidence/scores.md has how many edges it finds among independent columns.

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
    >>> score = GpScore(Statistics.from_array(np.column_stack([x, np.sin(2 * x) + 0.3 * rng.normal(size=100)])))
    >>> empty, backward, forward = score.local(Families.from_sets(2, [(1, ()), (0, (1,)), (1, (0,))]))
    >>> bool(forward > backward > empty)
    True
    """

    name = "gp"
    assumption = "nonlinear effects with additive noise"
    words = ("Effects are smooth functions with additive noise. Arrows rest on this model, not on independence alone.",)
    regression = "splines"
    evidence_scale = 2.0

    def __init__(self, table: Statistics, *, device: str = "cpu", **options: Any) -> None:
        super().__init__(table, device=device, **options)
        self.gain = 2.0

    def _prepare(self, values: Floats) -> tuple[Floats, Floats]:
        columns = unit_free(winsorized(values))
        return columns, columns

    def local(self, families: Families) -> Floats:
        """Return the log evidence of each family."""
        return self.fit(families).log_evidence

    def relatives(self) -> Sequence[Relative]:
        """Additive splines, which cost nothing beside this score, and random features, which see interactions.

        On a GPU this score itself takes no longer than random features on the CPU.
        """
        if self.batches:
            return super().relatives()
        cost = min(FEATURES_COST / float(self.n_rows.min()), MOST_COST)
        return (*super().relatives(), Relative(RandomFeatures(self._table, targets=self.targets), cost))

    def parameters(self, families: Families) -> Indices:
        """Return two per parent: a length scale and an amplitude."""
        return 2 * families.sizes

    def fit(self, families: Families) -> GpFit:
        """Return the fitted parameters of each family, and its log evidence."""
        empty = -0.5 * self.n_rows[families.nodes] * (np.log(2 * np.pi) + 1)  # variance 1: standardised
        zeros = np.zeros(len(families))
        result = GpFit(empty, np.full(len(families), np.inf), zeros, zeros + 1.0)
        if self.device != "cpu" or self.n_rows.min() < SINGLE_ROWS:
            self._fit(families, np.arange(len(families)), result)
            return result
        threads = max(1, min(available(), len(families)))
        jobs = [
            partial(self._fit_singly, families, np.arange(k, len(families), threads), result) for k in range(threads)
        ]
        with one_thread_each():
            together([partial(copy_context().run, job) for job in jobs])  # with the deadline that holds here
        return result

    def _fit_singly(self, families: Families, which: Indices, result: GpFit) -> None:
        """Fit families one at a time: what one gets does not depend on the number of threads."""
        torch.set_num_threads(1)
        self._fit(families, which, result, step=1)

    def _fit(self, families: Families, which: Indices, result: GpFit, step: int | None = None) -> None:
        """Fit some families, so many at a time; None: all of them."""
        for rows, data in self._parts(families[which]):
            rough = RoughEvidence(data)
            for start in range(0, len(rows), step or len(rows)):
                self._fit_part(families, which[rows[start:][:step]], rough, result)

    def _fit_part(self, families: Families, rows: Indices, rough: RoughEvidence, result: GpFit) -> None:
        sets, empty = ParentSets.of(families[rows]), result.log_evidence[rows]
        family, theta = starts(rough, sets)
        climb = _Climb(rough.data, sets.parents[sets.row[family]], families.nodes[rows][family], theta)
        climb.roughly(rough)
        evidence, theta, variance = climb.exactly(float(empty[0]))
        order = np.argsort(evidence, kind="stable")  # the best start of a family is written last
        better = order[evidence[order] > empty[family[order]]]
        place = rows[family[better]]
        result.log_evidence[place] = evidence[better]
        result.length_scale[place] = np.exp(theta[better, 0])
        result.amplitude[place] = variance[better]
        result.noise[place] = variance[better] * np.exp(theta[better, 1])


class _Climb:
    """Maximises the log evidence of families over the logarithms of length scale and noise.

    The rough evidence is climbed first, by Newton steps. Its curvature then serves the exact one, and is corrected by
    every gradient that is seen (BFGS; Nocedal & Wright 2006, section 6.1).
    """

    def __init__(
        self,
        data: KernelData,
        parents: Bools,  # (m, d)
        nodes: Indices,  # (m,)
        theta: Floats,  # (m, 2)
    ) -> None:
        self.data, self.parents, self.nodes = data, parents, nodes
        root = np.sqrt(parents.sum(axis=1))[:, None]
        self.low = np.log(np.hstack([SCALE_RANGE[0] * root, np.full_like(root, NOISE_RANGE[0])]))
        self.high = np.log(np.hstack([SCALE_RANGE[1] * root, np.full_like(root, NOISE_RANGE[1])]))
        self.theta = np.clip(theta, self.low, self.high)
        self.curvature = np.tile(np.eye(2), (len(nodes), 1, 1))
        self.share = np.ones(len(nodes))  # of a full step: less after one that led down

    def roughly(self, rough: RoughEvidence) -> None:
        """Climb the rough evidence by a few steps."""
        h = STENCIL * np.array([-1.0, 0.0, 1.0])
        for _ in range(ROUGH_STEPS):
            scales, noise = np.exp(self.theta[:, :1] + h), np.exp(self.theta[:, 1:] + h)
            around = rough.at(self.parents, self.nodes[:, None], scales, np.repeat(noise[:, None], 3, axis=1))[:, 0]
            gradient, self.curvature = _slopes(around)
            self.theta, _ = self._step(np.arange(len(self.nodes)), gradient)

    def exactly(self, empty: float) -> tuple[Floats, Floats, Floats]:
        """Climb to the maximum; return the log evidence there, its place (m, 2), and the amplitude.

        A climb also ends where the evidence without any function, ``empty``, is out of reach.
        """
        active = np.arange(len(self.nodes))
        self.evidence, self.amplitude, self.gradient = self._evaluate(active, self.theta)
        for _ in range(CLIMB_STEPS):
            trial, promise = self._step(active, self.gradient[active])
            going = (promise > CLIMB_GAIN) & (self.evidence[active] + HOPE * promise > empty)
            active, trial, last = active[going], trial[going], promise[going] <= LAST_GAIN
            if len(active) == 0:
                break
            done = active[last][self._try(active[last], trial[last], slopes=False)]
            self._try(active[~last], trial[~last], slopes=True)
            active = np.setdiff1d(active, done)
        return self.evidence, self.theta, self.amplitude

    def _try(self, rows: Indices, trial: Floats, slopes: bool) -> Bools:
        """Go where the evidence is higher; return whether it is."""
        if len(rows) == 0:
            return np.zeros(0, dtype=bool)
        evidence, amplitude, gradient = self._evaluate(rows, trial, slopes)
        if slopes:
            self._learn(rows, trial - self.theta[rows], self.gradient[rows] - gradient)
        better = evidence > self.evidence[rows]
        self.share[rows] = np.where(better, 1.0, self.share[rows] / 4)
        kept = rows[better]
        self.theta[kept], self.evidence[kept] = trial[better], evidence[better]
        self.amplitude[kept], self.gradient[kept] = amplitude[better], gradient[better]
        return better

    def _step(self, rows: Indices, gradient: Floats) -> tuple[Floats, Floats]:
        """Return where a Newton step leads, cut to the bounds and its longest length, and the gain it promises."""
        here, low, high, curvature = self.theta[rows], self.low[rows], self.high[rows], self.curvature[rows]
        free = ~(((here <= low) & (gradient < 0)) | ((here >= high) & (gradient > 0)))
        both = free[:, :, None] & free[:, None, :]
        slope = np.where(free, gradient, 0.0)
        move = np.linalg.solve(np.where(both, curvature, np.eye(2)), slope[:, :, None])[:, :, 0]
        move *= self.share[rows, None]
        move *= np.minimum(1.0, (np.array(CLIMB_REACH) / np.maximum(np.abs(move), 1e-300)).min(axis=1))[:, None]
        promise = (slope * move).sum(axis=1) - 0.5 * np.einsum("mi,mij,mj->m", move, curvature, move)
        return np.clip(here + move, low, high), promise

    def _learn(self, rows: Indices, moves: Floats, falls: Floats) -> None:
        """Correct the curvature by how far the gradient fell on a move."""
        product = (moves * falls).sum(axis=1)
        used = product > 1e-6 * (moves**2).sum(axis=1)
        rows, move, fall, product = rows[used], moves[used], falls[used], product[used, None, None]
        bent = np.einsum("mij,mj->mi", self.curvature[rows], move)
        before = (move * bent).sum(axis=1)[:, None, None]
        self.curvature[rows] += (
            fall[:, :, None] * fall[:, None, :] / product - bent[:, :, None] * bent[:, None, :] / before
        )

    def _evaluate(self, rows: Indices, theta: Floats, slopes: bool = True) -> tuple[Floats, Floats, Floats]:
        """Return log evidence (m,), amplitude (m,) and gradient (m, 2) of some families; without slopes it is 0."""
        data, found = self.data, []
        for part in data.chunks(len(rows)):
            squared = data.squared_distances(self.parents[rows[part]])
            targets = data.targets(self.nodes[rows[part]][:, None])
            place = torch.as_tensor(theta[part], device=data.device)
            noise = place[:, 1].exp()
            scaled = squared.mul_((-2 * place[:, 0]).exp()[:, None, None])
            kernel = torch.mul(scaled, -0.5, out=data.scratch("kernel", len(squared))).exp_()
            change = scaled.mul_(kernel) if slopes else scaled  # dK / d log length scale
            kernel.diagonal(dim1=1, dim2=2).add_(noise[:, None])
            log_determinant = factorize(kernel)
            weights = solved(kernel, targets)
            quadratic = (targets * weights).sum(dim=(1, 2))
            amplitude = quadratic / data.n_rows
            gradient = torch.zeros_like(place)
            if slopes:
                lower = invert(kernel)
                fit = torch.stack(
                    [(weights * (change @ weights)).sum(dim=(1, 2)), noise * weights.square().sum(dim=(1, 2))], 1
                )
                along = 2 * torch.linalg.vecdot(lower.flatten(1), change.flatten(1))  # the diagonal of the change is 0
                traces = torch.stack([along, noise * lower.diagonal(dim1=1, dim2=2).sum(dim=1)], 1)
                gradient = 0.5 * (fit / amplitude[:, None] - traces)
            evidence = profile_evidence(data.n_rows, quadratic, log_determinant)
            found.append([value.cpu().numpy() for value in (evidence, amplitude, gradient)])
        first, second, third = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return first, second, third


def _slopes(around: Floats) -> tuple[Floats, Floats]:
    """Return gradient (m, 2) and curvature (m, 2, 2), made positive, of values (m, 3, 3) on a stencil."""
    first, second = around[:, :, 1], around[:, 1, :]  # along the length scale, along the noise
    gradient = np.stack([first[:, 2] - first[:, 0], second[:, 2] - second[:, 0]], axis=1) / (2 * STENCIL)
    bend = -np.stack([np.diff(line, n=2, axis=1)[:, 0] for line in (first, second)], axis=1)
    twist = -(around[:, 2, 2] - around[:, 2, 0] - around[:, 0, 2] + around[:, 0, 0]) / 4
    matrix = np.stack([bend[:, 0], twist, twist, bend[:, 1]], axis=1).reshape(-1, 2, 2) / STENCIL**2
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(np.abs(values), LEAST_CURVATURE)
    return gradient, np.einsum("mij,mj,mkj->mik", vectors, values, vectors)
