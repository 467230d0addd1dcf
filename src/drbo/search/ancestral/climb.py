"""From the best DAG to a maximal ancestral graph with a higher score, one or two edges at a time.

Every graph on the way is legal, so what is printed is the PAG of one concrete graph. Graphs of the same class tie, and
some steps are only open from another member of the class: when no step is left, the climb walks at random over changes
that leave the score as it is and tries again.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from drbo.arrays import Bools, Floats, Ints
from drbo.deadline import OutOfTimeError, current
from drbo.errors import ScoreError
from drbo.graph.dag import descendants
from drbo.graph.mag import Mag
from drbo.graph.marks import ARROW
from drbo.graph.pag import pag_of
from drbo.search.ancestral.ricf import BACKWARD, BOTH, FORWARD, NONE, DistrictScores, changed

#: A step that saves an edge may cost at most this much of twice the log likelihood, which one in ten costs by chance if
#: the edge is not there; and it must gain more than this share of the price of an edge.
MOST_COST, LEAST_GAIN = 2.71, 0.5
#: Each further bidirected edge that a step brings to the PAG, beyond one, must be paid with so many prices of an edge.
MORE_HEADS = 0.3
#: Two steps at once begin with one that loses at most so many prices of an edge.
MOST_LOSS = 3.0
#: Walks without a gain after which the climb ends.
WALKS = 10
#: Trials of a walk for each column.
WALK_TRIALS = 2
#: Changes of the score up to this count as none: the fits of districts are iterative.
NEUTRAL = 0.01

Moves = Ints  # (m, 3) two nodes, and the edge they get


@dataclass(frozen=True, eq=False)
class Climbed:
    """Where a climb ended."""

    graph: Mag
    gain: float  # over the graph it started from
    n_steps: int
    whole: bool  # False: the time was over


def climb(
    scores: DistrictScores,
    start: Bools,  # (d, d) a DAG
    seed: int,
    *,
    required: Bools | None = None,
    walks: int = WALKS,
) -> Climbed:
    """Climb from a DAG to a maximal ancestral graph; ``required`` edges i -> j stay, and must allow the scores' graphs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, d, hidden = rng.normal(size=(3, 2000))
    >>> b, c = a + hidden + rng.normal(size=2000), d + hidden + rng.normal(size=2000)
    >>> scores = DistrictScores(np.corrcoef([a, b, c, d]), 2000, 2 * np.log(2000))
    >>> dag = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]], dtype=bool)
    >>> found = climb(scores, dag, seed=0).graph  # a -> b <-> c <- d
    >>> np.argwhere(found.directed).tolist(), np.argwhere(np.triu(found.bidirected)).tolist()
    ([[0, 1], [3, 2]], [[1, 2]])
    """
    kept = np.zeros_like(start) if required is None else required
    graph = obeying(scores, start, kept)
    if np.isnan(scores.total(graph)):
        raise ScoreError(
            "some columns are collinear, so that hidden causes cannot be searched for", hint="drop one of these columns"
        )
    rng, best, gain, n_steps, left, whole = np.random.default_rng(seed), graph, 0.0, 0, walks, True
    try:
        while True:
            step = _step(scores, graph, kept)
            if step is not None:
                graph, more = step
                best, gain, n_steps, left = graph, gain + more, n_steps + 1, walks
            elif left == 0:
                break
            else:
                left -= 1
                graph = _walk(scores, best, kept, rng)
    except OutOfTimeError:
        whole = False
    return Climbed(best, gain, n_steps, whole)


def obeying(scores: DistrictScores, dag: Bools, required: Bools) -> Mag:
    """Return a DAG without the cheapest edges that let a column be an ancestor that it must not be."""
    graph = Mag.of(dag)
    while (clash := np.argwhere(descendants(graph.directed) & scores.never)).size:
        i, j = clash[0]
        reach = descendants(graph.directed) | np.eye(len(dag), dtype=bool)
        edges = np.argwhere(graph.directed & ~required & np.outer(reach[i], reach[:, j]))
        moves = np.column_stack([edges, np.full(len(edges), NONE)])
        # Other forbidden paths may be left, so the gains are those of the scores without the knowledge.
        free = DistrictScores(scores.correlation, scores.n_rows, scores.price)
        graph = changed(graph, *moves[np.argmax(free.gains(graph, moves))].tolist())
    return graph


def _step(scores: DistrictScores, graph: Mag, required: Bools) -> tuple[Mag, float] | None:
    """Return the graph after the best step and what it gains, or None."""
    adjacent = graph.adjacent
    near = adjacent | (adjacent.astype(np.float32) @ adjacent.astype(np.float32) > 0)
    moves = other_edges(graph, np.triu(near, 1) & ~(required | required.T))
    gains = scores.gains(graph, moves)
    if (step := _best_of(scores, graph, graph, moves, gains)) is not None:
        return step
    retyped = adjacent[moves[:, 0], moves[:, 1]] & (moves[:, 2] != NONE) & (gains > -MOST_LOSS * scores.price)
    order = np.flatnonzero(retyped)[np.argsort(-gains[retyped], kind="stable")]
    deadline = current()
    for first, so_far in zip(moves[order].tolist(), gains[order].tolist(), strict=True):
        deadline.check()
        middle = changed(graph, *first)
        beside = np.zeros_like(adjacent)
        beside[first[:2]] = adjacent[first[:2]]
        beside |= beside.T
        beside[first[0], first[1]] = beside[first[1], first[0]] = False
        seconds = other_edges(middle, np.triu(beside, 1) & ~(required | required.T))
        more = scores.gains(middle, seconds) + so_far
        if (step := _best_of(scores, graph, middle, seconds, more)) is not None:
            return step
    return None


def _best_of(scores: DistrictScores, graph: Mag, middle: Mag, moves: Moves, gains: Floats) -> tuple[Mag, float] | None:
    """Return what the best of some moves from a graph in the middle makes of it, if it gains enough, or None."""
    deadline = current()
    for k in np.argsort(-gains, kind="stable").tolist():
        deadline.check()
        if not gains[k] > _least(scores):
            return None
        found = changed(middle, *moves[k].tolist())
        if _is_enough(scores, graph, found, float(gains[k])):
            return found, float(gains[k])
    return None


def _is_enough(scores: DistrictScores, before: Mag, after: Mag, gain: float) -> bool:
    """Tell whether a gain is large enough to replace one graph by another."""
    if not gain > _least(scores):
        return False
    more = _bidirected(after) - _bidirected(before) - 1
    return gain > _least(scores) + MORE_HEADS * scores.price * max(0, more)


def _least(scores: DistrictScores) -> float:
    """Return what every step must gain."""
    return max(scores.price - MOST_COST, LEAST_GAIN * scores.price)


def _bidirected(graph: Mag) -> int:
    """Return the number of bidirected edges of the PAG of a graph."""
    if not graph.bidirected.any():
        return 0
    arrow = pag_of(graph) == ARROW
    return int((arrow & arrow.T).sum()) // 2


def other_edges(graph: Mag, pairs: Bools) -> Moves:
    """Return every other edge that these pairs could have."""
    found = np.argwhere(pairs)
    now = np.select(
        [graph.directed[pairs], graph.directed.T[pairs], graph.bidirected[pairs]], [FORWARD, BACKWARD, BOTH], NONE
    )
    kinds = np.array([NONE, FORWARD, BACKWARD, BOTH])
    moves = np.column_stack([np.repeat(found, 4, axis=0), np.tile(kinds, len(found))])
    return np.ascontiguousarray(moves[(now[:, None] != kinds).ravel()], dtype=np.int64)


def _walk(scores: DistrictScores, graph: Mag, required: Bools, rng: np.random.Generator) -> Mag:
    """Return another graph of about the same score, by random changes of the marks of edges."""
    deadline = current()
    for i, j in _drawn(graph, required, rng):
        deadline.check()
        move = np.array([[i, j, rng.integers(FORWARD, BOTH + 1)]])
        if abs(scores.gains(graph, move)[0]) < NEUTRAL:
            graph = changed(graph, *move[0].tolist())
    return graph


def _drawn(graph: Mag, required: Bools, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Yield edges at random; their marks change, the pairs do not."""
    edges = np.argwhere(np.triu(graph.adjacent & ~(required | required.T)))
    for k in rng.integers(len(edges), size=WALK_TRIALS * len(graph.directed)) if len(edges) else []:
        yield int(edges[k, 0]), int(edges[k, 1])
