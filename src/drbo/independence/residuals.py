"""Residuals of additive spline regressions, for many families of one table.

Each parent enters as a penalised cubic B-spline (P-spline; Eilers & Marx 1996) with a smoothness of its own, chosen by
generalised cross-validation (GCV). The basis of every column is rotated once so that its Gram matrix is the identity
and its penalty is diagonal (Demmler & Reinsch 1975). Families share these bases and the products between them; the fits
are compiled (``src/core/additive.cpp``).
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from drbo import _core
from drbo.arrays import Floats
from drbo.data.statistics.units import standardized
from drbo.machine.threads import crew

#: How the noise of a family may depend on its parents: not at all, or through its scale.
NoiseModel = Literal["additive", "location-scale"]

#: Knots of a smooth term, the two ends included.
N_KNOTS = 16
DEGREE = 3
#: Knots lie halfway between the quantiles, which follow the data, and equal spacing, which resolves the tails.
QUANTILE_SHARE = 0.5
#: Degrees of freedom tried for a smooth term, starting with nearly a straight line; the unpenalised spline is last.
DEGREES_OF_FREEDOM = (1.02, 1.3, 2.0, 3.0, 4.5, 6.5, 9.0, 12.0)
#: Directions of a basis with less than this share of the largest variance are dropped. The same number is the ridge
#: penalty that keeps regressions on collinear parents solvable.
LEAST_VARIANCE = 1e-7
#: A residual with a smaller standard deviation than this share of the column's is rounding error and becomes 0.
EXACT = 1e-5
#: This share of the residual variance is added to squared residuals before taking logarithms.
LOG_FLOOR = 1e-3
#: The scale is estimated again from the scaled residuals, where the share above distorts small scales less.
SCALE_ROUNDS = 2
#: Fitted scales are kept within this factor of their median.
MAX_SCALE = 20.0
#: Standardised columns whose sorted values agree to this many digits are the same up to the order of their rows.
SAME_DIGITS = 9
#: Residuals that are remembered; of a large graph all of them would take gigabytes.
MAX_REMEMBERED = 500
#: Operations of a fit for each row and parent, about.
FIT_WORK = 200


class SmoothTerm(NamedTuple):
    """A column's spline basis with unit Gram matrix and diagonal penalty."""

    basis: Floats  # (n, q), basis.T @ basis / n == I, columns of mean 0
    penalty: Floats  # (q,) ascending; 0 for the straight line
    strengths: Floats  # (L,) factors of the penalty that are tried, descending


def smooth_term(column: npt.ArrayLike) -> SmoothTerm:
    """Return the penalised spline basis of a column; constants are left out.

    A column with few distinct values has as many functions as they allow: a binary column is linear.
    """
    x = np.asarray(column, dtype=np.float64)
    basis, penalty = _b_splines(x)
    basis = basis - basis.mean(axis=0)
    variances, axes = np.linalg.eigh(basis.T @ basis / len(x))
    kept = variances > LEAST_VARIANCE * variances[-1]
    root = axes[:, kept] / np.sqrt(variances[kept])
    roughness, rotation = np.linalg.eigh(root.T @ penalty @ root)
    roughness = np.where(roughness > LEAST_VARIANCE * max(roughness[-1], 1.0), roughness, 0.0)
    return SmoothTerm(np.ascontiguousarray(basis @ (root @ rotation)), roughness, _strengths(roughness))


def category_term(codes: npt.ArrayLike) -> SmoothTerm:
    """Return the basis of a categorical column: one unpenalised mean per level."""
    levels, place = np.unique(np.asarray(codes), return_inverse=True)
    indicators = np.eye(len(levels))[place]
    indicators -= indicators.mean(axis=0)
    left, singular, _ = np.linalg.svd(indicators, full_matrices=False)
    basis = left[:, singular > LEAST_VARIANCE * singular[0]] * len(indicators) ** 0.5
    return SmoothTerm(np.ascontiguousarray(basis), np.zeros(basis.shape[1]), np.zeros(1))


