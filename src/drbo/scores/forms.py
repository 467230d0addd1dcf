"""What compiled code needs to know of a score: arrays alone, because scores are pickled, and compiled objects are not.

A score that returns one of these forms from :meth:`~drbo.scores.base.Score.compiled` is climbed, tabled and proved by
compiled code. All that is asked of it there is in its form; what it does not say is asked of the score itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from drbo import _core
from drbo.arrays import Floats, Ints

#: Relative residual variance under which a fit counts as perfect: keeps ln MSE finite.
RESIDUAL_FLOOR = 1e-12
#: Pivots under this make the parents collinear; such families are solved by eigenvalues instead.
COLLINEAR_PIVOT = 1e-11


class _Form:
    """What all forms have in common: prices of edges (d, d) as prices[j, i] of i -> j, or (d, 1) for every i alike."""

    prices: Floats
    group_of: Ints

    @property
    def n_nodes(self) -> int:
        return len(self.prices)

    @property
    def edge_prices(self) -> Floats:
        """The price (d, d) of each edge i -> j at [j, i]."""
        d = self.n_nodes
        return self.prices if self.prices.shape == (d, d) else np.repeat(self.prices, d, axis=1)


class _Regressions(_Form):
    """What forms of regressions have in common: variables were divided by their variances in a group of rows."""

    rows: Floats
    log_scales: Floats

    @property
    def own_scales(self) -> Floats:
        """The log variance (d,) of each node in its own rows."""
        return self.log_scales[self.group_of, np.arange(self.n_nodes)]


@dataclass(frozen=True, eq=False, kw_only=True)
class GramForm(_Regressions):
    """Regressions from matrices of products: the variables, of length 1, and functions by which they enter, if any.

    With r the share of a node's variance v that its parents S leave, a family adds to the score, beside its price,

    - ``-rows ln(v r)``;
    - ``-rows v r / level`` with ``equal_variance``: the additive bound at a level, the mean of ``v r`` over all rows;
    - ``constants[k] - factors[k] ln(v r) - ln |R_S| / 2`` with ``constants``: an evidence, with k parents and R the
      matrix before it was scaled to a unit diagonal.

    Examples
    --------
    >>> correlation = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> form = GramForm.linear([correlation], rows=np.full(2, 100.0), prices=np.full((2, 1), 4.6))
    >>> form.n_nodes, form.has_bases, form.is_bic
    (2, False, True)
    """

    grams: tuple[Floats, ...]  # (D, D) for each group of nodes that share their rows
    firsts: Ints  # (G, d + 1) where the functions of each variable begin; 0, ..., d: the variables themselves
    group_of: Ints  # (d,)
    rows: Floats  # (d,)
    log_scales: Floats  # (G, d) ln v: by what the variables were divided
    prices: Floats
    most_parents: Ints  # (d,) a family with more is not credited for them
    equal_variance: bool = False
    constants: Floats | None = None  # (d, d + 1)
    factors: Floats | None = None  # (d, d + 1)
    collinear: float = COLLINEAR_PIVOT
    floor: float = RESIDUAL_FLOOR

    @classmethod
    def linear(
        cls,
        grams: Sequence[Floats],
        *,
        rows: Floats,
        prices: Floats,
        group_of: npt.NDArray[np.integer] | None = None,  # None: all nodes have the same rows
        log_scales: Sequence[Floats] | None = None,  # None: all variances are 1
        most_parents: Ints | None = None,  # None: any number
        equal_variance: bool = False,
        constants: Floats | None = None,
        factors: Floats | None = None,
    ) -> Self:
        """Return the form of a score whose variables enter themselves; nothing large is copied."""
        d = len(rows)
        return cls(
            grams=tuple(grams),
            firsts=np.tile(np.arange(d + 1, dtype=np.int64), (len(grams), 1)),
            group_of=np.zeros(d, dtype=np.int64) if group_of is None else group_of.astype(np.int64),
            rows=rows,
            log_scales=np.zeros((len(grams), d)) if log_scales is None else np.stack(log_scales),
            prices=prices,
            most_parents=np.full(d, d) if most_parents is None else most_parents,
            equal_variance=equal_variance,
            constants=constants,
            factors=factors,
        )

    @property
    def has_bases(self) -> bool:
        """Whether variables enter by functions of theirs."""
        return bool((self.firsts != np.arange(self.n_nodes + 1)).any())

    @property
    def tabled(self) -> bool:
        """Whether compiled code makes tables of all families."""
        return not self.has_bases

    @property
    def has_logs(self) -> bool:
        """Whether families are worth the logs of residual variances, which lose digits where columns are collinear."""
        return self.constants is None

    @property
    def matrices(self) -> tuple[Floats, ...]:
        """The matrices whose determinants say what families are worth."""
        return self.grams

    @property
    def is_bic(self) -> bool:
        """Whether a family adds ``-rows ln(v r)``, with variables that enter themselves."""
        return self.tabled and not self.equal_variance and self.constants is None

    def bound_weights(self, level: float) -> Floats:
        """Return what the residual share of each node (d,) costs in the additive bound at a level."""
        weights: Floats = self.rows / level * np.exp(self.own_scales)
        return weights


@dataclass(frozen=True, eq=False, kw_only=True)
class BlockForm(_Regressions):
    """Regressions of blocks of columns, such as the indicators of a category, on other blocks.

    With S the covariance of a node's columns given those of its parents, a family adds ``-rows ln |S|`` to the score,
    beside its price. There are more rows than columns.
    """

    grams: tuple[Floats, ...]  # (D, D) for each group of nodes that share their rows
    firsts: Ints  # (d + 1,) where the columns of each variable begin
    group_of: Ints  # (d,)
    rows: Floats  # (d,)
    log_scales: Floats  # (G, d) the logs of the variances by which its columns were divided, in sum
    prices: Floats

    tabled, has_logs = False, True


class NoisyRows(NamedTuple):
    """The rows of some nodes, whose residuals may have noise of any shape."""

    columns: Floats  # (d, n) standardised
    shares: Floats  # (n,) the weight of each row, together 1
    correlation: Floats  # (d, d)
    charge: float  # negentropy that is not credited

    def in_core(self) -> _core.NoiseRows:
        """Return the rows as the compiled core takes them."""
        return _core.NoiseRows(**self._asdict(), collinear=COLLINEAR_PIVOT, floor=RESIDUAL_FLOOR)


@dataclass(frozen=True, eq=False, kw_only=True)
class RowForm(_Regressions):
    """Linear regressions with noise of any shape: ``-rows ln(v r)``, plus what the negentropy of residuals is worth."""

    groups: tuple[NoisyRows, ...]  # for each group of nodes that share their rows
    group_of: Ints  # (d,)
    rows: Floats  # (d,)
    log_scales: Floats  # (G, d)
    prices: Floats
    most_parents: Ints  # (d,)

    tabled = has_logs = True

    @property
    def matrices(self) -> tuple[Floats, ...]:
        """The correlations of each group of nodes."""
        return tuple(group.correlation for group in self.groups)


@dataclass(frozen=True, eq=False, kw_only=True)
class CountForm(_Form):
    """Tables of counts: twice the log-likelihood of a family, or with ``ess`` its BDeu evidence.

    Beside the prices of edges, a configuration of the parents costs ``parameter_prices``.
    """

    codes: tuple[npt.NDArray[np.int32], ...]  # (d, u) levels of the distinct rows, for each group of nodes
    repeats: tuple[Ints, ...]  # (u,) how often each row occurs
    group_of: Ints  # (d,)
    cardinalities: Ints  # (d,)
    ess: float  # equivalent sample size; 0: the log-likelihood
    parameter_prices: Floats  # (d,)
    prices: Floats

    tabled, has_logs, matrices = True, False, tuple[Floats, ...]()

    @property
    def gain(self) -> float:
        """How often the log-likelihood or evidence counts."""
        return 1.0 if self.ess else 2.0


#: The forms of which there may be tables of all families, and all forms.
TabledForm = GramForm | RowForm | CountForm
Form = TabledForm | BlockForm


class Gaussian(NamedTuple):
    """The linear relations between columns that a score looks at, as a Gaussian likelihood sees them."""

    correlation: Floats  # (d, d)
    n_rows: float
    price: float | None  # of an edge; None: the score does not give every column a variance of its own
