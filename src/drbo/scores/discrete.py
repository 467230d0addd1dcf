"""Scores of categorical data from sparse counts: multinomial BIC and BDeu."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from drbo.arrays import Bools, Floats, Indices, Ints
from drbo.data.statistics.levels import CODE_LIMIT, configurations, level_codes, renumbered
from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError
from drbo.scores.base import Score
from drbo.scores.families import Families, row_groups
from drbo.scores.forms import CountForm, Form

#: Cells per row up to which a full table of counts is cheaper than sorting.
DENSE_CELLS = 8
#: Identical rows are merged when that leaves at most this share of them.
MERGE_SHARE = 0.5
#: Parameter counts stop growing here: such a family can never win, and sums of prices keep their digits.
PARAMETER_CAP = 1e15


class _CountScore(Score):
    """What the discrete scores share: the levels of the columns and the counts of a family."""

    score_equivalent = True
    needs = frozenset({"counts"})
    row_weights = "counts"
    cheap = True
    independence = "g-test"

    def __init__(self, table: Statistics, **options: Any) -> None:
        super().__init__(table, **options)
        self.score_equivalent = self.targets is None
        codes, self.cardinalities = level_codes(table, self.name)
        self.counted = []  # per group of nodes with the same rows: columns (d, u) and how often each row occurs
        self.group_of = np.zeros(self.n_nodes, dtype=np.intp)
        for number, (members, rows) in enumerate(row_groups(self.targets, table.n_rows, self.n_nodes)):
            self.group_of[members] = number
            times = None if table.weights is None else table.weights[rows]
            self.counted.append(merge_rows(codes[:, rows], self.cardinalities, times))

    def local(self, families: Families) -> Floats:
        """Return the log-likelihood or log evidence of each family."""
        values = np.empty(len(families))
        for row, node in enumerate(families.nodes.tolist()):
            parents = np.flatnonzero(families.parents[row])
            columns, repeats = self.counted[self.group_of[node]]
            code, span = configurations(columns[parents], self.cardinalities[parents])
            counts = _count(code, span, columns[node], int(self.cardinalities[node]), repeats)
            values[row] = self._value(*counts, node, parents)
        return values

    def _form(self, parameter_prices: Floats, prices: Floats, ess: float) -> CountForm:
        return CountForm(
            codes=tuple(columns for columns, _ in self.counted),
            repeats=tuple(
                np.ones(columns.shape[1], dtype=np.int64) if repeats is None else repeats.astype(np.int64)
                for columns, repeats in self.counted
            ),
            group_of=self.group_of.astype(np.int64),
            cardinalities=self.cardinalities.astype(np.int64),
            ess=ess,
            parameter_prices=parameter_prices,
            prices=prices,
        )

    def _value(
        self,
        cells: Floats,  # how often each (parent configuration, level) that occurs does so
        totals: Floats,  # how often each parent configuration that occurs does so
        node: int,
        parents: Indices,
    ) -> float:
        raise NotImplementedError


class DiscreteBIC(_CountScore):
    """Multinomial BIC: ``sum_i 2 loglik_i - penalty ln n (r_i - 1) q_i``.

    ``r_i`` is the number of levels of node i and ``q_i`` the product of the levels of its parents, seen together or
    not. ``local`` is the maximised log-likelihood ``sum_jk N_ijk ln(N_ijk / N_ij)``. Markov-equivalent DAGs tie.

    Columns are categorical, or numeric with few distinct values: at most 32, and at most half as many as rows.
    Counting is sparse: no table of all configurations is ever built.

    Examples
    --------
    >>> table = Statistics.from_array([[0, 1], [0, 1], [1, 0], [1, 0]])
    >>> score = DiscreteBIC(table)
    >>> score.local(Families.from_sets(2, [(1, ()), (1, (0,))])).round(3).tolist()
    [-2.773, 0.0]
    """

    name = "bic-discrete"
    evidence_scale = 2.0
    nested = True

    def __init__(self, table: Statistics, **options: Any) -> None:
        super().__init__(table, **options)
        self.gain = 2.0

    def _value(
        self,
        cells: Floats,
        totals: Floats,
        node: int,
        parents: Indices,
    ) -> float:
        return _sum_x_log_x(cells) - _sum_x_log_x(totals)

    def parameters(self, families: Families) -> npt.NDArray[Any]:
        """Return ``(r_i - 1) q_i``, up to a cap that no useful family reaches."""
        return (self.cardinalities[families.nodes] - 1) * configuration_counts(families.parents, self.cardinalities)

    def compiled(self) -> Form:
        """Return the counted rows; the penalty counts parameters."""
        each = self.parameter_price * (self.cardinalities - 1)
        beyond = self._single_prices() - each[:, None] * self.cardinalities  # what a single parent costs beyond them
        return self._form(each, beyond, 0.0)


class BDeu(_CountScore):
    """Bayesian Dirichlet score with a uniform prior (Buntine 1991; Heckerman, Geiger & Chickering 1995).

    ``local`` is the log evidence of a family,
    ``sum_j [lnG(a) - lnG(N_ij + a)] + sum_jk [lnG(N_ijk + a / r) - lnG(a / r)]`` with ``a = ess / q``, r levels of
    the node and q the product of the levels of its parents, seen together or not. Markov-equivalent DAGs tie.

    Columns are as for :class:`DiscreteBIC`.

    Parameters
    ----------
    table : the checked data.
    ess : equivalent sample size of the prior, > 0; larger values give denser graphs.
    options : those of :class:`~drbo.scores.base.Score`. The evidence holds the cost of parameters already; a
        ``penalty`` above 1 adds ``(penalty - 1) / 2 ln n`` per edge, ``"ebic"`` adds ``ln d``, as a prior that
        prefers sparse graphs.

    Examples
    --------
    >>> table = Statistics.from_array([[0, 1], [0, 1], [1, 0], [1, 0]])
    >>> BDeu(table, ess=1.0).local(Families.from_sets(2, [(1, ()), (1, (0,))])).round(3).tolist()
    [-3.753, -1.751]
    """

    name = "bdeu"
    evidence_scale = 1.0

    def __init__(self, table: Statistics, *, ess: float = 1.0, **options: Any) -> None:
        super().__init__(table, **options)
        if not (np.isfinite(ess) and ess > 0):
            raise SettingsError(
                f"ess must be a number > 0, got {ess!r}", hint="1 is usual; larger values give denser graphs"
            )
        self.ess = float(ess)
        self._log_levels = np.log(self.cardinalities)
        self.parameter_price = np.maximum(self.parameter_price - np.log(self.n_rows), 0.0) / 2
        self.evidence_price = np.zeros_like(self.parameter_price)

    def _value(
        self,
        cells: Floats,
        totals: Floats,
        node: int,
        parents: Indices,
    ) -> float:
        log_a = np.log(self.ess) - self._log_levels[parents].sum()  # a itself may underflow
        return float(_log_rising(cells, log_a - self._log_levels[node]).sum() - _log_rising(totals, log_a).sum())

    def parameters(self, families: Families) -> Indices:
        """Return one per edge: only a penalty above 1 is charged."""
        return families.sizes

    def compiled(self) -> Form:
        """Return the counted rows; the penalty counts edges."""
        return self._form(np.zeros(self.n_nodes), self._single_prices(), self.ess)


def configuration_counts(
    parents: Bools,  # (m, d)
    cardinalities: Ints,
) -> Floats:
    """Return the product (m,) of the cardinalities of each parent set, exact up to a cap."""
    product = np.ones(len(parents))
    for cardinality in np.unique(cardinalities):
        power = parents[:, cardinalities == cardinality].sum(axis=1)
        with np.errstate(over="ignore"):  # the cap follows
            product = np.minimum(product * float(cardinality) ** power, PARAMETER_CAP)
    return product


def merge_rows(
    codes: npt.NDArray[np.int32],  # (d, n)
    cardinalities: Ints,
    times: Floats | None = None,  # (n,) how often each row counts
) -> tuple[npt.NDArray[np.int32], Floats | None]:
    """Return the distinct rows and how often each occurs; the rows as they are, and None, where few are equal."""
    code, _ = configurations(codes, cardinalities)
    _, first, member, repeats = np.unique(code, return_index=True, return_inverse=True, return_counts=True)
    if times is not None:
        return np.ascontiguousarray(codes[:, first]), np.bincount(member.ravel(), times).astype(np.float64)
    if len(first) > MERGE_SHARE * len(code):
        return np.ascontiguousarray(codes), None
    return np.ascontiguousarray(codes[:, first]), repeats.astype(np.float64)


def _count(
    code: Ints,  # (u,) parent configuration of each row
    span: int,
    levels: npt.NDArray[np.int32],  # (u,) level of the node
    cardinality: int,
    repeats: Floats | None,
) -> tuple[Floats, Floats]:
    """Return the counts of all (configuration, level) and of all configurations that occur."""
    if span * cardinality > CODE_LIMIT:
        code, span = renumbered(code)
    joint = code * cardinality + levels
    if span * cardinality <= DENSE_CELLS * len(joint):
        table = np.bincount(joint, repeats, minlength=span * cardinality).astype(np.float64)
        totals = table.reshape(span, cardinality).sum(axis=1)
        return table[table > 0], totals[totals > 0]
    order = slice(None) if repeats is None else np.argsort(joint)
    joint = np.sort(joint) if repeats is None else joint[order]
    starts = np.flatnonzero(np.concatenate([[True], joint[1:] != joint[:-1]]))
    if repeats is None:
        cells = np.diff(starts, append=len(joint)).astype(np.float64)
    else:
        cells = np.add.reduceat(repeats[order], starts)
    owner = joint[starts] // cardinality
    return cells, np.add.reduceat(cells, np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]])))


def _sum_x_log_x(counts: Floats) -> float:
    more = counts[counts > 1]  # most configurations occur once when parents are many, and add nothing
    return float(more @ np.log(more))


def _log_rising(counts: Floats, log_a: float) -> Floats:
    """Return ``lnG(N + a) - lnG(a)`` for N >= 1, exact for any a: ``lnG(a) = lnG(1 + a) - ln a``."""
    a = np.exp(log_a)
    rising: Floats = gammaln(counts + a) - gammaln(1 + a) + log_a
    return rising
