"""A Gaussian process by random features: a regression on waves, which sees causes that act only together."""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from drbo.arrays import Floats
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.units import unit_free, winsorized
from drbo.deadline import current
from drbo.machine.threads import one_blas_thread
from drbo.scores.base import Score
from drbo.scores.families import Families, row_groups
from drbo.scores.options import check_numbers

#: Waves, each as a cosine and a sine.
WAVES = 50
#: The longest length scale that is tried, in units of the root of the number of parents, and how often it is halved.
LONGEST, HALVINGS = 4.0, 3
#: Noise that is tried, in units of the variance of the function.
NOISES = (0.003, 0.03, 0.1, 0.3, 1.0, 3.0)


class RandomFeatures(Score):
    """The log evidence of a linear regression on random waves of the parents, at the best of a few hyperparameters.

    With ``cos(w'x)`` and ``sin(w'x)``, w from the spectrum of a squared-exponential kernel, this approximates a
    Gaussian process (Rahimi & Recht 2007, "Random features for large-scale kernel machines"). The same waves serve
    all families. It is a relative of :class:`~drbo.scores.gp.gp.GpScore`, not a score to search with: it has no
    penalty.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> x[:, 2] = x[:, 0] * x[:, 1] + 0.1 * x[:, 2]
    >>> score = RandomFeatures(Statistics.from_array(x))
    >>> alone, together = score.local(Families.from_sets(3, [(2, (0,)), (2, (0, 1))]))
    >>> bool(together > alone + 50)
    True
    """

    name = "random-features"

    def __init__(self, table: Statistics, **options: Any) -> None:
        super().__init__(table, **options)
        check_numbers(table, self.name)
        frequencies = np.random.default_rng(0).normal(size=(self.n_nodes, WAVES))
        self._groups: list[tuple[Floats, Floats]] = []  # columns (n, d), and the phase of each (d, n, WAVES)
        self._group_of = np.zeros(self.n_nodes, dtype=np.intp)
        for number, (members, rows) in enumerate(row_groups(self.targets, table.n_rows, self.n_nodes)):
            columns = unit_free(winsorized(table.values[rows]))
            self._groups.append((columns, columns.T[:, :, None] * frequencies[:, None, :] / LONGEST))
            self._group_of[members] = number

    def local(self, families: Families) -> Floats:
        """Return the log evidence of each family."""
        values, deadline = np.empty(len(families)), current()
        with one_blas_thread():
            for row, (node, parents) in enumerate(zip(families.nodes.tolist(), families.parents, strict=True)):
                deadline.check()
                columns, phases = self._groups[self._group_of[node]]
                values[row] = _evidence(columns[:, node], phases[parents])
        return values


def _evidence(target: Floats, phases: Floats) -> float:  # (n,), (p, n, WAVES)
    """Return the highest log evidence over length scales and noises; without parents, that of noise alone."""
    n = len(target)
    best = -0.5 * n * (np.log(2 * np.pi * np.mean(target**2)) + 1)
    if len(phases) == 0:
        return float(best)
    angle = phases.sum(axis=0) / len(phases) ** 0.5
    cosine, sine = np.cos(angle), np.sin(angle)
    noises, size = np.array(NOISES), 2 * WAVES
    for halving in range(HALVINGS + 1):
        if halving:  # cos 2a and sin 2a: half the length scale
            cosine, sine = 2 * cosine**2 - 1, 2 * sine * cosine
        waves = np.hstack([cosine, sine]) / WAVES**0.5
        gram = waves.T @ waves + noises[:, None, None] * np.eye(size)  # (noises, size, size)
        factor = np.linalg.cholesky(gram)
        seen = waves.T @ target
        inner = np.array([solve_triangular(each, seen, lower=True, check_finite=False) for each in factor])
        variance = (target @ target - (inner**2).sum(axis=1)) / noises / n
        spread = 2 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1) + (n - size) * np.log(noises)
        best = max(best, float((-0.5 * (n * (np.log(2 * np.pi * variance) + 1) + spread)).max()))
    return float(best)
