"""The length scale of the paper's Gaussian-process regressions, at the maximum of the marginal likelihood.

The module is long because the search and the formulas of its interpolation and derivatives are read together.
"""

from typing import NamedTuple

import numpy as np
import torch
from scipy.interpolate import CubicHermiteSpline, CubicSpline

from drbo.arrays import Bools, Floats, Indices
from drbo.scores.gp.kernels import KernelData, ParentSets, quadratic_form, rbf_kernel, solve

#: Range of the length scale, as in the authors' program.
SCALE_RANGE = (1.0, 1e5)
#: Distance of the length scales at which every parent set is evaluated, in the unit of :class:`_Axis`.
NODE_SPACING = 1.15
#: The nodes are denser at short scales, where the likelihood bends most: positions 1 - (1 - k / K)^power.
NODE_POWER = 1.3
#: Where u is less than this at the longest scale, the function is constant there and needs no factorisation.
FLAT = 1e-6
#: Points per unit on which the interpolated likelihood is searched for its maxima.
MESH_DENSITY = 40
#: A second maximum this close (in log likelihood) under the first is followed too.
PEAK_MARGIN = 2.0
#: The end of the range is the maximum without further search if the likelihood rises there by this much per unit and
#: by this part of its mean slope since the last node.
END_SLOPE, END_PART = 1.0, 0.3
#: First and longest step of the refinement, and how often it is repeated at most.
PROBE, LONGEST_STEP, REFINEMENTS = 0.02, 0.5, 12
#: A step is final if it is this short, from two evaluations this close to each other.
FINAL_STEP, FINAL_GAP = 0.025, 0.1
#: Nodes closer than this to an evaluated point do not help to interpolate there.
NODE_GAP = 1e-3
#: Squared distances under this part of their mean are rounding errors between equal rows.
EQUAL_ROWS = 1e-12


class _Axis:
    """The length scale l as ``u = ln(1 + c / l^2)``, in which the likelihood bends evenly.

    With c = n * variance / alpha, u is what a linear trend adds to the log determinant: it runs to 0 where the scale is
    so long that the function is flat.
    """

    def __init__(self, n: int, variance: float, alpha: float) -> None:
        self.c = n * variance / alpha
        ends = np.log1p(self.c / np.square(SCALE_RANGE))
        count = max(5, int(np.ceil((ends[0] - ends[1]) / NODE_SPACING)) + 1)
        share = 1 - (1 - np.arange(count) / (count - 1)) ** NODE_POWER
        self.nodes = ends[1] + (ends[0] - ends[1]) * share  # (G,) ascending: long scales first
        self.mesh = np.linspace(ends[1], ends[0], max(100, int(MESH_DENSITY * (ends[0] - ends[1]))))

    def log_scale(self, u: Floats) -> Floats:
        """Return the log length scale at u."""
        scale: Floats = np.clip(0.5 * (np.log(self.c) - np.log(np.expm1(u))), *np.log(SCALE_RANGE))
        return scale

    def stretch(self, u: Floats) -> Floats:
        """Return d(log scale) / du."""
        slope: Floats = 0.5 / np.expm1(-u)
        return slope


class _Points(NamedTuple):
    """Families evaluated at some length scales; the last axis runs over the scales."""

    log_determinant: Floats
    quadratic: Floats
    slope: Floats  # of the quadratic form, per u
    log_mse: Floats


