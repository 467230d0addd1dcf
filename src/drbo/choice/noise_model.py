"""Which noise model fits a table? The families of quickly found graphs are tested by their residuals.

A score that directs arrows rests on a model of the noise. The model can be checked without the true graph: if it holds,
the residual of each family of the best graph is independent of its parents. Likelihood is no substitute: a wrong model
may predict well and direct arrows wrongly.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from math import ceil
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from drbo.arrays import Bools
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.independence.residual_tests import Regression, ResidualTests, Sample
from drbo.knowledge import Knowledge
from drbo.machine.threads import one_blas_thread
from drbo.scores.families import Families
from drbo.scores.registry import build_score, score_class
from drbo.search.orders.search import OrderSearch
from drbo.settings import Settings

#: Which graph is tested with which regression, and the score to take if it passes; the simplest first. Straight lines
#: along the graph of splines catch tables for which both linear scores found a poor graph. Columns are on the scales
#: that the score of the graph looks at.
CANDIDATES: tuple[tuple[str, Regression, str], ...] = (
    ("bic-nv", "linear", "bic-nv"),
    ("bic-ng", "linear", "bic-ng"),
    ("splines", "linear", "bic-nv"),
    ("bic-ranks", "linear", "bic-ranks"),
    ("splines", "splines", "splines"),
    ("splines-ranks", "ranks", "splines-ranks"),
)
#: What a model must explain more than, by the scores of both graphs, so that it is needed.
SIMPLER = {"bic-ranks": ("bic-nv", "splines"), "splines": ("bic-nv",), "splines-ranks": ("bic-ranks",)}
#: A model fits if at least this share of the families pass.
PASSING_SHARE = 0.8
#: A family passes above this p-value.
FAMILY_LEVEL = 0.05
#: With few families the level is lower, so that a model that holds is rejected in at most this share of tables.
TABLE_LEVEL = 0.01
#: Rows of the tests at most. More reject splines where causes also act together a little, although their directions
#: are right.
MOST_ROWS = 500
#: Shuffles without success after which a search ends: a rough graph is enough.
PATIENCE = 3
#: Parameters per parent of splines that follow more of an effect.
FINER = 12
#: Smaller differences of local scores are rounding errors.
SHAPE_WORTH = 1e-9


class ModelCheck(NamedTuple):
    """How many families of a graph pass, and the score to take if they are enough."""

    score: str
    n_passed: int
    n_tested: int
    explains: bool = True  # False: a simpler model explains the table as well

    @property
    def share(self) -> float:
        """Of the tested families, those that pass."""
        return self.n_passed / self.n_tested if self.n_tested else 1.0

    @property
    def fits(self) -> bool:
        """Whether the families that pass are enough, of a model that explains more than simpler ones."""
        return self.explains and self.share >= PASSING_SHARE


def model_checks(table: Statistics) -> Iterator[ModelCheck]:
    """Check the candidates one by one, from the simplest to the most flexible; numeric tables without missing cells.

    At most 500 rows are used. Graphs are found by short order searches. A family passes if its residual is independent
    of its parents (:class:`~drbo.independence.residual_tests.ResidualTests`). In the graph of ``bic-nv``, which takes
    noise for Gaussian, its shape must also be worth nothing to ``bic-ng``. Splines must also explain more than straight
    lines do, by their scores: with skewed noise the families of a linear table may fail and those of its splines pass.
    Lines and splines are also tried after every column is replaced by the normal scores of its ranks; these lines must
    explain more than lines and splines without that, and these splines more than these lines. A model without any
    family is no explanation where the ranks of columns are correlated: outliers can hide that. Families of columns with
    fewer than 8 distinct values are not tested. Neither the units nor the order of rows and columns matter.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> table = Statistics.from_array(np.column_stack([x, np.sin(2 * x) + 0.3 * rng.normal(size=500)]))
    >>> [check.score for check in model_checks(table)]
    ['bic-nv', 'bic-ng', 'bic-nv', 'bic-ranks', 'splines', 'splines-ranks']
    >>> [check.score for check in model_checks(table) if check.fits]
    ['splines']
    """
    drawn = _rows(table)
    sample = Sample.of(drawn, seed=0)
    rows, limits = Statistics.from_array(sample.values), Constraints.of(Knowledge(), drawn.names, drawn.lags)
    quick = cache(partial(_quick_graph, rows=rows, limits=limits))
    for searched, regression, name in CANDIDATES:
        with one_blas_thread():
            dag, gain = quick(searched)
            tested = dag.any(axis=0) & sample.fine
            scaled = score_class(searched).scales(rows).values
            passed = _passed(ResidualTests(scaled, sample.categorical, regression), dag, tested)
            if searched == "bic-nv":
                passed &= ~_has_shape(rows, dag)[tested]
            explains = dag.any() or not quick("bic-ranks")[0].any()
            explains = explains and all(gain > quick(simpler)[1] for simpler in SIMPLER.get(name, ()))
        yield ModelCheck(name, int(passed.sum()), int(tested.sum()), bool(explains))


def family_level(n_families: int) -> float:
    """Return the level of the test of one family.

    Independent p-values of a model that holds make more than 20% of the families fail in at most 1% of tables: the
    k-th smallest of m p-values has the distribution Beta(k, m - k + 1).
    """
    if n_families == 0:
        return FAMILY_LEVEL
    too_many = n_families - ceil(PASSING_SHARE * n_families) + 1
    return min(FAMILY_LEVEL, float(betaincinv(too_many, n_families - too_many + 1, TABLE_LEVEL)))


def finer_splines(table: Statistics) -> int | None:
    """Return the parameters per parent of splines that explain more of a series than default ones; None: none do.

    An effect that default splines cannot follow leaves a residual that other columns of the window explain in part.
    """
    drawn = _rows(table)
    rows, limits = Statistics.from_array(drawn.values), Constraints.of(Knowledge(), drawn.names, drawn.lags)
    with one_blas_thread():
        gains = [_quick_graph("splines", rows, limits, **options)[1] for options in ({}, {"df": FINER})]
    return FINER if gains[1] > gains[0] else None


def _rows(table: Statistics) -> Statistics:
    """Draw the rows of the tests, as many as all count as; columns that are constant in them are left out."""
    rows, columns = table.canonical_order()
    most = min(MOST_ROWS, int(table.n_counted))
    if len(rows) > most:
        rows = rows[np.sort(np.random.default_rng(0).choice(len(rows), most, replace=False))]
    varies = np.ptp(table.values[np.ix_(rows, columns)], axis=0) > 0
    return replace(table.take(rows, columns[varies]), weights=None, order=None)


def _passed(
    tests: ResidualTests,
    dag: Bools,  # (d, d)
    tested: Bools,  # (d,) nodes
) -> Bools:
    """Tell of each tested node whether its residual is independent of its parents."""
    nodes = np.flatnonzero(tested).tolist()
    p_values = [tests.family(j, np.flatnonzero(dag[:, j]).tolist()).p_value for j in nodes]
    passed: Bools = np.array(p_values) > family_level(len(nodes))
    return passed


def _quick_graph(name: str, rows: Statistics, limits: Constraints, **options: int) -> tuple[Bools, float]:
    """Return a rough best graph, and what it gains over the empty one; columns of the past have no causes in it."""
    score, settings = build_score(name, rows, {"penalty": "ebic", **options}), Settings(order_patience=PATIENCE)
    search = OrderSearch(score, settings, constraints=limits, seed=0)
    best = search.run().best
    empty = search.evaluator.evaluate_one(np.zeros_like(best.dags[0]))
    return best.dags[0], float(best.scores[0] - empty.scores[0])


def _has_shape(rows: Statistics, dag: Bools) -> Bools:
    """Tell of each node whether the shape of its noise is worth something: it is not Gaussian."""
    families = Families.from_dags(dag[None])
    any_noise, gaussian = (build_score(name, rows).local(families) for name in ("bic-ng", "bic-nv"))
    worth: Bools = any_noise - gaussian > SHAPE_WORTH
    return worth
