"""What does the score lose in other graphs? Margins of edges, the best other classes, and probabilities of edges.

All three speak of the best DAG of the search before pruning, and of the graphs beside it that can be made of the
families which were looked at when the answer was settled (:mod:`drbo.claims.answer.best_known`).
"""

from abc import abstractmethod
from dataclasses import replace

import numpy as np

from drbo.arrays import Bools
from drbo.claims.claim import Claim, Context, Ruling
from drbo.claims.margins import OtherGraphs
from drbo.claims.record import EdgePosterior, Margins, RankedClass
from drbo.claims.runner import NO_TIME
from drbo.deadline import current

#: Above this many columns chains over orders take too long.
MAX_SAMPLED_NODES = 40
#: Scores that differ by less, relative to their size, are the same.
ROUNDING = 1e-9
#: Why edges have no probabilities.
DISAGREE = "chains over orders of the columns do not agree"


class OfOtherGraphs(Claim):
    """A claim about graphs beside the best one; it denies nothing."""

    repeated = False

    def relevant(self, context: Context) -> bool:
        return not context.inquiry.hidden

    def run(self, context: Context) -> Ruling:
        others = context.answer.others
        return Ruling(skipped=NO_TIME) if others is None else self.told(context, others)

    @abstractmethod
    def told(self, context: Context, others: OtherGraphs) -> Ruling:
        """Return what the other graphs say."""


class EdgeMargins(OfOtherGraphs):
    """The claim what the score loses at least without an edge, and with the edge turned."""

    name, title = "margins", "the margins of edges"
    at_hand = True

    def told(self, context: Context, others: OtherGraphs) -> Ruling:
        return Ruling(_of_member(others.margins, others.dag, context.answer.outcome.best.dags[0]))


def _of_member(margins: Margins, dag: Bools, member: Bools) -> Margins:
    """Return margins of the edges of a DAG as those of another member of its class, which has the same score."""
    turned = dag & ~member
    if not turned.any():
        return margins
    removed, reverse = (np.where(turned.T, part.T, part) for part in (margins.removed, margins.reversed))
    for part in (removed, reverse):
        part[turned] = np.nan
    return Margins(removed, reverse, margins.exact)


class BestClasses(OfOtherGraphs):
    """The claim which equivalence classes score best."""

    name, title = "classes", "the best other equivalence classes"
    at_hand = True

    def told(self, context: Context, others: OtherGraphs) -> Ruling:
        first, *rest = others.classes
        classes = [replace(first, dag=context.answer.outcome.best.dags[0]), *rest]
        names, found = context.table.names, list[RankedClass]()
        for other in classes:
            if other.score > first.score + abs(first.score) * ROUNDING:  # the paper's search does not take it
                continue
            edges = tuple((names[i], names[j]) for i, j in np.argwhere(other.dag).tolist())
            found.append(RankedClass(score=other.score, behind=max(0.0, first.score - other.score), edges=edges))
        return Ruling(tuple(found))


class Posterior(OfOtherGraphs):
    """The claim how probable each edge is, where the score is a log evidence."""

    name, title = "posterior", "the probabilities of edges"

    def relevant(self, context: Context) -> bool:
        score = context.score
        if score.evidence_scale is None or score.level_of(context.answer.outcome.best.local[0]) is not None:
            return False
        return super().relevant(context)

    def too_much(self, context: Context) -> str:
        many = context.score.n_nodes > MAX_SAMPLED_NODES
        return f"the table has more than {MAX_SAMPLED_NODES} columns" if many else ""

    def told(self, context: Context, others: OtherGraphs) -> Ruling:
        current().check()
        found, prior = others.posterior(context.inquiry.settings.expected_parents)
        return Ruling(skipped=DISAGREE) if found is None else Ruling(EdgePosterior(found, prior))
