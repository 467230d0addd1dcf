"""Do tests that allow hidden causes find the arrows of the class? For numbers, categories and both together.

The class supports an arrow only if tests that allow hidden causes find it too
(:func:`drbo.search.ancestral.gfci.second_opinion`) and no column causes both of its ends in a graph of the class: a
hidden cause of b and c, beside a -> b, makes a DAG draw b -> c and a -> c. The tests are those that belong to the
likelihood of the score (:meth:`drbo.scores.base.Score.set_tests`).

An experiment that changes b shows that b does not cause a, but not that a causes b. Arrows that experiments show need
the same tests, unless an experiment moves the cause and the effect follows.
"""

import numpy as np

from drbo.arrays import Bools
from drbo.claims.claim import SEED, Claim, Context, Ruling
from drbo.claims.denial import Denial
from drbo.claims.experiments import followed_arrows
from drbo.graph.dag import dag_to_cpdag
from drbo.graph.marks import ARROW
from drbo.independence.set_tests import SetTests
from drbo.search.ancestral.gfci import second_opinion

#: What is said where tests do not agree with the class, or something in the graph causes both.
UNCONFIRMED = "The class has this direction, but a hidden cause of both columns is not excluded."
#: And where no experiment moves the cause alone.
UNMOVED = "No experiment moves '{}' so clearly that '{}' follows, and a hidden cause of both is not excluded."


class HiddenTests(Claim):
    """The claim that tests which allow hidden causes find an arrow of the class."""

    name, title = "hidden-cause tests", "the tests that allow hidden causes"
    denies = ("experiment", "class")

    def too_much(self, context: Context) -> str:
        return context.too_many_edges

    def run(self, context: Context) -> Ruling:
        dag, names = context.answer.dag, context.table.names
        tests = context.score.set_tests(context.table, SEED)
        if tests is None:
            return Ruling(skipped="only sums of the rows are known")
        of_class, unmoved, record = unconfirmed(dag, tests), np.zeros_like(dag), context.answer.experiments
        if record is not None:
            unmoved = (of_class | dag_to_cpdag(dag).T) & ~followed_arrows(context.score, context.table, dag, record)
        denied = list[Denial]()
        for i, j in np.argwhere(dag & (of_class | unmoved)).tolist():
            words, grounds = (UNMOVED, self.denies) if unmoved[i, j] else (UNCONFIRMED, self.denies[1:])
            told = words.format(names[i], names[j])
            denied.append(Denial(cause=names[i], effect=names[j], claim=self.name, grounds=grounds, sentence=told))
        return Ruling(None, tuple(denied))


def unconfirmed(dag: Bools, tests: SetTests) -> Bools:
    """Return the arrows of the class that tests do not find, or whose ends share a cause in one of its graphs."""
    cpdag = dag_to_cpdag(dag)
    class_arrows = dag & ~cpdag.T
    if not class_arrows.any():
        return class_arrows
    marks = second_opinion(dag, tests)
    share = cpdag.T.astype(np.float32) @ cpdag.astype(np.float32) > 0
    return np.asarray(class_arrows & ((marks != ARROW) | (marks.T == ARROW) | share))
