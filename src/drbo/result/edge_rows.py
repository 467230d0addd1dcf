"""The edges of a result as a table: direction, margins, probabilities, reasons and frequencies."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from drbo.claims import why
from drbo.result import export

if TYPE_CHECKING:
    import pandas as pd

    from drbo.result.result import Result


def of_result(result: "Result") -> "pd.DataFrame":
    """Return one row per edge; :meth:`drbo.Result.edges` describes the columns."""
    directed = ~result.undirected
    table = export.edge_table(result.dag, result.names, result.weights, result.standardised_weights, directed)
    source, target = np.nonzero(result.dag)
    table["direction"] = [one.direction for one in result.directions]
    table["ground"] = [one.ground for one in result.directions]
    table["contradicted"] = [one.contradicted for one in result.directions]
    if result.margins is not None:
        table["margin_removed"] = result.margins.removed[source, target]
        table["margin_reversed"] = result.margins.reversed[source, target]
    if (linked := result.p_link) is not None:
        p_link, share = linked[source, target], _forward_shares(result)
        table["p_link"], table["p_forward"], table["p_backward"] = p_link, p_link * share, p_link * (1 - share)
    table["reason"] = list(reasons(result).values())
    if (found := result.confidence) is not None:
        tied = result.answer & result.answer.T  # what resamples count
        shares = np.where(tied, found.undirected, found.directed)
        table["frequency"] = shares[source, target]
        table["link_frequency"] = found.adjacent[source, target]
    return table


def _forward_shares(result: "Result") -> npt.NDArray[np.float64]:
    """Return the probability of the drawn direction given each edge; NaN where nothing valid can be said.

    The user's word counts first, then the noise check. The posterior of the score divides a link only if the score
    ties equivalent graphs: other scores prefer directions for reasons that the data need not share.
    """
    shares = np.full(len(result.directions), np.nan)
    for k, ((i, j), one) in enumerate(zip(np.argwhere(result.dag).tolist(), result.directions, strict=True)):
        if one.direction == "open":
            continue
        if one.ground == "given":
            shares[k] = 1.0
        elif one.p_forward is not None:
            shares[k] = one.p_forward
        elif result.score_equivalent and result.posterior is not None and result.posterior[i, j] > 0:
            shares[k] = result.posterior[i, j] / (result.posterior[i, j] + result.posterior[j, i])
    return shares


def reasons(result: "Result") -> dict[tuple[str, str], str]:
    """Return what determines the direction of each edge; see :func:`drbo.claims.why.reasons`."""
    found = why.reasons(
        result.dag,
        result.constraints,
        score_equivalent=result.score_equivalent,
        assumption=result.scoring.assumption,
        reversed_margin=None if result.margins is None else result.margins.reversed,
        classes=(result.cpdag, result.mpdag),
    )
    words = {(result.names[i], result.names[j]): reason for (i, j), reason in found.items()}
    checked = {(one.cause, one.effect) for one in result.directions if one.ground == "noise-check"}
    return words | dict.fromkeys(checked, "noise check")
