"""Tests whether residuals are independent of the parents of a family, for many families of one table.

The module is long because all tests share the fits that are remembered.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.data.checks.groups import one_left_out, steps_within
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.units import ranked
from drbo.deadline import current
from drbo.independence.latent_classes import classes_gain
from drbo.independence.normality import normality
from drbo.independence.rank_hsic import (
    Independence,
    RankFeatures,
    category_features,
    independence,
    rank_features,
    share_of_rows,
)
from drbo.independence.residuals import AdditiveRegressions, NoiseModel, linear_residual, remember

#: How a column depends on its parents: additive splines, straight lines, or splines between normal scores of ranks.
Regression = Literal["splines", "linear", "ranks"]

#: Tests use at most this many rows: with more, they reject every real table for deviations that do not matter.
MAX_ROWS = 3_000
#: A sum of weights may be smaller than the whole number that it stands for, by this.
ROUNDING = 1e-6
#: With fewer rows the tests have almost no power.
MIN_ROWS = 50
#: Numeric columns with fewer distinct values are not tested: additive noise is no model for them. With 5 values, an
#: effect that was cut into classes often looks like the cause.
MIN_DISTINCT = 8
#: A column piles up at an end of its range if so large a share of the rows has that value, and so many times as many as
#: have the next one: it is censored, or has a floor or a ceiling.
END_SHARE, END_RATIO = 0.03, 2.0


def rows_to_test(table: Statistics, seed: int) -> Statistics:
    """Return the complete rows of a table, or a random sample of 3,000 of them.

    Rows of unequal weight are drawn by weight; the sample is no larger than the effective number of rows. Of rows whose
    group means were removed, one row of each group is left out. Rows that depend on their neighbours are all there, in
    order, so that tests see how alike residuals of neighbours are.

    Examples
    --------
    >>> rows_to_test(Statistics.from_array(np.arange(8000.0).reshape(4000, 2)), seed=0).n_rows
    3000
    """
    complete, rng, chances = table.complete_rows.in_order, np.random.default_rng(seed), None
    worth = float(complete.n_rows)
    if complete.weights is not None:
        chances = complete.weights / complete.weights.sum()
        counted = complete.weights.sum() if complete.order is None else complete.n_rows
        worth = min(counted, 1.0 / np.square(chances).sum())  # Kish's effective number
    if complete.groups is not None:
        complete, chances = complete.take(one_left_out(complete.groups, rng), np.arange(complete.n_columns)), None
    n = complete.n_rows
    size = min(n, MAX_ROWS, int(worth + ROUNDING))
    if size == n:
        return complete
    drawn = rng.choice(n, size, replace=False, p=chances)
    return complete.take(np.sort(drawn), np.arange(complete.n_columns))


def spread_ties(column: Floats, rng: np.random.Generator) -> Floats:
    """Spread equal values at random over the gap to their neighbours; a column without ties stays as it is.

    Without this, residuals of a rounded column lie on a few curves and are never independent of the other column, so
    that the rounder of two columns would always look like the cause.

    Examples
    --------
    >>> spread = spread_ties(np.array([1.0, 1.0, 2.0, 4.0]), np.random.default_rng(0))
    >>> bool((np.abs(spread - [1, 1, 2, 4]) <= 1).all()), len(np.unique(spread))
    (True, 4)
    """
    values, place = np.unique(column, return_inverse=True)
    if len(values) == len(column) or len(values) == 1:
        return column
    middles = (values[1:] + values[:-1]) / 2
    low = np.concatenate([[2 * values[0] - middles[0]], middles])
    high = np.concatenate([middles, [2 * values[-1] - middles[-1]]])
    spread: Floats = low[place] + (high - low)[place] * rng.random(len(column))
    return spread


def piles_up(column: Floats) -> bool:
    """Tell whether the values of a column pile up at an end of its range.

    Examples
    --------
    >>> piles_up(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0])), piles_up(np.array([0.0, 1.0, 2.0, 3.0]))
    (True, False)
    """
    counts = np.unique(column, return_counts=True)[1]
    ends = ((counts[0], counts[1]), (counts[-1], counts[-2])) if len(counts) > 1 else ()
    return any(end >= END_SHARE * len(column) and end >= END_RATIO * beside for end, beside in ends)


class Sample(NamedTuple):
    """A table prepared for tests of residuals."""

    values: Floats  # (n, d) at most 3,000 complete rows, equal values spread
    categorical: tuple[int, ...]  # columns that hold codes of categories
    fine: Bools  # (d,) numeric columns with at least 8 distinct values
    testable: Bools  # (d,) of these, columns that do not pile up at an end of their range
    serial: bool  # rows are in an order in which neighbours depend on each other

    @classmethod
    def of(cls, table: Statistics, seed: int, check: Callable[[], None] = lambda: None) -> "Sample":
        """Draw the rows and spread equal values, both with the seed; ``check`` is called before each column."""
        rows = rows_to_test(table, seed)
        categorical = tuple(j for j, kind in enumerate(rows.kinds) if kind == "categorical")
        given, least = rows.values, MIN_DISTINCT
        if rows.groups is not None:  # so many values have at least so many differences
            given, least = steps_within(rows), 2 * MIN_DISTINCT - 1
        fine = np.zeros(given.shape[1], dtype=bool)
        testable = fine.copy()
        for j, column in enumerate(given.T):
            check()
            fine[j] = j not in categorical and len(np.unique(column)) >= least
            testable[j] = fine[j] and not piles_up(column)
        rng, values = np.random.default_rng(seed), rows.values.copy()
        for j in np.flatnonzero(fine).tolist():
            check()
            values[:, j] = spread_ties(values[:, j], rng)
        return cls(values, categorical, fine, testable, rows.order is not None)


class ResidualTests:
    """Tests of residuals against columns and against other residuals, which are remembered.

    Parameters
    ----------
    values : (n, d) without missing cells; equal values of numeric columns spread (:func:`spread_ties`).
    categorical : columns that hold codes of categories.
    regression : ``splines`` (additive), ``linear``, or ``ranks``: splines after every column is ranked.
    serial : the rows are in an order in which neighbours depend on each other.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x, noise = rng.uniform(-1, 1, size=(2, 500))
    >>> tests = ResidualTests(np.column_stack([x, np.exp(x) + 0.3 * noise]))
    >>> tests.family(1, (0,)).p_value > 0.05, tests.family(0, (1,)).p_value < 0.001
    (True, True)
    """

    def __init__(
        self,
        values: Floats,
        categorical: Sequence[int] = (),
        regression: Regression = "splines",
        serial: bool = False,
    ) -> None:
        self._serial = serial
        self._fits = AdditiveRegressions(ranked(values, categorical) if regression == "ranks" else values, categorical)
        self._categorical = frozenset(categorical)
        self._regression = regression
        self._columns: dict[int, RankFeatures] = {}
        self._residuals: dict[tuple[int, tuple[int, ...], NoiseModel], RankFeatures] = {}

    def prepare(self, pairs: Iterable[tuple[int, int, tuple[int, ...]]]) -> None:
        """Make the fits with additive noise that tests of pairs need in both directions, all at once.

        Each pair is two columns and what both are given. Only as many fits are made as are remembered.
        """
        self.fit(family for pair in pairs for family in _fits_of(*pair))

    def fit(self, families: Iterable[tuple[int, tuple[int, ...]]]) -> None:
        """Fit families, whose parents rise, with additive noise all at once: as many as are remembered."""
        if self._regression != "linear":
            self._fits.prepare(one for one in families if one[1] and (*one, "additive") not in self._residuals)

    def family(self, node: int, parents: Sequence[int], noise: NoiseModel = "additive") -> Independence:
        """Test the residual of a family against each of its parents, corrected for their number."""
        return weakest(self.parent(node, parents, parent, noise) for parent in parents)

    def parent(self, node: int, parents: Sequence[int], parent: int, noise: NoiseModel = "additive") -> Independence:
        """Test the residual of a family against one of its parents."""
        return independence(self._residual(node, parents, noise), self._column(parent))

    def pair(self, cause: int, effect: int, given: Sequence[int], noise: NoiseModel = "additive") -> Independence:
        """Test what the cause and other columns leave of an effect against what the others leave of the cause."""
        return independence(*self._ends(cause, effect, given, noise))

    def _ends(self, cause: int, effect: int, given: Sequence[int], noise: NoiseModel) -> list[RankFeatures]:
        return [self._residual(effect, (*given, cause), noise), self._residual(cause, given, "additive")]

    def share_of_rows(self, cause: int, effect: int, given: Sequence[int]) -> float:
        """Return how many independent rows a row is worth for the test of two columns."""
        return share_of_rows(*self._ends(cause, effect, given, "additive"))

    def beside(self, cause: int, effect: int, given: Sequence[int]) -> Independence:
        """Test what is left of an effect against what is left of the cause in the rows before and after it."""
        if not self._serial:
            return Independence(1.0, 0.0)
        residual, of_cause = (end.features for end in self._ends(cause, effect, given, "additive"))
        pairs = (residual[1:], of_cause[:-1]), (residual[:-1], of_cause[1:])
        return weakest(independence(*(RankFeatures.centred(one).of_series for one in pair)) for pair in pairs)

    def noises(
        self,
        node: int,
        parents: Sequence[int],
        others: Iterable[tuple[int, Sequence[int]]],
        noise: NoiseModel = "additive",
    ) -> Independence:
        """Test the residual of a family against the residuals of other families, corrected for their number."""
        residual = self._residual(node, parents, noise)
        return weakest(independence(residual, self._residual(*family, noise)) for family in others)

    def classes_gain(self, cause: int, effect: int, given: Sequence[int]) -> float:
        """Return by how much two classes of rows explain two columns better than an arrow (:func:`classes_gain`)."""
        before, after = tuple(sorted(given)), tuple(sorted((*given, cause)))
        ends = [self._fits.residual(end, before) if before else self._fits.values[:, end] for end in (cause, effect)]
        return classes_gain(ends[0], ends[1], self._fits.residual(effect, after))

    def left(self, node: int, parents: Sequence[int]) -> float:
        """Return the share of the variance of a column that others leave."""
        if not parents:
            return 1.0
        residual = self._plain_residual(node, tuple(sorted(parents)), "additive")
        return float(residual.var() / self._fits.values[:, node].var())

    def normality(self, node: int, parents: Sequence[int]) -> float:
        """Return the p-value of normal residuals of a family (:func:`normality`)."""
        return normality(self._plain_residual(node, tuple(sorted(parents)), "additive"))

    def _plain_residual(self, node: int, parents: tuple[int, ...], noise: NoiseModel) -> Floats:
        if self._regression == "linear":
            return linear_residual(self._fits.values, node, parents)
        return self._fits.residual(node, parents, noise)

    def _residual(self, node: int, parents: Sequence[int], noise: NoiseModel) -> RankFeatures:
        key = (node, tuple(sorted(parents)), noise)
        if key not in self._residuals:
            found = self._of_rows(rank_features(self._plain_residual(*key))) if parents else self._column(node)
            remember(self._residuals, key, found)
        return self._residuals[key]

    def _column(self, column: int) -> RankFeatures:
        if column not in self._columns:
            build = category_features if column in self._categorical else rank_features
            self._columns[column] = self._of_rows(build(self._fits.values[:, column]))
        return self._columns[column]

    def _of_rows(self, features: RankFeatures) -> RankFeatures:
        return features.of_series if self._serial else features


def _fits_of(i: int, j: int, given: tuple[int, ...]) -> Iterable[tuple[int, tuple[int, ...]]]:
    """Yield the families behind the tests of two columns in both directions."""
    for end, other in ((j, i), (i, j)):
        yield end, given
        yield end, tuple(sorted((*given, other)))


class TableTests:
    """Tests of the residuals of one table, which all checks of a graph share.

    Parameters
    ----------
    table : the data.
    seed : draws the rows, and the order of equal values.

    Examples
    --------
    >>> tests = TableTests(Statistics.from_array(np.random.default_rng(0).normal(size=(100, 2))))
    >>> tests.by("splines") is tests.by("splines"), tests.by("splines") is tests.by("ranks")
    (True, False)
    """

    def __init__(self, table: Statistics, seed: int = 0) -> None:
        self.names = table.names
        self.values, self.categorical, self.fine, self.testable, self._serial = Sample.of(table, seed, current().check)
        self._by: dict[Regression, ResidualTests] = {}

    def untestable(self, column: int) -> str:
        """Return why a column is not tested, in words that follow its name."""
        if self.fine[column]:
            return "piles up at an end of its range"
        return f"is categorical or has fewer than {MIN_DISTINCT} distinct values"

    def by(self, regression: Regression) -> ResidualTests:
        """Return the tests with one kind of regression."""
        if regression not in self._by:
            self._by[regression] = ResidualTests(self.values, self.categorical, regression, self._serial)
        return self._by[regression]


def weakest(outcomes: Iterable[Independence]) -> Independence:
    """Return the smallest p-value, corrected for the number of tests, and the largest dependence.

    Examples
    --------
    >>> weakest([Independence(0.5, 0.0), Independence(0.02, 0.3)])
    Independence(p_value=0.04, dependence=0.3)
    """
    found = list(outcomes)
    if not found:
        return Independence(1.0, 0.0)
    smallest = min(outcome.p_value for outcome in found)
    return Independence(min(1.0, len(found) * smallest), max(outcome.dependence for outcome in found))
