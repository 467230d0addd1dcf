"""Linear BIC whose noise may be Gaussian or not, from the residuals of each family."""

from typing import Any, Self

import numpy as np

from drbo import _core
from drbo.arrays import Floats, Ints, Masks
from drbo.data.statistics.table import Table
from drbo.errors import ScoreError
from drbo.scores.families import Families, row_groups
from drbo.scores.linear import COLLINEAR_PIVOT, RESIDUAL_FLOOR, BicNV
from drbo.threads import crew


class BicNG(BicNV):
    r"""Linear BIC with noise of any shape: that of :class:`~drbo.scores.linear.BicNV`, plus what the shape is worth.

    A family is worth ``-n ln MSE + max(0, 2 n J - 2 - 2 ln n)``, minus ``penalty ln n`` per parent. J is the negentropy
    of the residual, that is, how much its entropy lies below that of Gaussian noise of the same variance, so ``n J`` is
    a gain in log-likelihood. Of the standardised residual u it is approximated by two robust moments:

    .. math::
        J = \frac{36}{8 \sqrt 3 - 9} E[u e^{-u^2 / 2}]^2
          + \frac{24}{16 \sqrt 3 - 27} \bigl(E[e^{-u^2 / 2}] - \sqrt{1/2}\bigr)^2

    (Hyvarinen 1998, "New approximations of differential entropy for independent component analysis and projection
    pursuit"). For Gaussian noise ``2 n J`` has about a chi-square distribution with two degrees of freedom: its mean 2
    is subtracted, and ``ln n`` for each of the two, as for any parameter of a BIC. Where no residual is worth that, the
    score is that of ``bic-nv``, and equivalent DAGs tie. Where all noise but that of one node at most is not Gaussian,
    the whole DAG is identified (Shimizu et al. 2006, "A linear non-Gaussian acyclic model for causal discovery").

    ``local`` is the worth without penalties, divided by n. A row of weight w counts as w equal rows, in all moments and
    in n. Rows must be complete: moments of residuals do not follow from means and covariances.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.exponential(size=(2, 500))
    >>> score = BicNG(Table.from_array(np.column_stack([x, x + noise])))
    >>> dags = np.array([[[0, 1], [0, 0]], [[0, 0], [1, 0]]], dtype=bool)  # 0 -> 1, 1 -> 0
    >>> forward, backward = score.combine(score.local(Families.from_dags(dags)).reshape(2, 2), np.zeros((2, 2)))
    >>> bool(forward > backward)
    True
    """

    name = "bic-ng"
    score_equivalent = False
    assumption = "linear effects with non-Gaussian noise"
    regression = "linear"
    takes_missing = False

    def __init__(self, table: Table, **options: Any) -> None:
        super().__init__(table, **options)
        self.nested = False  # a parent can make noise more Gaussian
        self.columns: list[Floats] = []  # (d, n) standardised, for each group of nodes that share their rows
        self.shares: list[Floats] = []  # (n,) the weights of these rows, together 1
        for _, rows in row_groups(self.targets, table.n_rows, self.n_nodes):
            weights = np.ones(len(rows)) if table.weights is None else table.weights[rows]
            share = weights / weights.sum()
            columns = np.array((table.values if len(rows) == table.n_rows else table.values[rows]).T, order="C")
            columns -= (columns @ share)[:, None]
            spread = np.sqrt(np.einsum("ij,ij,j->i", columns, columns, share))
            columns /= np.where(spread > 0, spread, 1.0)[:, None]
            self.columns.append(columns)
            self.shares.append(share)

    @classmethod
    def from_covariance(cls, *_args: Any, **_options: Any) -> Self:
        """Refuse: the shape of noise cannot be seen in a covariance matrix."""
        raise ScoreError("bic-ng requires rows, got a covariance matrix", hint="use bic-nv")

    def _fits(self, group: int, families: Families) -> Floats:
        """Return ``-ln`` of the residual variance, plus ``max(0, 2 J - 2 (1 + ln n) / n)``."""
        threads = crew(len(families) * self.columns[group].shape[1])
        return self.rows_of(group).fits(*families.flat(), threads)

    def all_local(
        self,
        possible: Masks,  # (d,) bit masks of the columns that may be parents
        most: Ints,  # (d,) parents
        threads: int,
    ) -> Floats:
        """Return the local values of all families, as in :class:`~drbo.search.exact.family_tables.FamilyTables`."""
        most = np.minimum(most, np.ceil(self.n_rows).astype(np.int64) - 2)
        found = np.empty((self.n_nodes, 1 << (self.n_nodes - 1)))
        for number, (log_variance, _) in enumerate(self.groups):
            own = self.group_of == number
            fits = self.rows_of(number).all_fits(possible, np.where(own, most, -1), threads)
            found[own] = np.nan_to_num(fits[own], copy=False) - log_variance[own, None]
        return found

    def rows_of(self, group: int) -> _core.NoiseRows:
        """Return the rows of a group of nodes as the compiled core takes them."""
        n = self.n_rows[self.group_of == group][0]
        return _core.NoiseRows(
            columns=self.columns[group],
            shares=self.shares[group],
            correlation=self.groups[group][1],
            charge=float((1.0 + np.log(n)) / n),  # negentropy that is not credited
            collinear=COLLINEAR_PIVOT,
            floor=RESIDUAL_FLOOR,
        )