def b_spline_values(x: Floats, knots: Floats, degree: int) -> Floats:
    """Return the B-splines (n, q) over ascending knots at places between the first and the last knot.

    The recursion of Cox and de Boor, for the functions that are not zero. The modules of scipy that have it take
    longer to load than a small table to fit.
    """
    n_functions = len(knots) - degree - 1
    interval = np.clip(np.searchsorted(knots, x, side="right") - 1, degree, n_functions - 1)
    local = np.ones((1, len(x)))  # of the functions that are not zero
    for order in range(1, degree + 1):
        before, after = (knots[interval + np.arange(first, first + order)[:, None]] for first in (1 - order, 1))
        shares = local / (after - before)
        local = np.zeros((order + 1, len(x)))
        local[:-1] += (after - x) * shares
        local[1:] += (x - before) * shares
    values = np.zeros((len(x), n_functions))
    np.put_along_axis(values, (interval + np.arange(-degree, 1)[:, None]).T, local.T, axis=1)
    return values


def _b_splines(x: Floats) -> tuple[Floats, Floats]:
    """Return a cubic B-spline basis (n, q) and the penalty (q, q) on second differences of its coefficients."""
    x = standardized(x[:, None])[:, 0]
    distinct = np.unique(x)
    if len(distinct) <= 2:
        return x[:, None], np.zeros((1, 1))
    share = np.linspace(0.0, 1.0, min(N_KNOTS, len(distinct)))
    spaced = distinct[0] + share * (distinct[-1] - distinct[0])
    inner = np.unique(QUANTILE_SHARE * np.quantile(x, share) + (1 - QUANTILE_SHARE) * spaced)
    knots = np.concatenate([np.repeat(inner[0], DEGREE), inner, np.repeat(inner[-1], DEGREE)])
    basis = b_spline_values(np.clip(x, inner[0], inner[-1]), knots, DEGREE)
    # The coefficient of B-spline k stands for the value at the mean of its inner knots (Greville): second divided
    # differences over these sites are zero exactly for straight lines.
    n_sites = basis.shape[1]
    steps = np.diff(sum(knots[k + 1 : k + 1 + n_sites] for k in range(DEGREE)) / DEGREE)
    left, right = steps[:-1], steps[1:]
    differences = np.zeros((len(left), n_sites))
    for shift, share in enumerate((1 / left, -1 / left - 1 / right, 1 / right)):
        differences[np.arange(len(left)), np.arange(len(left)) + shift] = share * np.sqrt((left + right) / 2)
    return basis, differences.T @ differences


def _strengths(roughness: Floats) -> Floats:
    """Return the penalty factors that give a term each of the degrees of freedom tried, the smoothest first."""
    curved = roughness[roughness > 0]
    if not len(curved):
        return np.zeros(1)
    n_straight = len(roughness) - len(curved)
    exponents = np.linspace(-12.0, 12.0, 481)
    grid = 10.0**exponents / np.exp(np.log(curved).mean())
    freedom = n_straight + (1.0 / (1.0 + grid[:, None] * curved)).sum(axis=1)  # descending
    wanted = np.array([df for df in DEGREES_OF_FREEDOM if n_straight < df < freedom[0]])
    return np.append(np.interp(-wanted, -freedom, grid), 0.0)


def remember(kept: dict[Any, Any], key: Any, value: Any) -> None:
    """Add a value to those that are remembered, and forget the oldest one if there are too many."""
    if len(kept) >= MAX_REMEMBERED:
        del kept[next(iter(kept))]
    kept[key] = value


