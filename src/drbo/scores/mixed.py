"""Scores of tables with numeric and categorical columns: degenerate Gaussian and conditional Gaussian."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats, Indices
from drbo.data.statistics.levels import configurations
from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError
from drbo.scores.base import Score
from drbo.scores.bge import check_not_constant, log_pivots
from drbo.scores.discrete import PARAMETER_CAP, configuration_counts
from drbo.scores.families import Families, row_groups
from drbo.scores.forms import BlockForm, Form, GramForm

#: Added to the diagonal of a correlation matrix: collinear columns and perfect fits stay finite, and ties stay ties.
RIDGE = 1e-10
#: More columns than this after the indicators are made are refused: their correlations would not fit in memory.
MAX_COLUMNS = 4096
#: An indicator with a smaller variance is 0 or 1 in all rows: one row of a billion has more.
LEAST_VARIANCE = 1e-13
#: Rows times columns up to which a local score of the conditional Gaussian with a few parents is cheap.
CHEAP_CELLS = 40_000


class DegenerateGaussian(Score):
    """Degenerate Gaussian BIC (Andrews, Ramsey & Cooper 2019) for numeric and categorical columns together.

    A categorical column with r levels in the data becomes r - 1 indicator columns, a numeric one stays as it is, and
    all are treated as jointly Gaussian: ``sum_i -n ln|S_i| - penalty ln n w_i sum_(j in pa) w_j``, with S_i the
    residual covariance of the w_i columns of node i given the columns of its parents. ``local`` is ``-ln|S_i|``.

    Markov-equivalent DAGs tie; the result depends neither on units nor on which level has no indicator. With numeric
    columns alone it is the linear BIC ``bic-nv``. Relations that are not linear in the indicators are not seen, and
    levels that occur only a few times act like outliers: merge them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(3, size=300)
    >>> values = np.column_stack([group, 2.0 * (group == 1) + rng.normal(size=300)])
    >>> table = Statistics(values, ("group", "x"), ("categorical", "numeric"), (("a", "b", "c"), None))
    >>> score = DegenerateGaussian(table)
    >>> local = score.local(Families.from_sets(2, [(1, ()), (1, (0,))]))
    >>> bool(local[1] > local[0])
    True
    """

    name = "mixed"
    score_equivalent = True
    evidence_scale = 2.0
    nested = True
    needs = frozenset({"bases"})
    cheap = True  # 8 microseconds with at most three parents, for any number of rows

    def __init__(self, table: Statistics, **options: Any) -> None:
        super().__init__(table, **options)
        self.score_equivalent = self.targets is None
        self._groups = list[tuple[npt.NDArray[Any], Floats]]()
        self._group_of = np.zeros(self.n_nodes, dtype=np.intp)
        check_not_constant(table, self.name)
        if table.whole:
            self._add_rows(table)
        else:
            self._add_sums(table)
        self.gain = self.n_rows
        self._widths = np.bincount(self._owner, minlength=self.n_nodes)
        self.nested = bool((self.n_rows > self._widths.sum()).all())  # else a large parent set loses its credit

    def _add_rows(self, table: Statistics) -> None:
        """Keep the correlations of every group of nodes that share their rows."""
        columns, self._owner = _indicator_columns(table)
        for number, (members, rows) in enumerate(row_groups(self.targets, table.n_rows, self.n_nodes)):
            self._group_of[members] = number
            log_variance, correlation = _correlation(columns[rows])
            self._groups.append((np.bincount(self._owner, log_variance), correlation))

    def _add_sums(self, table: Statistics) -> None:
        """Keep the correlations of all rows, of which only sums over indicators are known."""
        if (bases := table.bases) is None or "categorical" not in table.kinds:
            raise ScoreError("mixed needs sums over the indicators of categories")
        _check_width(bases.widths, table.names)
        self._owner = np.repeat(np.arange(self.n_nodes), bases.widths)
        covariance = bases.covariance
        variance = np.diag(covariance)
        is_code = np.array([levels is not None for levels in table.levels])[self._owner]
        varies = variance > np.where(is_code, LEAST_VARIANCE, 0.0)  # a category may not occur in a resample
        safe = np.where(varies, np.sqrt(variance), 1.0)
        correlation = np.where(np.outer(varies, varies), covariance / safe / safe[:, None], 0.0)
        np.fill_diagonal(correlation, 1 + RIDGE)
        self._groups.append((np.bincount(self._owner, 2 * np.log(safe)), correlation))
        self._set_rows(np.full(self.n_nodes, bases.n), self.penalty)

    def local(self, families: Families) -> Floats:
        """Return minus the log determinant of the residual covariance of each family."""
        child = self._widths[families.nodes]
        parents = families.parents[:, self._owner]  # (m, D) parents as columns
        parents &= self.credited(families)[:, None]
        shapes = np.column_stack([self._group_of[families.nodes], parents.sum(axis=1), child])
        values = np.empty(len(families))
        for number, size, width in np.unique(shapes, axis=0).tolist():
            rows = np.flatnonzero((shapes == (number, size, width)).all(axis=1))
            nodes = families.nodes[rows]
            first = np.searchsorted(self._owner, nodes)
            place = np.concatenate(
                [np.nonzero(parents[rows])[1].reshape(len(rows), size), first[:, None] + np.arange(width)], axis=1
            )
            log_variance, correlation = self._groups[number]
            values[rows] = -(log_variance[nodes] + log_pivots(correlation, place)[:, size:].sum(axis=1))
        return values

    def credited(self, families: Families) -> Bools:
        """Return which families have fewer columns, indicators counted, than rows."""
        columns = families.parents @ self._widths + self._widths[families.nodes]
        few: Bools = columns < self.n_rows[families.nodes]
        return few

    def parameters(self, families: Families) -> npt.NDArray[Any]:
        """Return the columns of the node times the columns of its parents."""
        return self._widths[families.nodes] * (families.parents @ self._widths)

    def compiled(self) -> Form | None:
        """Return the correlations; where every category has two levels, it is one column like a number.

        None: there are fewer rows than columns, or a category does not occur in a resample.
        """
        if not (self.nested and self._widths.all()):
            return None
        log_scales, grams = zip(*self._groups, strict=True)
        if (self._widths > 1).any():
            return BlockForm(
                grams=grams,
                firsts=np.concatenate([[0], self._widths.cumsum()]).astype(np.int64),
                group_of=self._group_of.astype(np.int64),
                rows=self.n_rows,
                log_scales=np.stack(log_scales),
                prices=self._single_prices(),
            )
        return GramForm.linear(
            grams,
            rows=self.n_rows,
            prices=self._single_prices() if self.has_prior else (self.parameter_price + self.edge_price)[:, None],
            group_of=self._group_of,
            log_scales=log_scales,
        )


class ConditionalGaussian(Score):
    """Conditional Gaussian BIC (Andrews, Ramsey & Cooper 2018): a Gaussian per configuration of the categories.

    With ``f(S)`` the log-likelihood of a set S of columns (multinomial for its categorical ones, and within each of
    their configurations a Gaussian with its own mean and covariance for its numeric ones), ``local`` is
    ``f(pa, i) - f(pa)`` and the score ``sum_i 2 local_i - penalty ln n k_i``, with k_i the difference of the numbers of
    parameters. Markov-equivalent DAGs tie.

    It sees groups that differ in spread or in slopes, which :class:`DegenerateGaussian` does not; it pays with many
    parameters and takes heavy tails for differences in spread. The covariance of each configuration is drawn towards
    the overall one with the weight of (numeric columns + 1) rows, so that small configurations stay finite.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=300)
    >>> values = np.column_stack([group, (1.0 + 2 * group) * rng.normal(size=300)])
    >>> table = Statistics(values, ("group", "x"), ("categorical", "numeric"), (("a", "b"), None))
    >>> score = ConditionalGaussian(table)
    >>> families = Families.from_sets(2, [(1, ()), (1, (0,))])
    >>> empty, linked = 2 * score.local(families) + score.family_price(families)
    >>> bool(linked > empty)
    True
    """

    name = "mixed-cg"
    score_equivalent = True
    evidence_scale = 2.0
    cheap = True

    def __init__(self, table: Statistics, **options: Any) -> None:
        super().__init__(table, **options)
        self.cheap = self.cheap and table.n_rows * self.n_nodes <= CHEAP_CELLS
        check_not_constant(table, self.name)
        self.score_equivalent = self.targets is None
        self.gain = 2.0
        self._numeric = np.array([levels is None for levels in table.levels])
        self._cardinalities = np.array([1 if levels is None else len(levels) for levels in table.levels])
        self._groups = []
        self._group_of = np.zeros(self.n_nodes, dtype=np.intp)
        for number, (members, rows) in enumerate(row_groups(self.targets, table.n_rows, self.n_nodes)):
            values = table.values[rows]
            self._group_of[members] = number
            log_variance, correlation = _correlation(values)
            scaled = (values - values.mean(axis=0)) / np.exp(log_variance / 2)
            codes = np.where(self._numeric, 0, values).T.astype(np.int32)
            self._groups.append((scaled, codes, log_variance, correlation))

    def local(self, families: Families) -> Floats:
        """Return the log-likelihood of each node given its parents."""
        parents = families.parents & self.credited(families)[:, None]
        both = parents.copy()
        both[np.arange(len(families)), families.nodes] = True
        groups = self._group_of[families.nodes][:, None]
        sets = np.concatenate([np.hstack([groups, both]), np.hstack([groups, parents])])
        distinct, place = np.unique(sets, axis=0, return_inverse=True)
        likelihood: Floats = np.array([self._likelihood(int(row[0]), row[1:].astype(bool)) for row in distinct])
        joint, given = place.ravel()[: len(families)], place.ravel()[len(families) :]
        return likelihood[joint] - likelihood[given]

    def credited(self, families: Families) -> Bools:
        """Return which families have fewer numeric columns than rows."""
        numbers = (families.parents & self._numeric).sum(axis=1)
        few: Bools = numbers + 1 < self.n_rows[families.nodes]
        return few

    def _likelihood(self, group: int, members: Bools) -> float:
        """Return the log-likelihood of a set of columns over the rows of a group."""
        scaled, codes, log_variance, correlation = self._groups[group]
        numeric, categorical = np.flatnonzero(members & self._numeric), np.flatnonzero(members & ~self._numeric)
        code, _ = configurations(codes[categorical], self._cardinalities[categorical])
        order = np.argsort(code, kind="stable")
        starts = np.flatnonzero(np.diff(code[order], prepend=-1))
        counts = np.diff(starts, append=len(code)).astype(np.float64)
        value = float(counts @ np.log(counts / len(code)))
        size = len(numeric)
        if size == 0:
            return value
        values = scaled[np.ix_(order, numeric)]
        means = np.add.reduceat(values, starts, axis=0) / counts[:, None]
        centred = values - np.repeat(means, counts.astype(np.intp), axis=0)
        scatter = np.zeros((len(counts), size, size))
        for cell in np.flatnonzero(counts > 1):
            block = centred[starts[cell] : starts[cell] + int(counts[cell])]
            scatter[cell] = block.T @ block
        prior = (size + 1) * correlation[np.ix_(numeric, numeric)]
        covariance = (scatter + prior) / (counts + size + 1)[:, None, None]
        misfit = np.trace(np.linalg.solve(covariance, scatter), axis1=1, axis2=2)
        value -= float(counts @ np.linalg.slogdet(covariance)[1] + misfit.sum()) / 2
        return value - len(code) / 2 * float(size * np.log(2 * np.pi) + log_variance[numeric].sum())

    def parameters(self, families: Families) -> npt.NDArray[Any]:
        """Return how ``q - 1 + q (k + k (k + 1) / 2)`` grows: q configurations with a mean and a covariance of k."""
        configs = configuration_counts(families.parents, self._cardinalities)
        size = (families.parents & self._numeric).sum(axis=1)
        more = self._cardinalities[families.nodes] - 1
        as_category = more * configs * (1 + size + size * (size + 1) / 2)
        count: Floats = np.where(self._numeric[families.nodes], configs * (size + 2), as_category)
        return np.minimum(count, PARAMETER_CAP)


def _indicator_columns(table: Statistics) -> tuple[Floats, Indices]:
    """Return the columns (n, D) with categories as indicators, and the table's column that each comes from."""
    present = [None if levels is None else np.unique(table.values[:, j]) for j, levels in enumerate(table.levels)]
    widths = np.array([1 if levels is None else len(levels) - 1 for levels in present])
    _check_width(widths, table.names)
    columns = np.empty((table.n_rows, widths.sum()))
    owner = np.repeat(np.arange(table.n_columns), widths)
    for j, levels in enumerate(present):
        values = table.values[:, [j]]
        columns[:, owner == j] = values if levels is None else values == levels[:-1]
    return columns, owner