class LengthScaleSearch:
    """Maximises the marginal likelihood over the length scale, for a batch of parent sets and their children.

    The log determinant is shared by all children of a parent set and costs most; the quadratic form comes with its
    slope for little more. Both are evaluated at a few nodes and interpolated to find the maxima; each maximum is then
    refined by Newton steps, which needs two or three more factorisations.
    """

    def __init__(self, data: KernelData, sets: ParentSets, alpha: float, median_scale: bool) -> None:
        self.data, self.sets, self.alpha = data, sets, alpha
        self.log_unit = _log_medians(data, sets.parents) if median_scale else np.zeros(len(sets.parents))
        variance = 0.5 if median_scale else float(data.inputs[:-1].var(dim=1, correction=0).mean())
        self.axis = _Axis(data.n_rows, variance, alpha)

    def run(self) -> tuple[Floats, Floats, Floats]:
        """Return log likelihood, length scale and ln MSE of each family."""
        sets, nodes, mesh = self.sets, self.axis.nodes, self.axis.mesh
        log_determinant, *rest = self._evaluate_nodes()
        quadratic, slope, log_mse = (values[sets.row, sets.column] for values in rest)  # (m, G)
        spline = CubicSpline(nodes, log_determinant, axis=1)
        self.at_nodes = _Points(log_determinant[sets.row], quadratic, slope, log_mse)
        hermite = CubicHermiteSpline(nodes, np.log(quadratic), slope / quadratic, axis=1)
        curve = self._likelihood(spline(mesh)[sets.row], np.exp(hermite(mesh)))  # (m, M)
        at_nodes = self._likelihood(log_determinant[sets.row], quadratic)
        best = np.argmax(at_nodes, axis=1)
        m = np.arange(len(best))
        found = np.stack([at_nodes[m, best], nodes[best], log_mse[m, best]])  # (3, m)
        family, start = _peaks(curve)
        slope = np.gradient(curve, mesh, axis=1)[family, start]
        inner = (start > 0) & (start < len(mesh) - 1)
        mean_slope = np.where(start == 0, *(np.diff(at_nodes)[family][:, k] / np.diff(nodes)[k] for k in (0, -1)))
        inner |= np.abs(slope) < np.maximum(END_SLOPE, END_PART * np.abs(mean_slope))
        gained = self._keep(found, family[inner], self._refine(family[inner], mesh[start[inner]], slope[inner]))
        missed = np.flatnonzero(~gained & (best > 0) & (best < len(nodes) - 1))  # the interpolation misled
        self._keep(found, missed, self._refine(missed, nodes[best[missed]], np.ones(len(missed))))
        return found[0], np.exp(self.axis.log_scale(found[1]) + self.log_unit[sets.row]), found[2]

    def _evaluate_nodes(self) -> _Points:
        """Evaluate every parent set at every node; at the longest scale by a formula, where the function is flat."""
        sets, nodes = self.sets, self.axis.nodes
        flat = nodes[0] < FLAT
        every = np.arange(len(sets.parents))
        found = self._evaluate(every, sets.children, np.tile(nodes[1:] if flat else nodes, (len(every), 1)))
        if not flat:
            return found
        return _Points(
            *(np.concatenate([end[..., None], part], axis=-1) for end, part in zip(self._flat(), found, strict=True))
        )

    def _flat(self) -> _Points:
        """Evaluate every parent set where the scale is infinite: the kernel is 1 everywhere, its slope a distance."""
        n, children = self.data.n_rows, self.sets.children
        inputs, outputs = self.data.inputs[:-1].cpu().numpy(), self.data.outputs.cpu().numpy()
        weights = (outputs - outputs.sum(axis=1, keepdims=True) / (n + self.alpha)) / self.alpha  # (d + 1, n)
        # half of weights' D weights, parent by parent: D has the elements (x_a - x_b)^2
        moment = weights.sum(axis=1) * (inputs**2 @ weights.T) - (inputs @ weights.T) ** 2  # (d, d + 1)
        slope = self.sets.parents @ moment * np.exp(-2 * self.log_unit)[:, None] / self.axis.c
        log_determinant = n * np.log(self.alpha) + np.log1p(n / self.alpha)
        with np.errstate(divide="ignore"):  # free places: a column of zeros
            log_mse = 2 * np.log(self.alpha) + np.log((weights**2).mean(axis=1))
        return _Points(
            np.full(len(children), log_determinant),
            (outputs * weights).sum(axis=1)[children],
            np.take_along_axis(slope, children, axis=1),
            log_mse[children],
        )

    def _refine(
        self,
        family: Indices,  # (k,)
        u: Floats,  # (k,)
        direction: Floats,  # (k,) its sign: where to look first
    ) -> Floats:
        """Return log likelihood, u and ln MSE (3, k) at the maximum near u."""
        low, high = self.axis.mesh[[0, -1]]
        active, here = np.arange(len(family)), u
        old = self._evaluate_families(family, here)
        result = np.stack([self._likelihood(old.log_determinant, old.quadratic), u, old.log_mse])
        there = _apart(here, here + PROBE * np.sign(direction), low, high)
        for _ in range(REFINEMENTS):
            new = self._evaluate_families(family[active], there)
            near = self._near(here, there)
            points = np.column_stack([here, there, self.axis.nodes[near]])  # (k, 6)
            at_nodes = [np.take_along_axis(values[family[active]], near, axis=1) for values in self.at_nodes]
            around = [np.column_stack([*pair]) for pair in zip(old, new, at_nodes, strict=True)]
            first, second, third = _derivatives(points, *around[:3])
            step = np.clip(there + _newton_step(first, second, third), low, high) - there
            going = (np.abs(there - here) > FINAL_GAP) | (np.abs(step) > FINAL_STEP)
            last = np.where(going, 0.0, step)  # a long step is not trusted but evaluated next
            gain = last * (first + last / 2 * (second + last / 3 * third))
            value = self._likelihood(new.log_determinant, new.quadratic) + gain
            better = ~going | (value > result[0, active])
            found = np.stack([value, there + last, _interpolate(points, around[3], there + last)])
            result[:, active[better]] = found[:, better]
            if not going.any():
                break
            active, here, old = active[going], there[going], _Points(*(values[going] for values in new))
            there = _apart(here, here + step[going], low, high)
        return result

    def _near(self, here: Floats, there: Floats) -> Indices:
        """Return the four nodes (k, 4) around two points."""
        distance = np.abs(there[:, None] - self.axis.nodes)
        least = min(NODE_GAP, 0.05 * np.diff(self.axis.nodes).min())
        distance[np.minimum(distance, np.abs(here[:, None] - self.axis.nodes)) < least] = np.inf
        near: Indices = np.argsort(distance, axis=1, kind="stable")[:, :4]
        return near

    def _evaluate_families(self, family: Indices, u: Floats) -> _Points:
        """Evaluate each family at one length scale of its own."""
        row, column = self.sets.row[family], self.sets.column[family]
        log_determinant, *rest = self._evaluate(row, self.sets.children[row, column][:, None], u[:, None])
        return _Points(log_determinant[:, 0], *(values[:, 0, 0] for values in rest))

    def _keep(self, found: Floats, family: Indices, refined: Floats) -> Bools:
        """Write what is not worse than before into ``found`` (3, m); return which families gained."""
        gained = np.zeros(found.shape[1], dtype=bool)
        for place in np.argsort(refined[0], kind="stable"):
            if refined[0, place] >= found[0, family[place]] - 1e-9 * abs(found[0, family[place]]):
                found[:, family[place]] = refined[:, place]
                gained[family[place]] = True
        return gained

    def _likelihood(self, log_determinant: Floats, quadratic: Floats) -> Floats:
        """Return the log marginal likelihood."""
        likelihood: Floats = -0.5 * (quadratic + log_determinant + self.data.n_rows * np.log(2 * np.pi))
        return likelihood

    def _evaluate(
        self,
        rows: Indices,  # (k,) parent sets
        children: Indices,  # (k, C)
        u: Floats,  # (k, G)
    ) -> _Points:
        """Factorise the kernel of each parent set at each length scale, and solve for its children."""
        data, (count, places) = self.data, u.shape
        log_determinant = np.empty((count, places))
        values = np.empty((3, count, children.shape[1], places))
        log_scale = self.axis.log_scale(u) + self.log_unit[rows][:, None]
        for part in data.chunks(count):
            squared = data.squared_distances(self.sets.parents[rows[part]])
            targets = data.targets(children[part])
            widths = torch.as_tensor(np.exp(-2 * log_scale[part]), device=data.device)
            kernel, work = (data.scratch(name, len(squared)) for name in ("kernel", "work"))
            for g in range(places):
                rbf_kernel(squared, widths[:, g], kernel)
                determinants, weights = solve(kernel, self.alpha, targets, work)
                log_determinant[part, g] = determinants.cpu().numpy()
                # dK / d log length scale = kernel * squared / scale^2
                slope = -quadratic_form(kernel, squared, weights, work) * widths[:, g, None]
                found = torch.stack([(targets * weights).sum(dim=1), slope, weights.square().mean(dim=1)])
                values[:, part, :, g] = found.cpu().numpy()
        values[1] *= self.axis.stretch(u)[:, None, :]
        with np.errstate(divide="ignore"):  # free places: a column of zeros
            return _Points(log_determinant, values[0], values[1], 2 * np.log(self.alpha) + np.log(values[2]))


