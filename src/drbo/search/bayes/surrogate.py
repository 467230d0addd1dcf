"""A Gaussian process per node over its parent sets: the surrogate of the climbs.

The covariance of the local scores of two parent sets x and x' of one node is, up to a scale per node,

    c + t (4 / d) <x, x'> + (1 - t) exp(-theta |x - x'|) + r m(x) m(x'),

with |x - x'| the number of candidates in one set and not in the other: a level, a trend that every parent adds to, and
what remains, alike for sets that differ little. Where the score has a cheap relative, m is its value, standardised: it
is learned how far the score goes along with its relative, and what is left between them. theta, the share t of the
trend and the noise are chosen by marginal likelihood from a small grid, the scale in closed form. A few hundred
families per node make this exact and quick.

The module is long because the surrogate updates its factorisations instead of computing them again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from drbo.arrays import Bools, Floats, Indices, Ints
from drbo.machine.threads import one_blas_thread
from drbo.scores.families import Families
from drbo.search.bayes.climb import Drawn
from drbo.search.state import Fields, State

#: The grid of hyperparameters, searched anew whenever a node's families have grown by half.
THETAS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
TRENDS = (0.0, 0.3, 0.8)
NOISES = (1e-4, 1e-2)
GRID = {"theta": THETAS, "trend": TRENDS, "noise": NOISES}
#: The noise of a family grows from this share of it with the distance of its value from the best one.
LEAST_NOISE = 1e-2
GROWTH = 1.5
#: Families that choose the hyperparameters: the newest ones are near where the search is.
TUNING_ROWS = 300
#: Prior variance of the level, in units of the scale.
LEVEL_VARIANCE = 4.0
#: Prior variance of the slope along a cheap relative, both standardised.
RELATIVE_VARIANCE = 4.0
#: Families a node keeps; beyond, those nearest to the best graph's stay.
MAX_FAMILIES, KEPT_FAMILIES = 512, 384
#: Random parity features in a draw from the prior.
N_FEATURES = 64
#: Drawn values are cut to the known range, widened by this share of it below and above.
MARGIN_LOW, MARGIN_HIGH = 0.3, 1.0
MIN_SPREAD = 1e-3


@dataclass(eq=False)
class _Node:
    """The process of one node: its families, its hyperparameters, and the Cholesky factor of their covariance."""

    n_nodes: int
    has_relative: bool = False
    sets: Floats = field(init=False)  # (n, d), 0 or 1
    values: Floats = field(init=False)  # (n,)
    cheap: Floats = field(init=False)  # (n,) values of the relative; zeros without one
    cheap_mean: float = 0.0
    cheap_spread: float = 1.0
    theta: float = 0.2
    trend: float = 0.3
    noise: float = 1e-3
    tuned_at: int = 0
    factor: Floats = field(init=False)  # (n, n), lower
    rows: Ints = field(init=False)  # (n,) places of the families among all that were added
    grown: list[int] = field(default_factory=list)  # sizes of the factor since it was last computed anew

    def __post_init__(self) -> None:
        self.sets, self.values, self.cheap = np.empty((0, self.n_nodes)), np.empty(0), np.empty(0)
        self.factor, self.rows = np.empty((0, 0)), np.empty(0, dtype=np.int64)

    def add(self, sets: Floats, values: Floats, cheap: Floats, rows: Ints) -> None:
        """Add families; the factor grows by as many rows."""
        self._append(sets, values, cheap, rows)
        if len(self.values) >= GROWTH * self.tuned_at:
            self._tune()
            self._refactor()
        else:
            self._grow()

    def _append(self, sets: Floats, values: Floats, cheap: Floats, rows: Ints) -> None:
        self.sets, self.values = np.concatenate([self.sets, sets]), np.concatenate([self.values, values])
        self.cheap, self.rows = np.concatenate([self.cheap, cheap]), np.concatenate([self.rows, rows])

    def add_again(self, sizes: list[int], sets: Floats, values: Floats, cheap: Floats, rows: Ints) -> None:
        """Add all families in the steps in which the factor grew, so that it is the same to the last bit."""
        for first, last in pairwise([0, *sizes]):
            self._append(sets[first:last], values[first:last], cheap[first:last], rows[first:last])
            if first > 0:
                self._grow()
            else:
                self.tuned_at = last
                self._measure_cheap()
                self._refactor()

    def _grow(self) -> None:
        n = len(self.factor)
        self.grown.append(len(self.values))
        old, new = slice(n), slice(n, None)
        across = solve_triangular(self.factor, self._covariance(old, new), lower=True)
        corner = np.linalg.cholesky(
            self._covariance(new, new, self._noises(self.standardized())[n:]) - across.T @ across
        )
        grown = np.zeros((len(self.values), len(self.values)))
        grown[:n, :n], grown[n:, :n], grown[n:, n:] = self.factor, across.T, corner
        self.factor = grown

    def forget(self, center: Floats) -> None:
        """Keep the families nearest to a parent set, the newest first among equals."""
        distance = np.abs(self.sets - center).sum(axis=1)
        kept = np.sort(np.lexsort((-np.arange(len(distance)), distance))[:KEPT_FAMILIES])
        self.sets, self.values, self.cheap = self.sets[kept], self.values[kept], self.cheap[kept]
        self.rows = self.rows[kept]
        self._tune()
        self._refactor()

    def _refactor(self) -> None:
        self.grown = []
        noises = self._noises(self.standardized())
        every = slice(None)
        self.factor = np.asarray(np.linalg.cholesky(self._covariance(every, every, noises)), dtype=np.float64)

    @property
    def along(self) -> Floats:
        """The cheap values, standardised."""
        result: Floats = (self.cheap - self.cheap_mean) / self.cheap_spread
        return result

    def _covariance(self, rows: slice, columns: slice, noise: Floats | None = None) -> Floats:
        along = self.along
        matrix = self._kernel(self.sets[rows], along[rows], self.sets[columns], along[columns])
        if noise is not None:
            matrix[np.diag_indices(len(matrix))] += noise
        return matrix

    def _kernel(self, left: Floats, along_left: Floats, right: Floats, along_right: Floats) -> Floats:
        common = left @ right.T
        apart = left.sum(axis=1)[:, None] + right.sum(axis=1)[None, :] - 2 * common
        matrix: Floats = LEVEL_VARIANCE + self.trend * 4 / self.n_nodes * common
        matrix += (1 - self.trend) * np.exp(-self.theta * apart)
        if self.has_relative:
            matrix += RELATIVE_VARIANCE * np.outer(along_left, along_right)
        return matrix

    def mean(self, sets: Floats, cheap: Floats) -> Floats:
        """Return the posterior mean of parent sets (m, d)."""
        along = (cheap - self.cheap_mean) / self.cheap_spread
        weights = cho_solve((self.factor, True), self.standardized())
        result: Floats = self.values.mean() + self.spread * (self._kernel(sets, along, self.sets, self.along) @ weights)
        return result

    def _tune(self) -> None:
        """Set theta, trend and noise to the best of the grid by marginal likelihood."""
        rows, values = slice(-TUNING_ROWS, None), self.standardized()[-TUNING_ROWS:]
        self._measure_cheap()
        best = -np.inf
        chosen = self.theta, self.trend, self.noise
        for self.theta in THETAS:
            for self.trend in TRENDS:
                covariance = self._covariance(rows, rows)
                for self.noise in NOISES:
                    factor = np.linalg.cholesky(covariance + np.diag(self._noises(values)))
                    scale = np.mean(solve_triangular(factor, values, lower=True, check_finite=False) ** 2)
                    likelihood = -0.5 * len(values) * np.log(scale + 1e-12) - np.log(np.diag(factor)).sum()
                    if likelihood > best:
                        best, chosen = likelihood, (self.theta, self.trend, self.noise)
        self.theta, self.trend, self.noise = chosen
        self.tuned_at = len(self.values)

    def _measure_cheap(self) -> None:
        if self.has_relative:
            self.cheap_mean, self.cheap_spread = float(self.cheap.mean()), max(float(self.cheap.std()), MIN_SPREAD)

    def _noises(self, values: Floats) -> Floats:
        """Return the noise variance of each family: values far from the best need not be met exactly."""
        distance = values - values.min()
        result: Floats = self.noise * np.minimum(LEAST_NOISE + distance**2, 1.0)
        return result

    @property
    def spread(self) -> float:
        """The scale of the values."""
        return max(float(self.values.std()), MIN_SPREAD)

    def standardized(self) -> Floats:
        """Return the values with mean 0 and spread 1."""
        result: Floats = (self.values - self.values.mean()) / self.spread
        return result


class GpSurrogate:
    """Gaussian processes over the parent sets of every node."""

    def __init__(self, n_nodes: int, has_relative: bool = False, nested: bool = False) -> None:
        self.n_nodes, self.has_relative = n_nodes, has_relative
        self.nested = nested  # a superset never has a higher value
        self._nodes = [_Node(n_nodes, has_relative) for _ in range(n_nodes)]
        self._count = 0  # families that were added

    def capture(self) -> State:
        """Return the state: the families of each node, its hyperparameters, and how its factor grew."""
        every = self._nodes
        return {
            "count": self._count,
            "rows": np.concatenate([node.rows for node in every]),
            "sizes": np.array([len(node.rows) for node in every]),
            "tuned_at": np.array([node.tuned_at for node in every]),
            "grown": np.array([size for node in every for size in node.grown], dtype=np.int64),
            "steps": np.array([len(node.grown) for node in every]),
            **{name: np.array([getattr(node, name) for node in every]) for name in GRID},
        }

    def restore(
        self,
        fields: Fields,
        families: Families,  # all that were added
        values: Floats,
        cheap: Callable[[Families], Floats] | None,
    ) -> None:
        """Set the state."""
        count, d = fields.integer("count", len(families), len(families)), self.n_nodes
        least = min(1, count)  # every DAG has a family of each node
        sizes = fields.array("sizes", np.int64, (d,), least, MAX_FAMILIES)
        tuned_at = fields.array("tuned_at", np.int64, (d,), least, MAX_FAMILIES)
        steps = fields.array("steps", np.int64, (d,), 0, MAX_FAMILIES)
        rows = fields.array("rows", np.int64, (int(sizes.sum()),), 0, count - 1)
        grown = fields.array("grown", np.int64, (int(steps.sum()),))
        grid = {name: fields.array(name, np.float64, (d,), min(one), max(one)) for name, one in GRID.items()}
        self._count = count
        for node in range(d if count else 0):
            own, rows = np.split(rows, sizes[node : node + 1])
            turns, grown = np.split(grown, steps[node : node + 1])
            path = [int(tuned_at[node]), *turns.tolist()]
            if (np.diff(own) <= 0).any() or (families.nodes[own] != node).any():
                fields.refuse("rows", "list the families of each node in the order in which they were scored", "others")
            if path[-1] != len(own) or (np.diff(path) <= 0).any():
                fields.refuse("grown", f"increase from tuned_at to {len(own)} families", f"{path!s:.80}")
            theta, trend, noise = (float(grid[name][node]) for name in GRID)
            self._nodes[node] = process = _Node(d, self.has_relative, theta=theta, trend=trend, noise=noise)
            relative = np.zeros(len(own)) if cheap is None else cheap(families[own])
            try:
                with one_blas_thread():
                    process.add_again(path, families.parents[own].astype(np.float64), values[own], relative, own)
            except np.linalg.LinAlgError:
                fields.refuse("rows", "be families with a covariance", "others")

    def add(
        self,
        nodes: Indices,  # (m,)
        parents: Bools,  # (m, d)
        local: Floats,  # (m,)
        center: Bools,  # (d, d): the best DAG
        cheap: Floats | None = None,  # (m,) by the cheap relative, if there is one
    ) -> None:
        """Learn the values of new families."""
        cheap = np.zeros(len(local)) if cheap is None else cheap
        places = self._count + np.arange(len(local))
        self._count += len(local)
        with one_blas_thread():
            for node, process in enumerate(self._nodes):
                rows = nodes == node
                if rows.any():
                    process.add(parents[rows].astype(np.float64), local[rows], cheap[rows], places[rows])
                    if len(process.values) > MAX_FAMILIES:
                        process.forget(center[:, node].astype(np.float64))

    def mean(self, families: Families, cheap: Floats | None = None) -> Floats:
        """Return the posterior means of families (m,)."""
        cheap, result = np.zeros(len(families)) if cheap is None else cheap, np.empty(len(families))
        with one_blas_thread():
            for node in np.unique(families.nodes).tolist():
                rows = families.nodes == node
                result[rows] = self._nodes[node].mean(families.parents[rows].astype(np.float64), cheap[rows])
        return result

    def draw(self, n: int, rng: np.random.Generator, temperature: float = 1.0) -> Drawn:
        """Draw n functions from the posterior; a temperature below 1 keeps them nearer to its mean.

        A draw is one of the prior, moved by the covariance with the known families onto values drawn for those
        (Matheron's rule; Wilson et al. 2020). The exponential kernel of the Hamming distance is the mean of products
        of random parities.
        """
        d, counts = self.n_nodes, [len(process.values) for process in self._nodes]
        starts = np.concatenate([[0], np.cumsum(counts)])
        members = np.empty((d, d, N_FEATURES))
        drawn = Drawn(
            signs=np.ascontiguousarray(2 * np.concatenate([process.sets for process in self._nodes]).T - 1),
            starts=starts,
            decay=np.exp(-np.array([process.theta for process in self._nodes])[:, None] * np.arange(d + 1)),
            members=members,
            offset=np.empty((n, d)),
            slope=np.empty((n, d, d)),
            weight=np.empty((n, starts[-1])),
            amplitude=np.empty((n, d, N_FEATURES)),
            relative=np.empty((n, d if self.has_relative else 0)),
            low=np.array([process.values.min() - MARGIN_LOW * np.ptp(process.values) for process in self._nodes]),
            high=np.array([process.values.max() + MARGIN_HIGH * np.ptp(process.values) for process in self._nodes]),
            truth=np.concatenate([process.values for process in self._nodes]) if self.nested else np.empty(0),
        )
        with one_blas_thread():
            for node, process in enumerate(self._nodes):
                self._draw_node(node, process, drawn, rng, temperature)
        return drawn

    def _draw_node(self, node: int, process: _Node, drawn: Drawn, rng: np.random.Generator, temperature: float) -> None:
        d, n = self.n_nodes, len(drawn.offset)
        targets, spread = process.standardized(), process.spread
        whitened = solve_triangular(process.factor, targets, lower=True, check_finite=False)
        deviation = temperature * np.sqrt(np.mean(whitened**2))
        member = rng.random((d, N_FEATURES)) < (1 - np.exp(-process.theta)) / 2
        parity = 1.0 - 2.0 * (process.sets @ member % 2)  # (m, F)
        amplitude = rng.normal(size=(n, N_FEATURES)) * deviation * np.sqrt((1 - process.trend) / N_FEATURES)
        slope = rng.normal(size=(n, d)) * deviation * np.sqrt(process.trend * 4 / d)
        level = rng.normal(size=n) * deviation * np.sqrt(LEVEL_VARIANCE)
        noise = rng.normal(size=(n, len(targets))) * deviation * np.sqrt(process._noises(targets))
        prior = amplitude @ parity.T + slope @ process.sets.T + level[:, None] + noise
        if process.has_relative:
            follows = rng.normal(size=n) * deviation * np.sqrt(RELATIVE_VARIANCE)
            prior += follows[:, None] * process.along
        weight = cho_solve((process.factor, True), (targets - prior).T, check_finite=False).T  # (n, m)
        drawn.members[node] = member
        drawn.amplitude[:, node] = spread * amplitude
        drawn.slope[:, node] = spread * (slope + process.trend * 4 / d * (weight @ process.sets))
        level = level + LEVEL_VARIANCE * weight.sum(axis=1)
        drawn.offset[:, node] = process.values.mean() + spread * level
        if process.has_relative:
            follows = spread * (follows + RELATIVE_VARIANCE * (weight @ process.along)) / process.cheap_spread
            drawn.relative[:, node] = follows
            drawn.offset[:, node] -= follows * process.cheap_mean
        drawn.weight[:, drawn.starts[node] : drawn.starts[node + 1]] = spread * (1 - process.trend) * weight
