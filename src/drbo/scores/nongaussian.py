"""Linear BIC whose noise may be Gaussian or not, from the residuals of each family."""

from typing import Any, Self

import numpy as np

from drbo.arrays import Floats
from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError
from drbo.machine.threads import crew
from drbo.scores.families import Families, row_groups
from drbo.scores.forms import Form, NoisyRows, RowForm
from drbo.scores.linear import BicNV


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
    >>> score = BicNG(Statistics.from_array(np.column_stack([x, x + noise])))
    >>> dags = np.array([[[0, 1], [0, 0]], [[0, 0], [1, 0]]], dtype=bool)  # 0 -> 1, 1 -> 0
    >>> forward, backward = score.combine(score.local(Families.from_dags(dags)).reshape(2, 2), np.zeros((2, 2)))
    >>> bool(forward > backward)
    True
    """

    name = "bic-ng"
    score_equivalent = False
    assumption = "linear effects with non-Gaussian noise"
    regression = "linear"
    words = ("Effects are linear and additive; the noise may have any shape. Arrows rest on the shape of the noise.",)
    needs = frozenset({"rows"})

    def __init__(self, table: Statistics, **options: Any) -> None:
        super().__init__(table, **options)
        self.nested = False  # a parent can make noise more Gaussian
        self.noisy_rows: list[NoisyRows] = []  # for each group of nodes that share their rows
        for number, (members, rows) in enumerate(row_groups(self.targets, table.n_rows, self.n_nodes)):
            weights = np.ones(len(rows)) if table.weights is None else table.weights[rows]
            share = weights / weights.sum()
            columns = np.array((table.values if len(rows) == table.n_rows else table.values[rows]).T, order="C")
            columns -= (columns @ share)[:, None]
            spread = np.sqrt(np.einsum("ij,ij,j->i", columns, columns, share))
            columns /= np.where(spread > 0, spread, 1.0)[:, None]
            n = self.n_rows[members[0]]
            self.noisy_rows.append(NoisyRows(columns, share, self.groups[number][1], float((1.0 + np.log(n)) / n)))

    @classmethod
    def from_covariance(cls, *_args: Any, **_options: Any) -> Self:
        """Refuse: the shape of noise cannot be seen in a covariance matrix."""
        raise ScoreError("bic-ng requires rows, got a covariance matrix", hint="use bic-nv")

    def _fits(self, group: int, families: Families) -> Floats:
        """Return ``-ln`` of the residual variance, plus ``max(0, 2 J - 2 (1 + ln n) / n)``."""
        rows = self.noisy_rows[group]
        return rows.in_core().fits(*families.flat(), crew(len(families) * rows.columns.shape[1]))

    def compiled(self) -> Form:
        """Return the rows: the shape of noise is not in the correlations."""
        return RowForm(
            groups=tuple(self.noisy_rows),
            group_of=self.group_of.astype(np.int64),
            rows=self.n_rows,
            log_scales=np.stack([log_variance for log_variance, _ in self.groups]),
            prices=self._single_prices(),
            most_parents=self.most_parents,
        )
