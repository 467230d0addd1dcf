"""Linear regressions of columns on others: the weights of edges by a correlation matrix, and slopes of rows."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from drbo.arrays import Floats, Indices
from drbo.data.statistics.moments import Moments
from drbo.data.statistics.square import square
from drbo.errors import DataError
from drbo.graph.dag import check_dag

#: The share of its variance that the other parents must leave to a parent, else it is collinear with them.
COLLINEAR = 1e-9
#: Residual shares under this are rounding errors of a perfect fit.
RESIDUAL_FLOOR = 1e-12
#: Residuals of rows with (nearly) all the leverage are not blown up without end.
LEAST_FREEDOM = 1e-9


def edge_weights(
    values: npt.ArrayLike | Moments, dag: npt.ArrayLike, *, covariance: bool = False
) -> tuple[Floats, Floats]:
    """Return the least-squares weights (d, d) of every node on its parents, raw and for columns of variance 1.

    ``values`` is the table (n, d), its moments, or its covariance matrix (d, d) if ``covariance`` is True. The
    regressions have an intercept. A parent that is a linear combination of stronger parents has the weight 0.
    """
    graph = check_dag(dag)
    if isinstance(values, Moments):
        values, covariance = values.covariance, True
    matrix = checked_values(values, len(graph))
    if covariance and len(matrix) != len(graph):
        raise DataError(f"a covariance matrix must be square, got shape {matrix.shape}")
    correlation, deviation = _from_covariance(matrix) if covariance else _correlation(matrix)
    raw, standardised = square(len(graph)), square(len(graph))
    for node in np.flatnonzero(graph.any(axis=0)):
        parents, weights, _, _ = _regress(correlation, int(node), np.flatnonzero(graph[:, node]))
        standardised[parents, node] = weights
        raw[parents, node] = weights * deviation[node] / deviation[parents]
    return raw, standardised


def checked_values(values: npt.ArrayLike, d: int) -> Floats:
    """Return the table of a graph with d nodes as numbers, or refuse it."""
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 2 or data.shape[1] != d or len(data) == 0 or not np.isfinite(data).all():
        raise DataError(f"a graph of {d} nodes needs a finite table of {d} columns, got shape {data.shape}")
    return data


def _correlation(values: Floats) -> tuple[Floats, Floats]:
    """Return the correlation matrix and the standard deviations (1 for a constant); safe for values of any size."""
    centred = values - values.mean(axis=0)
    size = np.abs(centred).max(axis=0)
    size[size == 0] = 1.0
    centred /= size
    correlation, deviation = _from_covariance(centred.T @ centred / len(values))
    return correlation, deviation * size


def _from_covariance(covariance: Floats) -> tuple[Floats, Floats]:
    deviation = np.sqrt(np.diag(covariance))
    deviation[deviation == 0] = 1.0
    correlation = np.divide(covariance, deviation, out=square(len(deviation)))  # of ten thousand columns, maybe
    correlation /= deviation[:, None]
    np.fill_diagonal(correlation, 1.0)
    return correlation, deviation


@dataclass(frozen=True)
class Regressions:
    """Linear regressions of nodes on their parents, both standardised, from one correlation matrix."""

    correlation: Floats  # (d, d)
    deviation: Floats  # (d,) standard deviations of the columns
    rows: Floats  # (d, d) how many rows show both columns

    @classmethod
    def of(cls, values: npt.ArrayLike | Moments, d: int) -> "Regressions":
        """Return the regressions for a table or its moments."""
        if isinstance(values, Moments):
            return cls(*_from_covariance(values.covariance), values.pairs)
        data = checked_values(values, d)
        return cls(*_correlation(data), np.full((d, d), float(len(data))))

    def fit(self, node: int, parents: Indices) -> tuple[Floats, Floats, Floats]:
        """Return weights, standard errors and degrees of freedom of a node's parents, in rising order.

        A parent that is collinear with stronger ones, or has no degree of freedom, has an infinite error.
        """
        used, found, spread, residual = _regress(self.correlation, node, parents)
        freedom = self.rows[parents, node] - 1 - len(used)
        weights, errors = np.zeros(len(parents)), np.full(len(parents), np.inf)
        place = np.searchsorted(parents, used)
        weights[place] = found
        variance = spread * residual / np.maximum(freedom[place], 1)
        errors[place] = np.where(freedom[place] > 0, np.sqrt(variance), np.inf)
        return weights, errors, freedom


def _regress(correlation: Floats, node: int, parents: Indices) -> tuple[Indices, Floats, Floats, float]:
    """Regress a node on its parents, both standardised, by one Cholesky factorisation.

    Returns the parents that are not collinear, their weights, the diagonal of the inverse of their correlation matrix
    and the share of the node's variance that they leave.
    """
    try:
        factor = np.linalg.cholesky(correlation[np.ix_(parents, parents)])
        collinear = bool((np.diag(factor) ** 2 < COLLINEAR).any())
    except np.linalg.LinAlgError:
        collinear = True
    if collinear:
        parents = _independent(correlation, node, parents)
        factor = np.linalg.cholesky(correlation[np.ix_(parents, parents)])
    inverse = np.linalg.inv(factor)
    projection = inverse @ correlation[parents, node]
    residual = max(float(1.0 - projection @ projection), RESIDUAL_FLOOR)
    return parents, inverse.T @ projection, (inverse**2).sum(axis=0), residual


def _independent(correlation: Floats, node: int, parents: Indices) -> Indices:
    """Return the parents without those that are combinations of parents closer to the node."""
    kept: list[int] = []
    for parent in sorted(parents.tolist(), key=lambda parent: -abs(correlation[parent, node])):
        among = correlation[kept, parent]
        left = 1.0 - among @ np.linalg.solve(correlation[np.ix_(kept, kept)], among) if kept else 1.0
        if left >= COLLINEAR:
            kept.append(parent)
    return np.array(sorted(kept), dtype=np.intp)


class RowSlopes(NamedTuple):
    """Slopes of a regression, with standard errors for noise of equal spread, and for noise of any spread (HC3)."""

    values: Floats  # (k,)
    plain: Floats  # (k,)
    robust: Floats  # (k,)
    freedom: float


def slopes(
    outcome: Floats,  # (n,)
    design: Floats,  # (n, k) without a column of ones
    weights: Floats | None = None,  # (n,) a row of weight w counts as w equal rows
) -> RowSlopes | None:
    """Return the slopes of a least-squares regression with an intercept.

    None: there are too few rows for it, or columns of the design repeat each other.
    """
    weights = np.ones(len(outcome)) if weights is None else weights
    x = np.column_stack([design, np.ones(len(outcome))])
    freedom = float(weights.sum()) - x.shape[1]
    gram = x.T @ (weights[:, None] * x)
    scale = np.sqrt(np.diag(gram))
    if freedom < 1 or (scale == 0).any() or np.linalg.matrix_rank(gram / np.outer(scale, scale)) < len(gram):
        return None
    inverse = np.linalg.inv(gram)
    found = inverse @ (x.T @ (weights * outcome))
    noise = outcome - x @ found
    left = noise / np.maximum(1 - np.einsum("ij,jk,ik->i", x, inverse, x), LEAST_FREEDOM)
    spread = inverse @ (x.T @ ((weights * left**2)[:, None] * x)) @ inverse
    plain = np.diag(inverse) * (float(weights @ noise**2) / freedom)
    return RowSlopes(found[:-1], np.sqrt(plain[:-1]), np.sqrt(np.diag(spread)[:-1]), freedom)
