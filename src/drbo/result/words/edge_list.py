"""The tables behind a result: its edges and targets, with probabilities and frequencies, and which edges are weak."""

from typing import TYPE_CHECKING

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.claims.refits.resampling import KINDS
from drbo.result.files.export import edge_table

if TYPE_CHECKING:
    import pandas as pd

    from drbo.result.result import Result

#: Edges with a smaller probability are drawn as weak ones.
WEAK_LINK = 0.8


def table(result: "Result") -> "pd.DataFrame":
    """Return the table behind :meth:`Result.edges`."""
    found = edge_table(result.drawn, result.names, result.weights, result.standardised_weights)
    found = found.drop(columns="directed").assign(**result.reading.columns())
    source, target = np.nonzero(result.drawn)
    if result.margins is not None:
        found["margin_removed"] = result.margins.removed[source, target]
        found["margin_reversed"] = result.margins.reversed[source, target]
    if (linked := result.p_link) is not None:
        p_link, share = linked[source, target], forward_shares(result)
        found["p_link"], found["p_forward"], found["p_backward"] = p_link, p_link * share, p_link * (1 - share)
    found["reason"] = list(result.why().values())
    return found if result.confidence is None else found.assign(**result.reading.shares(result.confidence))


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


def arm_table(result: "Result") -> "pd.DataFrame":
    """Return one row per column, or level, and arm that is compared with the first one."""
    import pandas as pd

    nothing = dict.fromkeys(("label", "value", "rows"))
    listed = []
    for one in result.claims.arms:
        arm, other = (nothing if part is None else vars(part) for part in (one.arm, one.reference))
        row = {"randomised": one.cause, "column": one.effect, "level": one.level, "arm": arm["label"]}
        row |= {"value": arm["value"], "rows": arm["rows"], "reference": other["label"]}
        row |= {"reference_value": other["value"], "reference_rows": other["rows"]}
        row |= {name: getattr(one, name) for name in ("difference", "low", "high", "adjusted", "adjusted_low")}
        listed.append(row | {"adjusted_high": one.adjusted_high, "adjusted_for": ", ".join(one.adjusted_for)})
    return pd.DataFrame(listed)


def forward_shares(result: "Result") -> Floats:
    """Return the probability of the drawn direction given each edge; NaN where nothing valid can be said.

    The user's word counts first, then the noise check. The posterior of the score divides a link only if the score ties
    equivalent graphs: other scores prefer directions for reasons that the data need not share.
    """
    shares, posterior = np.full(len(result.directions), np.nan), result.posterior
    for k, ((i, j), one) in enumerate(zip(result.reading.edges, result.directions, strict=True)):
        if one.direction == "open":
            continue
        if one.ground in ("given", "randomised"):
            shares[k] = 1.0
        elif one.p_forward is not None:
            shares[k] = one.p_forward
        elif result.score_equivalent and posterior is not None and posterior[i, j] > 0:
            shares[k] = posterior[i, j] / (posterior[i, j] + posterior[j, i])
    return shares


def weak(result: "Result") -> Bools:
    """Return (d, d) True for the edges that may not be there."""
    if result.confidence is not None:
        return result.drawn & (result.confidence.adjacent < result.confidence.cut)
    return np.zeros_like(result.dag) if result.p_link is None else result.drawn & (result.p_link < WEAK_LINK)
