"""Combines several results for one table, from imputed copies or other seeds, into one with edge frequencies."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from drbo.claims.refits.confidence import Confidence
from drbo.errors import ResultError
from drbo.result.result import Result


def pooled(results: Sequence[Result], kind: str, seed: int, asked: int = 0) -> Result:
    """Return the most typical of the results, with the share of all results that has each edge and path.

    Shares are counted on the equivalence class where the score finds a class. The most typical result is the one whose
    graph is closest to the shares (least sum of absolute differences); of several, the first. Where causes may be
    hidden, marks are counted. ``asked`` is how many results were asked for: the time may have been over before.
    """
    if not results:
        raise ResultError("there are no results to pool")
    graphs = [one.graph for one in results]
    marks = np.stack([graph.marks for graph in graphs])
    parts = np.concatenate([marks == mark for mark in graphs[0].telling], axis=1)
    far = np.abs(parts - parts.mean(axis=0)).sum(axis=(1, 2))
    typical = results[int(np.argmin(np.round(far, 9)))]
    return replace(typical, confidence=Confidence.of(graphs, kind, seed, asked))