def _derivatives(
    points: Floats,  # (k, 6), the first two evaluated, the others nodes
    log_determinant: Floats,  # (k, 6)
    quadratic: Floats,  # (k, 6)
    slope: Floats,  # (k, 6) of the quadratic form
) -> tuple[Floats, Floats, Floats]:
    """Return the first three derivatives (k,) of the log likelihood at the second point.

    The slope of the log determinant is that of the polynomial through all points; the slope of the quadratic form is
    known. Values and slopes at two points give the higher derivatives by Hermite's formulas.
    """
    gap = points[:, 1] - points[:, 0]
    rise = -0.5 * np.diff((log_determinant + quadratic)[:, :2], axis=1)[:, 0] / gap
    before, first = (-0.5 * (_slope_at(points, log_determinant, k) + slope[:, k]) for k in (0, 1))
    second = (2 * before + 4 * first - 6 * rise) / gap
    third = 6 * (before + first - 2 * rise) / gap**2
    return first, second, third


def _newton_step(first: Floats, second: Floats, third: Floats) -> Floats:
    """Return the step to the maximum of a cubic; a long step uphill where it is not peaked."""
    peaked = second < 0
    bend = np.where(peaked, second, -1.0)
    step = np.where(peaked, -first / bend, np.sign(first) * LONGEST_STEP)
    step *= 1 - np.where(peaked, np.clip(0.5 * third / bend * step, -0.5, 0.5), 0.0)
    limited: Floats = np.clip(step, -LONGEST_STEP, LONGEST_STEP)
    return limited


