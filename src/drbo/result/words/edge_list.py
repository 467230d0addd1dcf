"""What a result says about each of its edges: direction, reason, probabilities, frequencies, and if it is weak."""

from typing import TYPE_CHECKING

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.claims import why
from drbo.claims.directions import EdgeDirection, edge_directions
from drbo.claims.experiments import shown_arrows
from drbo.claims.refits.resampling import KINDS
from drbo.constraints import Constraints
from drbo.result.files.export import edge_table

if TYPE_CHECKING:
    import pandas as pd

    from drbo.result.result import Result

#: Edges with a smaller probability are drawn as weak ones.
WEAK_LINK = 0.8


def directions(result: "Result", constraints: Constraints, mpdag: Bools) -> tuple[EdgeDirection, ...]:
    """Return what may be said about the direction of each edge, given the class under the knowledge."""
    return edge_directions(
        result.dag,
        constraints,
        score_equivalent=result.score_equivalent,
        checks=result.claims.noise,
        denials=result.claims.denials,
        made=result.claims.made,
        margins=result.margins,
        evidence_scale=result.scoring.evidence_scale,
        confidence=result.confidence,
        known_class=mpdag,
        experiments=shown_arrows(result.dag, result.names, mpdag, result.claims.experiments),
    )


def reasons(result: "Result", constraints: Constraints, classes: tuple[Bools, Bools]) -> dict[tuple[str, str], str]:
    """Return what determines the direction of each edge, given the CPDAG of the graph and its MPDAG."""
    found = why.reasons(
        result.dag,
        constraints,
        score_equivalent=result.score_equivalent,
        assumption=result.scoring.assumption,
        reversed_margin=None if result.margins is None else result.margins.reversed,
        classes=classes,
    )
    words = {(result.names[i], result.names[j]): reason for (i, j), reason in found.items()}
    checked = {(one.cause, one.effect) for one in result.directions if one.ground == "noise-check"}
    words |= dict.fromkeys(checked, "noise check")
    shown = shown_arrows(result.dag, result.names, classes[1], result.claims.experiments)
    tested = {(one.cause, one.effect) for one in result.directions if one.ground == "experiment"}
    return words | {edge: why.removesuffix(".") for edge, why in shown.items() if edge in tested}


def table(result: "Result", answer: Bools) -> "pd.DataFrame":
    """Return the table behind :meth:`Result.edges`; ``answer`` is the class, or the DAG, that resamples count."""
    found = edge_table(result.dag, result.names, result.weights, result.standardised_weights, ~result.undirected)
    source, target = np.nonzero(result.dag)
    found["direction"] = [one.direction for one in result.directions]
    found["ground"] = [one.ground for one in result.directions]
    found["contradicted"] = [one.contradicted for one in result.directions]
    if result.margins is not None:
        found["margin_removed"] = result.margins.removed[source, target]
        found["margin_reversed"] = result.margins.reversed[source, target]
    if (linked := result.p_link) is not None:
        p_link, share = linked[source, target], forward_shares(result)
        found["p_link"], found["p_forward"], found["p_backward"] = p_link, p_link * share, p_link * (1 - share)
    found["reason"] = list(result.why().values())
    if (confidence := result.confidence) is not None:
        shares = np.where(answer & answer.T, confidence.undirected, confidence.directed)
        found["frequency"] = shares[source, target]
        found["link_frequency"] = confidence.adjacent[source, target]
    return found


def target_table(result: "Result") -> "pd.DataFrame":
    """Return the table behind :attr:`Result.targets`."""
    import pandas as pd

    found = result.claims.experiments
    names = ["experiment", "column", "margin", "kind", "bent"]
    listed = [] if found is None else [tuple(getattr(one, name) for name in names) for one in found.targets]
    targets = pd.DataFrame(listed, columns=names)
    if found is not None and result.confidence is not None and result.confidence.kind in KINDS:
        shares = {(one.experiment, one.column): one.share for one in result.confidence.targets}
        targets["frequency"] = [shares.get((experiment, column), 0.0) for experiment, column, *_ in listed]
    return targets


def forward_shares(result: "Result") -> Floats:
    """Return the probability of the drawn direction given each edge; NaN where nothing valid can be said.

    The user's word counts first, then the noise check. The posterior of the score divides a link only if the score ties
    equivalent graphs: other scores prefer directions for reasons that the data need not share.
    """
    shares, posterior = np.full(len(result.directions), np.nan), result.posterior
    for k, ((i, j), one) in enumerate(zip(np.argwhere(result.dag).tolist(), result.directions, strict=True)):
        if one.direction == "open":
            continue
        if one.ground == "given":
            shares[k] = 1.0
        elif one.p_forward is not None:
            shares[k] = one.p_forward
        elif result.score_equivalent and posterior is not None and posterior[i, j] > 0:
            shares[k] = posterior[i, j] / (posterior[i, j] + posterior[j, i])
    return shares


def weak(result: "Result") -> Bools:
    """Return (d, d) True for the edges that may not be there."""
    if result.confidence is not None:
        return result.dag & (result.confidence.adjacent < result.confidence.cut)
    return np.zeros_like(result.dag) if result.p_link is None else result.dag & (result.p_link < WEAK_LINK)
