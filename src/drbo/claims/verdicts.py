"""What may be said about the edges of an answer, by the claims that have been made so far."""

from drbo.claims.checks.alternatives import EdgeMargins
from drbo.claims.claim import Context
from drbo.claims.denial import Ground
from drbo.claims.directions import EdgeDirection, edge_directions
from drbo.claims.experiments import class_of, shown_arrows


def verdicts(context: Context) -> tuple[EdgeDirection, ...]:
    """Return what may be said about the direction of every edge."""
    answer, inquiry = context.answer, context.inquiry
    names, known = inquiry.table.names, inquiry.constraints
    markov_class = class_of(answer.dag, known, answer.experiments)
    return edge_directions(
        answer.dag,
        known,
        score_equivalent=inquiry.score.score_equivalent or inquiry.score.by_experiment,
        checks=context.done.get("noise check", ()),
        denials=context.denied,
        made=context.made,
        margins=context.done.get(EdgeMargins.name),
        experiments=shown_arrows(answer.dag, names, markov_class, answer.experiments),
        known_class=markov_class,
    )


def supported(context: Context) -> dict[tuple[str, str], Ground]:
    """Return the arrows (cause, effect) that the data support so far, and on which ground."""
    found = verdicts(context)
    return {(one.cause, one.effect): one.ground for one in found if one.ground not in ("", "given")}
