"""Linear-Gaussian BIC from the covariance alone, with equal and with unequal noise variances."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from drbo import _core
from drbo.arrays import Bools, Floats, Indices, Ints
from drbo.data.statistics.moments import Moments, complete_moments, moments
from drbo.data.statistics.regressions import edge_weights
from drbo.data.statistics.square import square, steps
from drbo.data.statistics.statistics import Statistic, Statistics
from drbo.errors import DataError, ScoreError
from drbo.independence.set_tests import PartialCorrelations, SetTests
from drbo.machine.threads import crew
from drbo.scores.base import Score
from drbo.scores.families import Families, row_groups
from drbo.scores.forms import COLLINEAR_PIVOT, RESIDUAL_FLOOR, Form, Gaussian, GramForm
from drbo.scores.options import check_numbers
from drbo.scores.penalties.chance import BY_CHANCE, chance_parents, chance_penalty
from drbo.scores.sums import log_sum_exp, sum_nodes

#: What linear models with Gaussian noise assume.
LINEAR = "Effects are linear and additive; the noise is Gaussian."
#: With fewer rows than this many times the columns, or where more than so many columns would be parents of an unrelated
#: one by chance, penalty 1 fits noise before a test can see it (docs/reference/scores.md).
FEW_ROWS, CHANCE_PARENTS = 2, 1.0


def residual_variances(
    correlation: Floats,  # (d, d)
    families: Families,
) -> Floats:
    """Return the share of each node's variance that its parents leave unexplained.

    The last pivot of the Cholesky factor of the correlation matrix of (parents, node) is the residual variance.
    """
    work = int((families.sizes**3).sum()) // 6
    residual = _core.residuals(correlation, *families.flat(), COLLINEAR_PIVOT, crew(work))
    for row in np.flatnonzero(np.isnan(residual)):
        residual[row] = _collinear_residual(correlation, families.nodes[row], families.parents[row])
    return np.clip(residual, RESIDUAL_FLOOR, 1.0)


def _collinear_residual(correlation: Floats, node: int, parents: Bools) -> float:
    """Residual share when parents are (nearly) collinear: least squares in the space they span."""
    values, vectors = np.linalg.eigh(correlation[np.ix_(parents, parents)])
    kept = values > COLLINEAR_PIVOT * values[-1]
    projection = vectors[:, kept].T @ correlation[parents, node]
    return float(1.0 - np.sum(projection**2 / values[kept]))


class BicNV(Score):
    """Linear BIC with a noise variance per node: ``-n sum_i ln MSE_i - penalty |G| ln n`` (paper, Eq. 2).

    ``local`` is ``-ln MSE_i``. Markov-equivalent DAGs tie; the result does not depend on units. A node with n - 1 or
    more parents would fit perfectly whatever the data: such a family gets no credit for its parents.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> table = Statistics.from_array(np.column_stack([x, 2 * x + rng.normal(size=500)]))
    >>> score = BicNV(table)
    >>> local = score.local(Families.from_sets(2, [(1, ()), (1, (0,))]))
    >>> bool(local[1] > local[0])
    True
    """

    name = "bic-nv"
    score_equivalent = True
    evidence_scale = 2.0
    nested = True
    row_weights = "any"
    needs: frozenset[Statistic] = frozenset({"moments"})
    cheap = True
    words: tuple[str, ...] = (LINEAR,)
    default_strength = 0.001

    def __init__(self, table: Statistics, **options: Any) -> None:
        super().__init__(table, **options)
        check_numbers(table, self.name)
        self.score_equivalent = self.score_equivalent and self.targets is None
        groups = row_groups(self.targets, table.n_rows, self.n_nodes)
        if not table.by_moments:
            self._set_groups([(members, _covariance(table, rows)) for members, rows in groups])
            return
        found = [(members, group_moments(table, table.values, rows)) for members, rows in groups]
        self._set_rows(effective_rows(found), self.penalty)
        self._set_groups([(members, part.covariance) for members, part in found])

    def weights(self, table: Statistics, dag: Bools) -> tuple[Floats, Floats] | None:
        """Return the least-squares weights of the edges of a graph, between the columns on :meth:`scales`."""
        return edge_weights(self.scales(table).rows_or_moments, dag)

    @classmethod
    def from_covariance(
        cls,
        covariance: npt.ArrayLike,
        n_rows: int,
        names: Sequence[str] | None = None,
        *,
        penalty: float | Literal["ebic"] = 1.0,
        edge_prior: npt.ArrayLike | None = None,
    ) -> Self:
        """Build the score from a covariance matrix (divided by n, not n - 1) instead of data."""
        matrix = np.array(covariance, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size or not np.isfinite(matrix).all():
            raise DataError(f"covariance must be a finite square matrix, got shape {matrix.shape}")
        if names is not None and len(names) != len(matrix):
            raise DataError(f"covariance has {len(matrix)} columns, but {len(names)} names were given")
        if (np.diag(matrix) <= 0).any():
            raise DataError(
                f"covariance must have positive variances, got one <= 0 at position {int(np.argmin(np.diag(matrix)))}"
            )
        scale = np.sqrt(np.diag(matrix))
        correlation = matrix / scale[:, None] / scale[None, :]
        if not np.allclose(correlation, correlation.T, rtol=0, atol=1e-8):
            raise DataError("covariance must be symmetric")
        if np.linalg.eigvalsh(correlation)[0] < -1e-8:
            raise DataError("covariance must be positive semi-definite")
        if n_rows < 3:
            raise DataError(f"n_rows must be at least 3, got {n_rows}")
        score = cls.__new__(cls)
        blank = Statistics.from_array(np.zeros((3, len(matrix))), names)
        Score.__init__(score, blank, edge_prior=edge_prior)
        score._set_rows(np.full(len(matrix), n_rows), penalty)
        score._set_groups([(np.arange(len(matrix)), (matrix + matrix.T) / 2)])
        return score

    def _set_groups(self, groups: list[tuple[Indices, Floats]]) -> None:
        """Keep, for each group of nodes that share their rows, the variances and the correlation matrix."""
        self.groups = []
        self.group_of = np.zeros(self.n_nodes, dtype=np.intp)
        for number, (members, covariance) in enumerate(groups):
            deviation = np.sqrt(np.diag(covariance))
            if (deviation[members] == 0).any():
                node = members[np.flatnonzero(deviation[members] == 0)[0]]
                raise ScoreError(f"column '{self.names[node]}' is constant in the rows without intervention on it")
            safe = np.where(deviation > 0, deviation, 1.0)
            correlation = square(len(safe))
            for part in steps(len(safe)):
                np.divide(covariance[part], safe[part, None], out=correlation[part])
                correlation[part] /= safe
            np.fill_diagonal(correlation, 1.0)
            self.groups.append((2 * np.log(safe), correlation))
            self.group_of[members] = number
        self.gain = self.n_rows
        self.nested = bool((self.n_rows > self.n_nodes).all())  # with fewer rows a large parent set loses its credit

    def local(self, families: Families) -> Floats:
        """Return ``-ln MSE`` of each family."""
        values = np.empty(len(families))
        group_of_row = self.group_of[families.nodes]
        for number, (log_variance, _) in enumerate(self.groups):
            rows = np.flatnonzero(group_of_row == number)
            if len(rows) == 0:
                continue
            part = families[rows]
            fits = self._fits(number, part)
            fits[~self.credited(part)] = 0.0
            values[rows] = fits - log_variance[part.nodes]
        return values

    def _fits(self, group: int, families: Families) -> Floats:
        """Return what the parents are worth (m,), for families of one group of nodes."""
        return -np.log(residual_variances(self.groups[group][1], families))

    def credited(self, families: Families) -> Bools:
        """Return which families have at most n - 2 parents."""
        few: Bools = families.parents.sum(axis=1) < self.n_rows[families.nodes] - 1
        return few

    def parameters(self, families: Families) -> Indices:
        """Return the number of parents: each has one weight."""
        return families.sizes

    @property
    def most_parents(self) -> Ints:
        """The parents (d,) that a node can be credited for; with n - 1 any data are fitted perfectly."""
        return np.ceil(self.n_rows).astype(np.int64) - 2

    def compiled(self) -> Form:
        """Return the correlations; without an edge prior there is no second matrix of all pairs."""
        prices = self._single_prices() if self.has_prior else (self.parameter_price + self.edge_price)[:, None]
        return GramForm.linear(
            [correlation for _, correlation in self.groups],
            rows=self.n_rows,
            prices=prices,
            group_of=self.group_of,
            log_scales=[log_variance for log_variance, _ in self.groups],
            most_parents=self.most_parents,
            equal_variance=self.equal_variance,
        )

    def gaussian(self) -> Gaussian | None:
        """Return the correlations, where all nodes have the same rows."""
        if self.targets is not None:
            return None
        price = None if self.equal_variance else float(self.parameter_price.mean() + self.edge_price)
        return Gaussian(self.groups[0][1], float(self.n_rows.mean()), price)

    @classmethod
    def default_penalty(cls, table: Statistics, tested: bool) -> tuple[float | str, str]:
        """Return the penalty that chance associations of these very columns do not reach, and why."""
        if not tested and table.complete:
            penalty = chance_penalty(table.values, table.weights, table.chosen_from)
            if penalty is not None:
                return penalty, f"penalty {penalty:g}: {BY_CHANCE}"
        if table.n < FEW_ROWS * table.n_columns:
            why = f"there are fewer than {FEW_ROWS} rows per column, so chance associations fit well"
            return "ebic", f"penalty ebic: {why}"
        if (count := chance_parents(table.n, table.n_columns)) > CHANCE_PARENTS:
            return "ebic", f"penalty ebic: with penalty 1, a column would have {count:.1f} parents by chance alone"
        return super().default_penalty(table, tested)


def linear_tests(table: Statistics) -> SetTests:
    """Return tests of partial correlations, for a score that looks at linear relations too, but keeps none."""
    linear = BicNV(table).gaussian()
    assert linear is not None  # a table says nothing of targets
    return PartialCorrelations(linear.correlation, linear.n_rows)


class BicEV(BicNV):
    """Linear BIC with one noise variance for all nodes: ``-n d ln(sum_i MSE_i / d) - penalty |G| ln n`` (Eq. 3).

    ``local`` is ``-ln MSE_i``. Equal variances are an assumption about units: multiply one column by 10 and the
    answer changes. Where it holds the whole DAG is identified, not only its equivalence class.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> table = Statistics.from_array(np.column_stack([x, 2 * x + rng.normal(size=500)]))
    >>> score = BicEV(table)
    >>> pair = Families.from_dags(np.array([[[0, 1], [0, 0]], [[0, 0], [1, 0]]], dtype=bool))  # 0 -> 1, 1 -> 0
    >>> forward, backward = score.combine(score.local(pair).reshape(2, 2), np.zeros((2, 2)))
    >>> bool(forward > backward)
    True
    """

    name = "bic-ev"
    score_equivalent = False
    assumption = "equal noise variances"
    equal_variance = True
    default_pruner = "odds"  # equal variances make weights comparable
    words = (
        LINEAR,
        "All noise variances are equal, so arrows depend on the units of the columns and change if one is rescaled.",
    )
    compiled = BicNV.compiled

    def combine(self, local: Floats, price: Floats) -> Floats:
        """Return the scores of DAGs from ``-ln MSE`` and prices (..., d)."""
        total = float(self.n_rows.sum())
        return -total * log_sum_exp(np.log(self.n_rows / total) - local) + sum_nodes(price)

    def share(self, local: Floats, price: Floats, level: float | None = None, nodes: Indices | None = None) -> Floats:
        """Return the additive bound ``-(n / level) MSE_i + price``: with M the mean MSE, -ln M >= 1 - ln s - M / s."""
        if level is None:
            raise ValueError("an equal-variance score is additive only at a given level")
        rows = self.n_rows if nodes is None else self.n_rows[nodes]
        shares: Floats = -rows / level * np.exp(-local) + price
        return shares

    def level_of(self, local: Floats) -> float:
        """Return the mean MSE of the DAG with these local values (d,)."""
        return float((self.n_rows * np.exp(-local)).sum() / self.n_rows.sum())


def group_moments(table: Statistics, values: Floats, rows: Indices) -> Moments:
    """Return the moments of some rows of ``values``, which stand for those of a weighted or incomplete table."""
    if table.moments is not None and values is table.values and len(rows) == len(values):
        return table.moments  # EM takes its time: once is enough
    return moments(values[rows], None if table.weights is None else table.weights[rows])


def effective_rows(found: Sequence[tuple[Indices, Moments]]) -> Floats:
    """Return the number of rows (d,) behind each node, from the moments of the groups of nodes."""
    rows = np.zeros(sum(len(members) for members, _ in found))
    for members, part in found:
        rows[members] = part.n
    return rows


def _covariance(table: Statistics, rows: Indices) -> Floats:
    """Return the covariance of some rows of a complete table."""
    if table.summed and len(rows) == table.n_rows:
        return table.large_moments.covariance
    values = table.values if len(rows) == table.n_rows else table.values[rows]
    if table.large:
        return complete_moments(values).covariance
    centred = values - values.mean(axis=0)
    covariance: Floats = centred.T @ centred / len(values)
    return covariance