def _weights(points: Floats) -> Floats:
    """Return the barycentric weights (k, p) of the polynomial through p points."""
    apart = points[:, :, None] - points[:, None, :] + np.eye(points.shape[1])
    weights: Floats = 1 / apart.prod(axis=2)
    return weights


def _slope_at(points: Floats, values: Floats, k: int) -> Floats:
    """Return the slope at point k of the polynomial through all points (Berrut & Trefethen 2004)."""
    others = np.delete(np.arange(points.shape[1]), k)
    weights = _weights(points)
    rises = (values[:, others] - values[:, [k]]) / (points[:, [k]] - points[:, others])
    slopes: Floats = (weights[:, others] / weights[:, [k]] * rises).sum(axis=1)
    return slopes


def _interpolate(points: Floats, values: Floats, u: Floats) -> Floats:
    """Return the polynomial through all points at u (k,), by the barycentric formula."""
    distance = u[:, None] - points
    hit = distance == 0
    share = np.where(hit.any(axis=1, keepdims=True), hit, _weights(points) / np.where(hit, 1.0, distance))
    at_u: Floats = (share * values).sum(axis=1) / share.sum(axis=1)
    return at_u


def _apart(here: Floats, there: Floats, low: float, high: float) -> Floats:
    """Keep the next point inside the range and at least PROBE / 2 away from this one."""
    move = np.clip(there, low, high) - here
    least = min(PROBE / 2, (high - low) / 4)
    move = np.where(np.abs(move) < least, np.where(move < 0, -least, least), move)
    inside = (here + move >= low) & (here + move <= high)
    return here + np.where(inside, move, -move)


def _peaks(curve: Floats) -> tuple[Indices, Indices]:
    """Return (family, point) of the highest peak of each curve (m, M), and of the second where it is close."""
    padded = np.pad(curve, ((0, 0), (1, 1)), constant_values=-np.inf)
    peak = np.where((curve >= padded[:, :-2]) & (curve > padded[:, 2:]), curve, -np.inf)
    family = np.arange(len(curve))
    first = np.argmax(peak, axis=1)
    highest = peak[family, first]
    peak[family, first] = -np.inf
    second = np.argmax(peak, axis=1)
    close = peak[family, second] > highest - PEAK_MARGIN
    return np.concatenate([family, family[close]]), np.concatenate([first, second[close]])


def _log_medians(data: KernelData, parents: Bools) -> Floats:
    """Return the log of the median distance of unequal rows, per parent set."""
    medians = np.empty(len(parents))
    for part in data.chunks(len(parents)):
        squared = data.squared_distances(parents[part]).flatten(1)
        squared[squared <= EQUAL_ROWS * squared.mean(dim=1, keepdim=True)] = torch.nan
        medians[part] = squared.nanmedian(dim=1).values.cpu().numpy()
    log_medians: Floats = 0.5 * np.log(np.nan_to_num(medians, nan=1.0))  # nan: all rows are equal
    return log_medians
