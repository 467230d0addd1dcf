"""Spline bases of tables that are read piece by piece, with knots from a sample of their rows.

What :class:`~drbo.scores.splines.SplineScore` needs of a table is the Gram matrix of its basis functions, and that can
be added up. The functions are made orthonormal on the sample, so that no digits are lost in the sums.
"""

from dataclasses import dataclass

import numpy as np

from drbo.arrays import Floats, Indices
from drbo.data.statistics.units import far_out
from drbo.scores.splines import LEAST_PART, knots_of, spline_functions


@dataclass(frozen=True, eq=False)
class Curves:
    """Functions of every column of a table: called with rows (n, d), it returns their values (n, D)."""

    columns: tuple["_Curve", ...]

    @classmethod
    def of_sample(cls, rows: Floats, df: int = 5) -> "Curves":
        """Return the functions with knots and fences at quantiles of these rows."""
        return cls(tuple(_Curve.of_sample(column, df) for column in rows.T))

    @property
    def widths(self) -> Indices:
        """Functions of each column (d,)."""
        return np.array([curve.mix.shape[1] for curve in self.columns], dtype=np.intp)

    def __call__(self, rows: Floats) -> Floats:
        """Return the functions of some rows; those of a missing cell are missing."""
        ends = np.cumsum(self.widths)
        found = np.empty((len(rows), ends[-1]), order="F")
        for curve, end, column in zip(self.columns, ends, rows.T, strict=True):
            found[:, end - curve.mix.shape[1] : end] = curve(column)
        return found


@dataclass(frozen=True, eq=False)
class _Curve:
    """Natural splines of one column; the first function is the column itself, with far-out values pulled in."""

    fences: tuple[float, float]
    mean: float
    deviation: float
    knots: Floats  # (k,)
    centre: Floats  # (f,)
    kept: Indices  # of all functions of these knots
    mix: Floats  # (f, w)

    @classmethod
    def of_sample(cls, column: Floats, df: int) -> "_Curve":
        low, high = (float(fence[0]) for fence in far_out(column[:, None]))
        pulled = np.clip(column, low, high)
        mean, deviation = float(pulled.mean()), float(pulled.std()) or 1.0
        x = (pulled - mean) / deviation
        knots = knots_of(x, df)
        functions = spline_functions(x, knots)
        centred = functions - functions.mean(axis=0)
        norms = np.linalg.norm(centred, axis=0)
        _, triangle = np.linalg.qr(centred / np.where(norms > 0, norms, 1.0))
        kept = np.flatnonzero(np.abs(np.diag(triangle)) > LEAST_PART)
        if not len(kept):  # the column does not vary in the sample
            return cls((low, high), mean, deviation, knots, np.zeros(1), np.zeros(1, dtype=np.intp), np.ones((1, 1)))
        _, triangle = np.linalg.qr(centred[:, kept])
        mix = np.linalg.inv(triangle) * np.sign(np.diag(triangle)) * len(x) ** 0.5
        return cls((low, high), mean, deviation, knots, functions.mean(axis=0)[kept], kept, mix)

    def __call__(self, column: Floats) -> Floats:
        x = (np.clip(column, *self.fences) - self.mean) / self.deviation
        found: Floats = (spline_functions(x, self.knots)[:, self.kept] - self.centre) @ self.mix
        return found
