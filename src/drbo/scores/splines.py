"""A cheap nonlinear score: additive natural cubic splines, from one Gram matrix of all basis functions."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats, Indices
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.sums import Bases, BasisSums
from drbo.data.statistics.units import ranked, unit_free, winsorized
from drbo.errors import ScoreError, SettingsError
from drbo.independence.set_tests import SetTests
from drbo.scores.base import Score
from drbo.scores.families import Families, row_groups
from drbo.scores.forms import Form, GramForm
from drbo.scores.linear import linear_tests, residual_variances
from drbo.scores.options import check_numbers

#: Range of ``df``.
DF_RANGE = (1, 20)
#: Outer knots as quantiles: beyond them the function is a straight line, so that the few outer points cannot bend it.
OUTER_KNOTS = (0.05, 0.95)
#: A basis function with less than this part of its norm left, given those before it, adds nothing.
LEAST_PART = 1e-6


def natural_spline(column: npt.ArrayLike, df: int, outer: tuple[float, float] | None = None) -> Floats:
    """Return an orthonormal basis of the natural cubic splines of a column, constants left out.

    Piecewise cubic between df + 1 knots at quantiles, of which ``outer`` may replace the first and the last, linear
    outside (Hastie, Tibshirani & Friedman 2009, section 5.2.1). Equal knots are one knot, so a column with few values
    has fewer than df functions; a column with two values has one.
    """
    x = np.asarray(column, dtype=np.float64)
    functions = spline_functions(x, knots_of(x, df, outer))
    centred = functions - functions.mean(axis=0)
    orthonormal, triangle = np.linalg.qr(centred / np.linalg.norm(centred, axis=0))
    kept: Floats = orthonormal[:, np.abs(np.diag(triangle)) > LEAST_PART]
    return kept


def knots_of(x: Floats, df: int, outer: tuple[float, float] | None = None) -> Floats:
    """Return the knots of the natural splines of a column, each once."""
    knots = np.quantile(x, np.linspace(*OUTER_KNOTS, df + 1))
    if outer is not None:
        knots[[0, -1]] = outer
    return np.unique(knots)


def spline_functions(x: Floats, knots: Floats) -> Floats:
    """Return functions (n, k) that span the natural cubic splines with these knots; the first one is x itself."""
    functions = [x]
    if len(knots) > 2:
        last = _bend(x, knots[-2], knots[-1])
        functions += [_bend(x, knot, knots[-1]) - last for knot in knots[:-2]]
    return np.column_stack(functions)


def _bend(x: Floats, knot: float, last: float) -> Floats:
    """Difference of two cubic hinges: zero below its knot, a parabola above the last."""
    hinges: Floats = (np.maximum(x - knot, 0.0) ** 3 - np.maximum(x - last, 0.0) ** 3) / (last - knot)
    return hinges


def _orthonormal(covariance: Floats, owner: Indices) -> Floats:
    """Return the Gram matrix once the functions of each owner are made orthonormal, each given those before it.

    What adds nothing, such as a rare value that is not in a resample, becomes independent of all.
    """
    gram = covariance.copy()
    for k, size in enumerate(np.diag(covariance)):
        for before in range(int(np.searchsorted(owner, owner[k])), k):
            part = gram[k, before]
            gram[k] -= part * gram[before]
            gram[:, k] -= part * gram[:, before]
        if gram[k, k] > max(LEAST_PART**2 * size, 0.0):
            scale = gram[k, k] ** 0.5
            gram[k] /= scale
            gram[:, k] /= scale
        else:
            gram[k] = gram[:, k] = 0.0
        gram[k, k] = 1.0
    return gram


def checked_df(df: int) -> int:
    """Return the number of parameters per parent, if it is one."""
    if isinstance(df, bool) or not (isinstance(df, int | np.integer) and DF_RANGE[0] <= df <= DF_RANGE[1]):
        raise SettingsError(f"df must be a whole number from {DF_RANGE[0]} to {DF_RANGE[1]}, got {df!r}")
    return int(df)


class SplineScore(Score):
    """Nonlinear additive BIC: ``-n sum_i ln MSE_i - penalty df |G| ln n`` with a spline for every parent.

    ``x_i = sum_j f_j(x_j) + noise`` by least squares, f_j a natural cubic spline with ``df`` parameters. All families
    come from one Gram matrix of the d * df basis functions, so a family costs as little as in the linear score, for
    any number of rows. Columns are standardised and their far-out values pulled in
    (:func:`~drbo.data.statistics.units.winsorized`): units do not matter. ``local`` is minus the log of the share of
    variance that the parents leave. A node with n - 1 or more parameters gets no credit for its parents.

    What it cannot see is interaction: ``x_1 x_2`` is no sum of functions. :class:`~drbo.scores.gp.gp.GpScore` can.

    Parameters
    ----------
    table : the checked data, numeric.
    df : parameters per parent; 1 is the linear score.
    options : those of :class:`~drbo.scores.base.Score`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> score = SplineScore(Statistics.from_array(np.column_stack([x, x**2 + rng.normal(size=500)])))
    >>> backward, forward = score.local(Families.from_sets(2, [(0, (1,)), (1, (0,))]))
    >>> bool(forward > backward > 0)
    True
    """

    name = "splines"
    assumption = "nonlinear effects with additive noise"
    regression: Literal["linear", "splines", "ranks"] | None = "splines"
    evidence_scale = 2.0
    nested = True
    row_weights = "equal"
    cheap = True
    needs = frozenset({"bases"})
    independence = "kci"
    words: tuple[str, ...] = ("Effects are sums of smooth functions with additive noise. Arrows rest on this model.",)

    def __init__(self, table: Statistics, *, df: int = 5, **options: Any) -> None:
        super().__init__(table, **options)
        check_numbers(table, self.name)
        self.df = checked_df(df)
        self.groups: list[tuple[Indices, Floats]] = []
        self.group_of = np.zeros(self.n_nodes, dtype=np.intp)
        if table.whole:
            self._add_rows(table)
        else:
            self._add_sums(table.bases)
        self.gain = self.n_rows
        # with fewer rows a large parent set loses its credit
        self.nested = bool((self.n_rows > self.df * (self.n_nodes - 1) + 1).all())

    def _add_rows(self, table: Statistics) -> None:
        """Keep the Gram matrix of every group of nodes that share their rows."""
        for number, (members, rows) in enumerate(row_groups(self.targets, table.n_rows, self.n_nodes)):
            values = table.values[rows]
            constant = np.ptp(values, axis=0) == 0
            if constant[members].any():
                node = members[np.flatnonzero(constant[members])[0]]
                raise ScoreError(f"column '{self.names[node]}' is constant in the rows without intervention on it")
            columns = self._columns(values)
            bases = [
                np.zeros((len(rows), 0)) if constant[j] else natural_spline(columns[:, j], self.df)
                for j in range(self.n_nodes)
            ]
            owner = np.repeat(np.arange(self.n_nodes), [basis.shape[1] for basis in bases])
            everything = np.hstack([columns / len(rows) ** 0.5, *bases])
            self.groups.append((owner, everything.T @ everything))
            self.group_of[members] = number

    def _add_sums(self, bases: BasisSums | None) -> None:
        """Keep the Gram matrix of all rows, of which only sums of the products of basis functions are known."""
        if bases is None or bases.widths.max() > self.df:
            raise ScoreError(f"{self.name} needs sums of basis functions with df={self.df}")
        owner = np.repeat(np.arange(self.n_nodes), bases.widths)
        gram = _orthonormal(bases.covariance, owner)
        first = np.searchsorted(owner, np.arange(self.n_nodes))  # the column itself
        places = np.concatenate([first, np.arange(len(owner))])
        self.groups.append((owner, gram[np.ix_(places, places)]))
        self._set_rows(np.full(self.n_nodes, bases.n), self.penalty)

    @classmethod
    def basis_functions(cls, sample: Floats) -> Bases | None:
        """Return natural cubic splines with knots at the quantiles of a sample."""
        from drbo.scores.curves import Curves  # which uses the splines of this module

        return Curves.of_sample(sample)

    @staticmethod
    def _columns(values: Floats) -> Floats:
        """Return the columns that the regressions are made of."""
        return unit_free(winsorized(values))

    def local(self, families: Families) -> Floats:
        """Return minus the log of the share of variance that the parents leave unexplained."""
        values = np.empty(len(families))
        group_of_row = self.group_of[families.nodes]
        for number, (owner, correlation) in enumerate(self.groups):
            rows = np.flatnonzero(group_of_row == number)
            part = families[rows]
            spread = np.zeros((len(rows), len(correlation)), dtype=bool)
            spread[:, self.n_nodes :] = part.parents[:, owner]
            residual = residual_variances(correlation, Families(part.nodes, spread))
            residual[~self.credited(part)] = 1.0
            values[rows] = -np.log(residual)
        return values

    def credited(self, families: Families) -> Bools:
        """Return which families have at most n - 2 basis functions."""
        functions = np.array([np.bincount(owner, minlength=self.n_nodes) for owner, _ in self.groups])
        count = (families.parents * functions[self.group_of[families.nodes]]).sum(axis=1)
        few: Bools = count < self.n_rows[families.nodes] - 1
        return few

    def parameters(self, families: Families) -> Indices:
        """Return ``df`` per parent, also where its column has too few values for so many functions.

        Counting fewer would be too lenient.
        """
        return self.df * families.sizes

    def set_tests(self, table: Statistics, seed: int) -> SetTests:
        """Return partial correlations: linear relations alone are tested."""
        return linear_tests(table)

    def compiled(self) -> Form:
        """Return the Gram matrices of all columns and basis functions."""
        d = self.n_nodes
        widths = np.array([np.bincount(owner, minlength=d) for owner, _ in self.groups])
        return GramForm(
            grams=tuple(gram for _, gram in self.groups),
            firsts=d + np.concatenate([np.zeros((len(widths), 1), dtype=np.int64), widths.cumsum(axis=1)], axis=1),
            group_of=self.group_of.astype(np.int64),
            rows=self.n_rows,
            log_scales=np.zeros((len(widths), d)),
            prices=self._single_prices(),
            most_parents=np.full(d, d),
        )

    def family_work(self) -> float:
        """Return the steps of factorising the Gram matrix of the functions of half of all columns."""
        return float((self.df * self.n_nodes / 2) ** 3 / 6)


class RankSplines(SplineScore):
    """The score of :class:`SplineScore` after every column is replaced by the normal scores of its ranks.

    No increasing function of a column changes anything: a logarithm, a cube, a scale that saturates. So it suits noise
    that is additive on another scale than the one that was measured, as in ``x_i = g_i(sum_j f_j(x_j) + noise)``, the
    post-nonlinear model (Zhang & Hyvarinen 2009, "On the identifiability of the post-nonlinear causal model"); g_i is
    taken to be the scale of a column that is Gaussian before it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 2)) @ [[1.0, 1.0], [0.0, 1.0]]
    >>> families = Families.from_sets(2, [(0, (1,)), (1, (0,))])
    >>> scores = [RankSplines(Statistics.from_array(values)).local(families) for values in (x, np.exp(x))]
    >>> bool((scores[0] == scores[1]).all())
    True
    """

    name = "splines-ranks"
    needs = frozenset({"rows"})  # for their ranks
    assumption = "nonlinear effects with additive noise, after a change of every scale"
    regression = "ranks"
    words = (
        "After every column is replaced by normal scores of its ranks, effects are sums of smooth functions with "
        "additive noise. Arrows rest on this model.",
    )

    @staticmethod
    def _columns(values: Floats) -> Floats:
        """Return the normal scores of the columns."""
        return unit_free(ranked(values))
