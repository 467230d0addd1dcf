"""Is the score decisive about a direction? An arrow counts only if the best graph with its reverse scores far less."""

from math import isnan, log

import numpy as np

from drbo.claims.checks.alternatives import EdgeMargins
from drbo.claims.claim import Claim, Context, Ruling, denials
from drbo.deadline import current

#: A margin is decisive if the evidence for a direction is at least this many times that for the reverse (Jeffreys).
DECISIVE_ODDS = 100.0
#: What is said about an arrow whose reverse scores nearly as high, and where no graph at hand has the reverse.
CLOSE = "The best graph with the reverse of this arrow scores only {:.1f} lower."
UNKNOWN = "No graph that was scored has the reverse of this arrow, so its margin is not known."


class MarginCheck(Claim):
    """The claim that margins of the score are decisive."""

    name, title = "margin", "the margins of the score"
    after = (EdgeMargins.name,)
    denies = ("experiment", "class")
    repeated = False

    def run(self, context: Context) -> Ruling:
        current().check()
        margins, scale = context.done.get(EdgeMargins.name), context.score.evidence_scale
        if margins is None or scale is None:
            return Ruling(skipped="they were not computed" if scale is not None else "the score is no evidence")
        names, close, least = context.table.names, {}, log(DECISIVE_ODDS) * scale
        for i, j in np.argwhere(context.answer.dag).tolist():
            margin = float(margins.reversed[i, j])
            if isnan(margin) and not margins.exact:
                close[names[i], names[j]] = UNKNOWN
            elif margin < least:
                close[names[i], names[j]] = CLOSE.format(margin)
        return Ruling(None, denials(self, close))
