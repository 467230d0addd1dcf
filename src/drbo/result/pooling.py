"""Combines several results for one table, from imputed copies or other seeds, into one with edge frequencies."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.claims.refits.confidence import Confidence
from drbo.errors import ResultError
from drbo.graph.mag import ARROW, CIRCLE, TAIL
from drbo.result.hidden import HiddenResult
from drbo.result.result import Result


def pooled(results: Sequence[Result], kind: str, seed: int, asked: int = 0) -> Result:
    """Return the most typical of the results, with the share of all results that has each edge and path.

    Shares are counted on the equivalence class where the score finds a class. The most typical result is the one whose
    graph is closest to the shares (least sum of absolute differences); of several, the first. Where causes may be
    hidden, marks are counted. ``asked`` is how many
    results were asked for: the time may have been over before.
    """
    if not results:
        raise ResultError("there are no results to pool")
    hidden = [one.pag for one in results if isinstance(one, HiddenResult)]
    classes = [one.mpdag if one.score_equivalent else one.dag for one in results]
    graphs: npt.NDArray[Any] = np.stack(hidden) if hidden else np.stack(classes)
    parts = np.concatenate([graphs == mark for mark in (ARROW, TAIL, CIRCLE)], axis=1) if hidden else graphs
    far = np.abs(parts - parts.mean(axis=0)).sum(axis=(1, 2))
    typical = results[int(np.argmin(np.round(far, 9)))]
    count = Confidence.of_marks if hidden else Confidence.of
    return replace(typical, confidence=count(graphs, typical.names, kind, seed, asked))
