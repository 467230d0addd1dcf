"""BGe: the Bayesian evidence of a linear-Gaussian network, equal for Markov-equivalent DAGs."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from drbo.arrays import Floats, Indices
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.units import unit_free
from drbo.errors import ScoreError, SettingsError
from drbo.independence.set_tests import SetTests
from drbo.scores.base import BATCH_BYTES, Score
from drbo.scores.families import Families, row_groups
from drbo.scores.forms import Form, GramForm
from drbo.scores.linear import LINEAR, BicNV, effective_rows, group_moments, linear_tests

#: Least eigenvalue of the posterior scale matrix, scaled to a unit diagonal, that leaves its determinants any digits.
LEAST_EIGENVALUE = 1e-13


class BGe(Score):
    """BGe score (Geiger & Heckerman 2002) in the corrected form of Kuipers, Moffa & Heckerman (2014).

    ``local`` is the log evidence ``ln p(x_i, x_pa) - ln p(x_pa)`` under a normal-Wishart prior: mean
    ``mu ~ N(0, (alpha_mu W)^-1)``, precision ``W ~ Wishart(alpha_w, (t I)^-1)``. By default ``alpha_mu = 1`` and
    ``alpha_w = d + alpha_mu + 1``, as in the R package BiDAG, and ``t = alpha_w - d - 1``: the prior expects
    uncorrelated columns of variance 1. BiDAG takes ``t = alpha_mu (alpha_w - d - 1) / (alpha_mu + 1)``, half of that:
    standardised columns then vary more than expected, which strong effects would explain, and probabilities of weak
    links are understated (docs/results/calibration.md).

    A prior with scale ``t I`` has an opinion about units, so columns are standardised first: the result does not
    depend on units, and the value is the density of the standardised columns.

    Parameters
    ----------
    table : the checked data, numeric.
    alpha_mu : weight of the prior mean in rows, > 0.
    alpha_w : degrees of freedom of the Wishart prior, > d + 1 (> d - 1 where ``t`` is given).
    t : scale of the prior, > 0; None: the value above.
    standardize : False scores the columns in their own units, with prior mean 0.
    options : those of :class:`~drbo.scores.base.Score`. The evidence holds the cost of parameters already; a
        ``penalty`` above 1 adds ``(penalty - 1) / 2 ln n`` per edge, ``"ebic"`` adds ``ln d``, as a prior that
        prefers sparse graphs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> score = BGe(Statistics.from_array(np.column_stack([x, x + rng.normal(size=500)])))
    >>> xy, yx = np.array([[[0, 1], [0, 0]], [[0, 0], [1, 0]]], dtype=bool)
    >>> values = [score.local(Families.from_dags(dag[None])).sum() for dag in (xy, yx)]
    >>> bool(np.isclose(*values))
    True
    """

    name = "bge"
    score_equivalent = True
    evidence_scale = 1.0
    row_weights = "any"
    needs = frozenset({"moments"})
    cheap = True
    default_pruner = "f-test"
    default_strength = 0.001
    words = (LINEAR,)

    def __init__(
        self,
        table: Statistics,
        *,
        alpha_mu: float = 1.0,
        alpha_w: float | None = None,
        t: float | None = None,
        standardize: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(table, **options)
        _check_numeric(table)
        check_not_constant(table, self.name)
        row_sets = row_groups(self.targets, table.n_rows, self.n_nodes)
        if not table.whole or (table.large and table.moments is None and len(row_sets) == 1):
            groups = [_large_group(table, standardize)]
            self._set_prior(groups, alpha_mu, alpha_w, t)
            return
        values = table.values
        if standardize:
            values = unit_free(values)
        groups = []
        if (whole := table.moments) is not None:
            if standardize:
                values = (table.values - whole.mean) / np.sqrt(np.diag(whole.covariance))
            found = [(members, group_moments(table, values, rows)) for members, rows in row_sets]
            self._set_rows(effective_rows(found), self.penalty)
            groups = [(members, part.n * part.covariance, part.mean) for members, part in found]
            row_sets = []
        for members, rows in row_sets:
            mean = values[rows].mean(axis=0)
            centred = values[rows] - mean
            groups.append((members, centred.T @ centred, mean))
        self._set_prior(groups, alpha_mu, alpha_w, t)

    @classmethod
    def from_covariance(
        cls,
        covariance: npt.ArrayLike,
        n_rows: int,
        names: Sequence[str] | None = None,
        *,
        alpha_mu: float = 1.0,
        alpha_w: float | None = None,
        t: float | None = None,
        standardize: bool = True,
        penalty: float | Literal["ebic"] = 1.0,
        edge_prior: npt.ArrayLike | None = None,
    ) -> Self:
        """Build the score from a covariance matrix (divided by n, not n - 1); the column means are taken as 0."""
        BicNV.from_covariance(covariance, n_rows, names)  # for its checks
        matrix = np.array(covariance, dtype=np.float64)
        if standardize:
            deviation = np.sqrt(np.diag(matrix))
            matrix = matrix / deviation[:, None] / deviation[None, :]
        score = cls.__new__(cls)
        Score.__init__(score, Statistics.from_array(np.zeros((3, len(matrix))), names), edge_prior=edge_prior)
        score._set_rows(np.full(len(matrix), n_rows), penalty)
        groups = [(np.arange(len(matrix)), n_rows * (matrix + matrix.T) / 2, np.zeros(len(matrix)))]
        score._set_prior(groups, alpha_mu, alpha_w, t)
        return score

    def _set_prior(
        self,
        groups: list[tuple[Indices, Floats, Floats]],
        alpha_mu: float,
        alpha_w: float | None,
        t: float | None,
    ) -> None:
        """Check the prior and keep the posterior scale matrix of each group: (nodes, scatter, means)."""
        d = self.n_nodes
        self.alpha_mu = float(alpha_mu)
        if not (np.isfinite(self.alpha_mu) and self.alpha_mu > 0):
            raise SettingsError(f"alpha_mu must be a number > 0, got {alpha_mu!r}")
        self.alpha_w = d + self.alpha_mu + 1 if alpha_w is None else float(alpha_w)
        least = d + 1 if t is None else d - 1
        if not (np.isfinite(self.alpha_w) and self.alpha_w > least):
            raise SettingsError(f"alpha_w must be a number > {least} for {d} columns, got {alpha_w!r}")
        self.t = self.alpha_w - d - 1 if t is None else float(t)
        if not (np.isfinite(self.t) and self.t > 0):
            raise SettingsError(f"t must be a number > 0, got {t!r}")
        self.score_equivalent = self.targets is None
        self.parameter_price = np.maximum(self.parameter_price - np.log(self.n_rows), 0.0) / 2
        self.evidence_price = np.zeros_like(self.parameter_price)
        self.groups = []
        self.group_of = np.zeros(d, dtype=np.intp)
        for number, (members, scatter, mean) in enumerate(groups):
            n = self.n_rows[members[0]]
            weight = n * self.alpha_mu / (n + self.alpha_mu)
            self.groups.append(_unit_diagonal(self.t * np.eye(d) + scatter + weight * np.outer(mean, mean)))
            self.group_of[members] = number

    def local(self, families: Families) -> Floats:
        """Return the log evidence of each family."""
        values = np.empty(len(families))
        sizes = families.parents.sum(axis=1)
        group_of_row = self.group_of[families.nodes]
        for number, size in sorted(set(zip(group_of_row.tolist(), sizes.tolist(), strict=True))):
            log_scale, matrix = self.groups[number]
            rows = np.flatnonzero((group_of_row == number) & (sizes == size))
            place = np.concatenate([families.padded(rows, size), families.nodes[rows][:, None]], axis=1)
            pivots = log_pivots(matrix, place) + log_scale[place]
            parts = pivots[:, -1], pivots[:, :-1].sum(axis=1)
            values[rows] = self.evidence(self.n_rows[families.nodes[rows]], np.float64(size), *parts)
        return values

    def evidence(
        self,
        n: Floats,  # (F,)
        size: Floats | np.float64,  # (F,) number of parents
        pivot: Floats,  # (F,) ln |R_pa,i| - ln |R_pa|, R the posterior scale matrix
        parents: Floats,  # (F,) ln |R_pa|
    ) -> Floats:
        """Return the log evidence of families from log determinants (Kuipers et al. 2014)."""
        freedom = self.alpha_w - self.n_nodes + size + 1
        prior = (freedom + size) / 2 * np.log(self.t) + np.log(self.alpha_mu / (n + self.alpha_mu)) / 2
        constant = gammaln((n + freedom) / 2) - gammaln(freedom / 2) - n / 2 * np.log(np.pi)
        value: Floats = prior + constant - (n + freedom) / 2 * pivot - parents / 2
        return value

    def parameters(self, families: Families) -> Indices:
        """Return one per edge: only a penalty above 1 is charged."""
        return families.sizes

    def set_tests(self, table: Statistics, seed: int) -> SetTests:
        """Return partial correlations: linear relations alone are tested."""
        return linear_tests(table)

    def compiled(self) -> Form:
        """Return the posterior scale matrices: the evidence is a sum of their log pivots and constants."""
        size, n = np.arange(self.n_nodes + 1.0), self.n_rows[:, None]
        nothing = np.zeros((self.n_nodes, self.n_nodes + 1))
        return GramForm.linear(
            [matrix for _, matrix in self.groups],
            rows=self.n_rows,
            prices=self._single_prices(),
            group_of=self.group_of,
            log_scales=[log_scale for log_scale, _ in self.groups],
            constants=self.evidence(n, size, nothing, nothing),
            factors=(n + (self.alpha_w - self.n_nodes + size + 1)) / 2,
        )


def _large_group(table: Statistics, standardize: bool) -> tuple[Indices, Floats, Floats]:
    """Return all nodes, their scatter and their means, from the moments of a large or summed table."""
    found = table.moments_of_all
    if not standardize:
        return np.arange(table.n_columns), found.n * found.covariance, found.mean
    deviation = np.sqrt(np.diag(found.covariance))
    scatter = found.n * found.covariance / deviation / deviation[:, None]
    return np.arange(table.n_columns), scatter, np.zeros(table.n_columns)


def check_not_constant(table: Statistics, score_name: str) -> None:
    """Refuse a column that has the same value in every row."""
    for name, low, high in zip(table.names, *table.ranges, strict=True):
        if low == high:
            raise ScoreError(
                f"column '{name}' has 1 distinct value, but {score_name} requires at least 2", hint="drop the column"
            )


def log_pivots(
    matrix: Floats,  # (d, d) positive definite
    place: Indices,  # (F, m) indices of rows and columns
) -> Floats:
    """Return the logs (F, m) of the squared Cholesky pivots of F submatrices.

    The sum of the last k is the log determinant of the last k variables given the ones before them.
    """
    pivots = np.empty(place.shape)
    step = max(1, BATCH_BYTES // (8 * place.shape[1] ** 2))
    for start in range(0, len(place), step):
        part = place[start : start + step]
        factor = np.linalg.cholesky(matrix[part[:, :, None], part[:, None, :]])
        pivots[start : start + step] = 2 * np.log(np.diagonal(factor, axis1=1, axis2=2))
    return pivots


def _unit_diagonal(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the logs of the diagonal and the matrix scaled to a unit diagonal, refused if it is singular."""
    scale = np.sqrt(np.diag(matrix))
    scaled = matrix / scale[:, None] / scale[None, :]
    if not np.linalg.eigvalsh(scaled)[0] > LEAST_EIGENVALUE:
        raise ScoreError(
            "columns are collinear and so large that the BGe prior is lost to rounding",
            hint="use standardize=True, or choose a prior scale t of the same order as the columns",
        )
    return 2 * np.log(scale), scaled


def _check_numeric(table: Statistics) -> None:
    for name, levels in zip(table.names, table.levels, strict=True):
        if levels is not None:
            raise ScoreError(
                f"column '{name}' is categorical with {len(levels)} levels, but bge requires numbers",
                hint="use score='auto' or 'mixed', or encode the column as numbers yourself",
            )
