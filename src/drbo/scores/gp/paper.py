"""The paper's Gaussian-process scores (Duong, Gupta & Nguyen 2025), kept to reproduce its results."""

from typing import Any, NamedTuple

import numpy as np

from drbo.arrays import Floats, Indices
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.units import standardized
from drbo.errors import ScoreError, SettingsError
from drbo.scores.families import Families
from drbo.scores.gp.kernels import KernelScore, ParentSets
from drbo.scores.gp.paper_search import LengthScaleSearch
from drbo.scores.linear import BicEV

#: Least noise that leaves the factorisation of 2,000 equal rows any digits.
LEAST_ALPHA = 1e-10
#: Smallest standard deviation of a column: the third power of its inverse square is still a number.
LEAST_SPREAD = 1e-50


class PaperFit(NamedTuple):
    """The fitted regression of each family."""

    log_likelihood: Floats  # (m,)
    length_scale: Floats  # (m,)
    log_mse: Floats  # (m,) of the fitted mean on the rows themselves


class GpNV(KernelScore):
    """The paper's nonlinear BIC: ``-n sum_i ln(MSE_i + 1/n) - penalty |G| ln n`` with Gaussian-process regressions.

    Squared-exponential kernel of amplitude 1, one length scale in [1, 1e5] at the maximum of the marginal likelihood,
    noise variance ``alpha``, prior mean 0; the MSE is that of the fitted mean on the rows it was fitted to.
    ``local`` is ``-ln(MSE_i + 1/n)``; without parents the MSE is the variance.

    This score reproduces the paper and is no recommendation: with ``alpha=1`` the answer depends on the units of the
    columns, with ``alpha=1e-8`` it interpolates and prefers complete graphs on pure noise.
    :class:`~drbo.scores.gp.gp.GpScore` has neither fault.

    Parameters
    ----------
    table : the checked data, numeric, at most 4,000 rows.
    alpha : noise variance; 1 in the paper's simulations, 1e-8 on the Sachs data.
    median_scale : divide the parents by the median of their nonzero distances (Sachs).
    standardize : give all columns mean 0 and variance 1 first (Sachs).
    device : "cpu" or "cuda", where the kernels are factorised.
    options : ``max_memory``, as in :class:`~drbo.scores.gp.gp.GpScore`, and those of :class:`~drbo.scores.base.Score`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=100)
    >>> score = GpNV(Statistics.from_array(np.column_stack([x, 3 * np.sin(x) + rng.normal(size=100)])))
    >>> empty, forward = score.local(Families.from_sets(2, [(1, ()), (1, (0,))]))
    >>> bool(forward > empty)
    True
    """

    name = "gp-nv"
    assumption = "nonlinear effects with additive noise"
    words = ("Effects are smooth functions, and the noise has variance 1 in the units of the data.",)
    regression = "splines"
    evidence_scale = 2.0

    def __init__(
        self,
        table: Statistics,
        *,
        alpha: float = 1.0,
        median_scale: bool = False,
        standardize: bool = False,
        device: str = "cpu",
        **options: Any,
    ) -> None:
        if not (np.isfinite(alpha) and alpha >= LEAST_ALPHA):
            raise SettingsError(f"alpha must be at least {LEAST_ALPHA}, got {alpha}", hint="1.0 is the paper's value")
        self.alpha = float(alpha)
        self.median_scale = median_scale
        self.standardize = standardize
        super().__init__(table, device=device, **options)
        self.gain = self.n_rows

    def _prepare(self, values: Floats) -> tuple[Floats, Floats]:
        columns = standardized(values) if self.standardize else values
        spreads = columns.std(axis=0)
        if (spread := float(spreads.min(where=spreads > 0, initial=1.0))) < LEAST_SPREAD:
            raise ScoreError(
                f"score '{self.name}' does not standardise columns, and one has a standard deviation of {spread:g}",
                hint="rescale the column, or use score_options={'standardize': True} or score='gp'",
            )
        return columns, columns

    def local(self, families: Families) -> Floats:
        """Return ``-ln(MSE + 1/n)`` of each family."""
        values: Floats = np.logaddexp(self.fit(families).log_mse, -np.log(self.n_rows[families.nodes]))
        return -values

    def parameters(self, families: Families) -> Indices:
        """Return one parameter per parent, as in the paper."""
        return families.sizes

    def fit(self, families: Families) -> PaperFit:
        """Return the fitted regression of each family; without parents it is the mean, with no length scale."""
        variance = np.array([self._groups[g][1][:, j].var() for j, g in enumerate(self._group_of)])[families.nodes]
        n = self.n_rows[families.nodes]
        result = PaperFit(-0.5 * n * (np.log(2 * np.pi * variance) + 1), np.full(len(n), np.inf), np.log(variance))
        for rows, data in self._parts(families):
            search = LengthScaleSearch(data, ParentSets.of(families[rows]), self.alpha, self.median_scale)
            for values, found in zip(result, search.run(), strict=True):
                values[rows] = found
        return result


class GpEV(GpNV):
    """:class:`GpNV` with one noise variance for all nodes: ``-n d ln(sum_i (MSE_i + 1/n) / d) - penalty |G| ln n``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=100)
    >>> score = GpEV(Statistics.from_array(np.column_stack([x, 3 * np.sin(x) + rng.normal(size=100)])))
    >>> local = score.local(Families.from_sets(2, [(0, ()), (1, (0,))]))
    >>> bool(np.isclose(score.combine(local, np.zeros(2)), -200 * np.log(np.exp(-local).mean())))
    True
    """

    name = "gp-ev"
    assumption = "equal noise variances"
    words = ("Effects are smooth functions, and all noise variances are equal, so arrows depend on the units.",)
    equal_variance = True
    combine = BicEV.combine
    share = BicEV.share
    level_of = BicEV.level_of
