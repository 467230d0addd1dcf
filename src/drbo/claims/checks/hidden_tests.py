"""Do tests that allow hidden causes find the arrows of the class? For numbers, categories and both together.

The class supports an arrow only if tests that allow hidden causes find it too
(:func:`drbo.search.ancestral.gfci.second_opinion`) and no column causes both of its ends in a graph of the class: a
hidden cause of b and c, beside a -> b, makes a DAG draw b -> c and a -> c. The tests are those that belong to the
likelihood of the score: partial correlations, or likelihood ratios of counts and of indicators.
"""

from dataclasses import replace

import numpy as np

from drbo.arrays import Bools
from drbo.claims.claim import SEED, Claim, Context, Inquiry, Ruling, denials
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import dag_to_cpdag
from drbo.graph.marks import ARROW
from drbo.independence.conditional import CountTests, GaussianTests
from drbo.independence.set_tests import OneByOne, PartialCorrelations, SetTests
from drbo.scores.registry import score_class
from drbo.search.ancestral.gfci import second_opinion

#: Rows of categories that are tested, at most.
MOST_ROWS = 5_000
#: What is said where tests do not agree with the class, or something in the graph causes both.
UNCONFIRMED = "The class has this direction, but a hidden cause of both columns is not excluded."


class HiddenTests(Claim):
    """The claim that tests which allow hidden causes find an arrow of the class."""

    name, title = "hidden-cause tests", "the tests that allow hidden causes"
    denies = ("class",)

    def too_much(self, context: Context) -> str:
        return context.too_many_edges

    def run(self, context: Context) -> Ruling:
        dag, names = context.answer.dag, context.table.names
        tests = suitable_tests(context.inquiry)
        if tests is None:
            return Ruling(skipped="only sums of the rows are known")
        edges = np.argwhere(unconfirmed(dag, tests)).tolist()
        return Ruling(None, denials(self, {(names[i], names[j]): UNCONFIRMED for i, j in edges}))


def unconfirmed(dag: Bools, tests: SetTests) -> Bools:
    """Return the arrows of the class that tests do not find, or whose ends share a cause in one of its graphs.

    Examples
    --------
    >>> tests = PartialCorrelations(np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.5, 0.5, 1.0]]), 500)
    >>> bool(unconfirmed(np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool), tests).any())
    False
    """
    cpdag = dag_to_cpdag(dag)
    class_arrows = dag & ~cpdag.T
    if not class_arrows.any():
        return class_arrows
    marks = second_opinion(dag, tests)
    share = cpdag.T.astype(np.float32) @ cpdag.astype(np.float32) > 0
    return np.asarray(class_arrows & ((marks != ARROW) | (marks.T == ARROW) | share))


def suitable_tests(inquiry: Inquiry) -> SetTests | None:
    """Return the tests that belong to the likelihood of a score; None: they need rows, and there are none."""
    score = inquiry.score
    linear = score.gaussian()
    by_table = score.regression in ("splines", "ranks") or ("moments" in score.needs and not score.linear_weights)
    if linear is None and by_table and not score.by_experiment:  # it looks at linear relations too, but keeps none
        linear = score_class("bic-nv")(inquiry.table).gaussian()
    if linear is not None:
        return PartialCorrelations(linear.correlation, linear.n_rows)
    rows = inquiry.control.complete_rows
    if not rows.n_rows:
        return None
    if score.independence == "g-test":
        return OneByOne(CountTests(_sampled(rows, SEED)))
    return OneByOne(GaussianTests(rows))


def _sampled(rows: Statistics, seed: int) -> Statistics:
    """Return at most so many rows; of rows that are counted, a sample of those that were counted."""
    if rows.n_rows <= MOST_ROWS:
        return rows
    rng, columns = np.random.default_rng(seed), np.arange(rows.n_columns)
    if rows.weights is None:
        return rows.take(np.sort(rng.choice(rows.n_rows, MOST_ROWS, replace=False)), columns)
    times = np.rint(rows.weights).astype(np.int64)
    if (times != rows.weights).any():  # no counts
        return rows
    counts = rng.multivariate_hypergeometric(times, MOST_ROWS, method="marginals")
    drawn = np.flatnonzero(counts)
    return replace(rows.take(drawn, columns), weights=counts[drawn].astype(np.float64))
