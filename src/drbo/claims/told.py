"""What a result tells of the claims about an answer: their records, over the columns as they were given."""

from collections.abc import Sequence
from dataclasses import replace

from drbo.arrays import Floats
from drbo.claims.answer.stages import Answer
from drbo.claims.checks.alternatives import BestClasses, EdgeMargins, Posterior
from drbo.claims.checks.arms import RandomisedArms
from drbo.claims.checks.experiment_check import Mechanisms
from drbo.claims.checks.noise_check import NoiseClaim
from drbo.claims.checks.stability import Stability
from drbo.claims.denial import in_order
from drbo.claims.record import Arrange, Claims, RankedClass
from drbo.claims.runner import Rulings


def claims_of(answer: Answer, rulings: Rulings, restored: Arrange, names: Sequence[str]) -> Claims:
    """Return what was claimed about an answer, over the columns with these names.

    Parameters
    ----------
    restored : returns a matrix over the columns as they were given.
    """

    def back(matrix: Floats) -> Floats:
        given = restored(matrix)
        given.setflags(write=False)  # kept as it is, not copied
        return given

    records, place = rulings.records, {name: k for k, name in enumerate(names)}
    margins, posterior = (records.get(one.name) for one in (EdgeMargins, Posterior))
    classes: tuple[RankedClass, ...] = records.get(BestClasses.name, ())
    others = None if margins is None and posterior is None else answer.others
    return Claims(
        margins=None if margins is None else margins.rearranged(back),
        classes=tuple(_in_places(one, place) for one in classes),
        over="" if others is None else others.over,
        posterior=None if posterior is None else back(posterior.probability),
        prior="" if posterior is None else posterior.prior,
        noise=in_order(records.get(NoiseClaim.name, ()), names),
        halves=in_order(records.get(Stability.name, ()), names),
        denials=in_order(rulings.denials, names),
        made=rulings.made,
        experiments=records.get(Mechanisms.name, answer.experiments),
        arms=records.get(RandomisedArms.name, ()),
    )


def _in_places(found: RankedClass, place: dict[str, int]) -> RankedClass:
    """Return a class with its edges in the order of the columns."""
    edges = tuple(sorted(found.edges, key=lambda edge: (place[edge[0]], place[edge[1]])))
    return replace(found, edges=edges)