def _check_width(widths: Indices, names: Sequence[str]) -> None:
    """Refuse more indicators than there is memory for."""
    if widths.sum() > MAX_COLUMNS:
        widest = int(np.argmax(widths))
        raise ScoreError(
            f"with categories encoded as indicators, the table needs {widths.sum()} columns, but mixed accepts at "
            f"most {MAX_COLUMNS}; column '{names[widest]}' alone has {widths[widest] + 1} distinct values",
            hint="drop that column or merge its rare levels",
        )


def _correlation(columns: Floats) -> tuple[Floats, Floats]:
    """Return the log variances and the correlation matrix, with a ridge that counts as variance: its diagonal is 1.

    A column that is constant in these rows tells nothing: no variance but the ridge, and correlation 0 with all others.
    """
    centred = columns - columns.mean(axis=0)
    deviation = np.sqrt(np.mean(centred**2, axis=0))
    deviation[np.ptp(columns, axis=0) == 0] = 0
    safe = np.where(deviation > 0, deviation, 1.0)
    scaled = np.where(deviation > 0, centred / safe, 0.0)
    correlation = scaled.T @ scaled / (len(columns) * (1 + RIDGE))
    np.fill_diagonal(correlation, 1.0)
    return 2 * np.log(safe) + np.log1p(RIDGE), correlation
