"""All maximal ancestral graphs on a few columns, as far as they can score: a proof of what a climb has found."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools
from drbo.graph.mag import Mag
from drbo.search.ancestral.climb import LEAST_GAIN, NEUTRAL
from drbo.search.ancestral.ricf import BACKWARD, BOTH, FORWARD, DistrictScores

#: Tables with more columns have too many graphs.
MOST_COLUMNS = 5
#: Graphs that score up to so many prices of an edge less are compared with the best one.
REACH = 1.0


@dataclass(frozen=True, eq=False)
class Proved:
    """The answer among all graphs, and how far behind the others are."""

    graph: Mag
    gain: float  # over the graph that was given
    lead: float  # every graph of another class scores at least so much less; negative: one scores more


def proved(
    scores: DistrictScores, graph: Mag, required: Bools, least: float = LEAST_GAIN, reach: float = REACH
) -> Proved:
    """Compare a graph on few columns with all others; the best replaces it if it gains ``least`` prices of an edge.

    Graphs that score up to ``reach`` prices less are looked at, so that no lead is larger; without reach, only those
    that would replace it.
    """
    own, gain = scores.total(graph), 0.0
    enough = max(least * scores.price, NEUTRAL)
    edges, values = scores.listed(required, own - reach * scores.price if reach else own + enough)
    if len(values):
        best = int(np.argmax(values))
        if values[best] - own > enough:
            graph, gain = _graph(edges[best], len(graph.directed)), float(values[best] - own)
    own += gain
    linked = graph.adjacent[np.triu_indices(len(graph.directed), 1)]
    # Members of a class tie, up to the rounding of their fits; no other graph with the same links does.
    others = values[((edges > 0) != linked).any(axis=1) | (np.abs(values - own) > NEUTRAL)]
    return Proved(graph, gain, float(own - max(others.max(initial=-np.inf), own - reach * scores.price)))


def _graph(kinds: npt.NDArray[np.uint8], d: int) -> Mag:
    """Return the graph with these edges of the pairs i < j."""
    found = np.zeros((d, d), dtype=np.uint8)
    found[np.triu_indices(d, 1)] = kinds
    return Mag.of((found == FORWARD) | (found == BACKWARD).T, (found == BOTH) | (found == BOTH).T)
