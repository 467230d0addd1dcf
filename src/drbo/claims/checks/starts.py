"""Do the other searches of a run tell the same directions? Near-best graphs are as good a guess as the best one.

A run searches from several unrelated orders. If one search ended at a graph that scores nearly as high and directs an
edge the other way, or not at all, the direction in the best graph may be chance.
"""

from math import log

import numpy as np

from drbo.claims.checks.margin_check import DECISIVE_ODDS
from drbo.claims.checks.proof import ProofClaim
from drbo.claims.claim import Claim, Context, Ruling
from drbo.claims.denial import Denial, Ground
from drbo.claims.why import mpdag
from drbo.deadline import current

#: It takes so many searches to compare.
FEWEST = 2
#: What is said about an arrow that the graph of another search has the other way round, or does not direct.
OTHERWISE = "Another search of this run ended at a graph without this direction."


class Starts(Claim):
    """The claim that all searches of a run tell the same directions."""

    name, title = "starts", "the searches from other orders"
    denies = ("experiment", "noise-check", "class", "time")
    repeated = False

    def relevant(self, context: Context) -> bool:
        proof, best = context.done.get(ProofClaim.name), context.answer.outcome.best
        is_proved = proof is not None and proof.gap(float(best.scores[0])) == 0.0
        return context.has_arrows and context.inquiry.settings.route == "orders" and not is_proved

    def run(self, context: Context) -> Ruling:
        current().check()
        outcome, names = context.answer.outcome, context.table.names
        if len(outcome.ends) < FEWEST:
            return Ruling(skipped="the search was not repeated from another order")
        known, ties = context.inquiry.constraints, context.score.score_equivalent
        least = float(outcome.best.scores[0]) - log(DECISIVE_ODDS) * (context.score.evidence_scale or np.inf)
        near = [one.dags[0] for one in (outcome.best, *outcome.ends) if one.scores[0] >= least]
        classes = [mpdag(dag, known) if ties else dag for dag in near]
        lacking = ~np.logical_and.reduce(classes)  # a graph has the opposite arrow, or no link
        undirected = np.logical_or.reduce([one & one.T for one in classes])
        denied = list[Denial]()
        for i, j in np.argwhere(context.answer.dag & (lacking | undirected)).tolist():
            grounds: tuple[Ground, ...] = self.denies if lacking[i, j] else ("class",)
            denied.append(Denial(cause=names[i], effect=names[j], claim=self.name, grounds=grounds, sentence=OTHERWISE))
        return Ruling(None, tuple(denied))
