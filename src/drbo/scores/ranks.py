"""Linear-Gaussian BIC of normal scores of ranks."""

from typing import Any, NoReturn

from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError
from drbo.scores.linear import BicNV


class BicRanks(BicNV):
    """The score of :class:`~drbo.scores.linear.BicNV` after every column is replaced by the normal scores of its ranks.

    Equal values share the mean of their ranks. No increasing function of a column changes anything, so it suits columns
    that have linear relations with Gaussian noise on some other scale (a Gaussian copula: Liu, Lafferty & Wasserman
    2009, "The nonparanormal"): skewed amounts such as costs and concentrations, counts, and ordered codes such as
    grades, whose distances mean little. Markov-equivalent DAGs tie.

    A row of weight w counts as w equal rows, in ranks, too. With groups, the differences from the group means are
    ranked. A cell that was set by intervention keeps its rank among all cells of its column. Ranks need rows: sums of
    rows and tables with missing cells are refused. The weights of edges are those between normal scores: how many
    standard deviations an effect moves when its cause moves by one.

    Examples
    --------
    >>> import numpy as np
    >>> from drbo.scores.families import Families
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 2)) @ [[1.0, 1.0], [0.0, 1.0]]
    >>> families = Families.from_sets(2, [(0, (1,)), (1, (0,))])
    >>> scores = [BicRanks(Statistics.from_array(values)).local(families) for values in (x, np.exp(x))]
    >>> bool((scores[0] == scores[1]).all())
    True
    """

    name = "bic-ranks"
    words = (
        "After every column is replaced by normal scores of its ranks, effects are linear and additive, and the noise "
        "is Gaussian. Weights of edges are in standard deviations of these scores.",
    )
    needs = frozenset({"rows"})

    def __init__(self, table: Statistics, **options: Any) -> None:
        super().__init__(self.scales(table), **options)

    @staticmethod
    def scales(table: Statistics) -> Statistics:
        """Return the table with the normal scores of its columns in their place."""
        return table.ranks

    @classmethod
    def from_covariance(cls, *_args: Any, **_options: Any) -> NoReturn:
        """Refuse: ranks cannot be seen in a covariance matrix."""
        raise ScoreError("bic-ranks requires rows, got a covariance matrix", hint="use bic-nv")

    @classmethod
    def default_penalty(cls, table: Statistics, tested: bool) -> tuple[float | str, str]:
        """Return the penalty that chance associations of the ranks do not reach, and why."""
        return super().default_penalty(cls.scales(table) if table.complete else table, tested)