class AdditiveRegressions:
    """Residuals of families ``(node, parents)`` of one table; fits are remembered.

    Parameters
    ----------
    values : (n, d) without missing cells. Columns are standardised: units do not matter.
    categorical : columns that hold codes of categories; they may be parents, as one mean per level.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> fits = AdditiveRegressions(np.column_stack([x, x**2 + 0.1 * rng.normal(size=500)]))
    >>> bool(fits.residual(1, (0,)).std() < 0.1), bool(fits.residual(0, (1,)).std() > 0.8)
    (True, True)
    """

    def __init__(self, values: npt.ArrayLike, categorical: Sequence[int] = ()) -> None:
        self.values = standardized(np.asarray(values, dtype=np.float64))
        self._categorical = frozenset(categorical)
        self._core = _core.AdditiveFits(max(1, len(self.values)), LEAST_VARIANCE, EXACT)
        self._last_term: tuple[bytes, SmoothTerm] | None = None  # of sorted values
        self._residuals: dict[tuple[int, tuple[int, ...], NoiseModel], Floats] = {}

    def residual(self, node: int, parents: Sequence[int], noise: NoiseModel = "additive") -> Floats:
        """Return the residual (n,) of a column given its parents; the centred column where there are none."""
        key = (node, tuple(sorted(parents)), noise)
        if key not in self._residuals:
            if noise == "additive":
                found = self._fit(self.values[:, node], key[1])
            else:
                found = self._scaled(self.residual(node, parents), key[1])
            remember(self._residuals, key, found)
        return self._residuals[key]

    def _scaled(self, residual: Floats, parents: tuple[int, ...]) -> Floats:
        """Divide a residual by its scale, whose logarithm is additive in splines of the parents."""
        if not parents or not residual.any():
            return residual
        scale = np.ones_like(residual)
        for _ in range(SCALE_ROUNDS):
            squares = np.square(residual / scale)
            log_variance = np.log(squares + LOG_FLOOR * squares.mean())
            explained = log_variance - log_variance.mean() - self._fit(log_variance, parents)
            scale *= np.exp(0.5 * explained)
            middle = np.median(scale)
            scale = np.clip(scale, middle / MAX_SCALE, middle * MAX_SCALE)
        scaled: Floats = residual / scale
        return scaled

    def prepare(self, families: Iterable[tuple[int, Sequence[int]]]) -> None:
        """Fit families with additive noise all at once; their residuals are remembered."""
        wanted = dict.fromkeys((node, tuple(sorted(parents))) for node, parents in families)
        open_ = [family for family in wanted if (*family, "additive") not in self._residuals][:MAX_REMEMBERED]
        responses = np.ascontiguousarray(self.values[:, [node for node, _ in open_]].T)
        for family, found in zip(open_, self._fitted(responses, [parents for _, parents in open_]), strict=True):
            remember(self._residuals, (*family, "additive"), found)

    def _fit(self, response: Floats, parents: tuple[int, ...]) -> Floats:
        """Return what an additive regression on the parents leaves of a response."""
        left: Floats = self._fitted(np.ascontiguousarray(response)[None], [parents])[0]
        return left

    def _fitted(self, responses: Floats, parents: Sequence[tuple[int, ...]]) -> Floats:  # responses (m, n)
        """Return what additive regressions leave of each response given its parents."""
        for column in {parent for family in parents for parent in family}:
            if not self._core.has(column):
                self._add_term(column)
        starts = np.cumsum([0, *map(len, parents)], dtype=np.int64)
        members = np.array([parent for family in parents for parent in family], dtype=np.int64)
        return self._core.residuals(responses, starts, members, crew(FIT_WORK * responses.shape[1] * len(members)))

    def _add_term(self, column: int) -> None:
        values = self.values[:, column]
        term = category_term(values) if column in self._categorical else self._smooth_term(values)
        self._core.add(column, np.ascontiguousarray(term.basis.T), term.penalty, term.strengths)

    def _smooth_term(self, values: Floats) -> SmoothTerm:
        """Return the basis of a column, from that of the last one if it has the same values in other rows (ranks)."""
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        key = np.round(ordered, SAME_DIGITS).tobytes()
        if self._last_term is None or self._last_term[0] != key:
            self._last_term = key, smooth_term(ordered)
        term = self._last_term[1]
        basis = np.empty_like(term.basis)
        basis[order] = term.basis
        return term._replace(basis=basis)


def linear_residual(values: Floats, node: int, parents: Sequence[int]) -> Floats:
    """Return the residual (n,) of a least-squares regression of a column on others, with intercept."""
    centred = values - values.mean(axis=0)
    residual: Floats = centred[:, node]
    if len(parents):
        design = centred[:, list(parents)]
        residual = residual - design @ np.linalg.lstsq(design, residual, rcond=None)[0]
    return residual
