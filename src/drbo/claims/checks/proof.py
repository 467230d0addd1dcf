"""Can any graph score higher? The bound that was proved while the answer was sought."""

from drbo.claims.claim import Claim, Context, Ruling
from drbo.claims.record import Proof

#: Why there is no bound.
TOO_MANY = "too many parent sets can be part of a best graph"
CUT_SHORT = "the search was ended before"


class ProofClaim(Claim):
    """The claim that no graph scores higher than a bound."""

    name, title = "proof", "the proof of the optimum"
    repeated = False
    always = at_hand = True

    def relevant(self, context: Context) -> bool:
        exact, found = context.inquiry.settings.exact, context.answer.certificate
        return found is not None or exact == "on" or (exact == "auto" and not context.inquiry.rationed)

    def run(self, context: Context) -> Ruling:
        if (found := context.answer.certificate) is None:
            return Ruling(skipped=CUT_SHORT if context.answer.outcome.stop.cut_short else TOO_MANY)
        return Ruling(Proof(upper_bound=found.upper_bound, tolerance=found.tolerance, valid_for=found.valid_for))
