"""Does the graph keep its directions when every numeric column is replaced by the normal scores of its ranks?

A score that sees straight lines directs arrows by the shape of distributions, too: a skewed scale, an outlier or a
bounded column makes two columns look less correlated than they are. Ranks undo that. A direction of the class counts
only if the graph of the ranks has the same link and does not have it the other way round.
"""

import numpy as np

from drbo.claims.claim import SEED, Claim, Context, Ruling
from drbo.claims.denial import Denial, Ground
from drbo.claims.why import mpdag
from drbo.data.statistics.statistics import Statistics

#: What is said about an arrow that the graph of the ranks lacks, or has the other way round.
NOT_LINKED = "The class has this direction, but normal scores of ranks do not link the two columns."
REVERSED = "Normal scores of ranks give the opposite direction."
#: A numeric column with so many distinct values at most has no other scale.
TWO_VALUES = 2


class SecondOpinion(Claim):
    """The claim that normal scores of ranks give the same directions."""

    name, title = "ranks", "the fit of ranks"
    denies = ("class",)

    def relevant(self, context: Context) -> bool:
        rows, score = context.table.complete_rows, context.score
        by_value = not score.by_experiment and score.scales(rows) is rows  # else the score has ranked them itself
        return context.has_arrows and by_value and _has_scales(rows)

    def too_much(self, context: Context) -> str:
        if not context.inquiry.can_search_again:
            return "the score is too expensive to be searched again"
        return ""

    def run(self, context: Context) -> Ruling:
        inquiry, dag = context.inquiry, context.answer.dag
        assert inquiry.refit is not None
        ranks = context.table.complete_rows.ranks
        score, _, outcome = inquiry.refit.again(ranks, SEED, dag)
        found = outcome.best.dags[0]
        other = mpdag(found, inquiry.constraints) if score.score_equivalent else found
        return Ruling(other, self._against(context, other))

    def _against(self, context: Context, other: np.ndarray) -> tuple[Denial, ...]:
        names, found = context.table.names, list[Denial]()
        for i, j in np.argwhere(context.answer.dag & ~other).tolist():
            grounds: tuple[Ground, ...] = ("noise-check", "class") if other[j, i] else ("class",)
            words = REVERSED if other[j, i] else NOT_LINKED
            found.append(Denial(cause=names[i], effect=names[j], claim=self.name, grounds=grounds, sentence=words))
        return tuple(found)


def _has_scales(rows: Statistics) -> bool:
    """Tell whether ranks can differ from the values of a table."""
    return any(
        kind == "numeric" and len(np.unique(rows.values[:, j])) > TWO_VALUES for j, kind in enumerate(rows.kinds)
    )
