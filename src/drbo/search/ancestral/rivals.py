"""How much the score prefers the marks of an edge: what it loses if the edge had others and the graph adapted."""

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.deadline import current
from drbo.graph.mag import Mag
from drbo.graph.marks import ARROW, NO_EDGE, TAIL, Marks
from drbo.search.ancestral.climb import other_edges
from drbo.search.ancestral.ricf import BACKWARD, BOTH, FORWARD, DistrictScores, changed

#: The marks at i and at j that an edge of each kind has.
ENDS = {FORWARD: (TAIL, ARROW), BACKWARD: (ARROW, TAIL), BOTH: (ARROW, ARROW)}


def losses_of_marks(scores: DistrictScores, graph: Mag, pag: Marks, required: Bools | None = None) -> Floats:
    """Return (d, d) what the score loses if an edge had other marks than the PAG says; infinite: it cannot have others.

    The graph may adapt by one further change at either end of the edge, so the loss is an upper bound. Pairs without an
    edge, and edges without marks but circles, have infinity too.

    Examples
    --------
    >>> collider = Mag.of([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    >>> correlation = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.6], [0.6, 0.6, 1.0]])
    >>> scores = DistrictScores(correlation, n_rows=100, price=4.0)
    >>> from drbo.graph.pag import pag_of
    >>> losses_of_marks(scores, collider, pag_of(collider)).round(1).tolist()
    [[inf, inf, 4.0], [inf, inf, 4.0], [4.0, 4.0, inf]]
    """
    found = np.full(pag.shape, np.inf)
    fixed = np.zeros_like(graph.directed) if required is None else required | required.T
    deadline = current()
    for i, j in np.argwhere(np.triu(pag != NO_EDGE)).tolist():
        deadline.check()
        claimed = (int(pag[j, i]), int(pag[i, j]))
        for kind, ends in ENDS.items():
            if any(mark in (ARROW, TAIL) and mark != end for mark, end in zip(claimed, ends, strict=True)):
                loss = _loss(scores, graph, (i, j, kind), fixed)
                found[i, j] = found[j, i] = min(found[i, j], loss)
    return found


def _loss(scores: DistrictScores, graph: Mag, move: tuple[int, int, int], fixed: Bools) -> float:
    """Return what the score loses if an edge is changed, and one more at its ends where that helps."""
    i, j, _ = move
    first = float(scores.gains(graph, np.array([move]))[0])
    if fixed[i, j] or not np.isfinite(first):
        return float("inf")
    middle = changed(graph, *move)
    adjacent = middle.adjacent
    near = adjacent | (adjacent.astype(np.float32) @ adjacent.astype(np.float32) > 0)
    beside = np.zeros_like(adjacent)
    beside[[i, j]] = near[[i, j]]
    beside |= beside.T
    beside[i, j] = beside[j, i] = False
    more = scores.gains(middle, other_edges(middle, np.triu(beside, 1) & ~fixed))
    return -(first + max(0.0, float(more.max(initial=0.0))))
