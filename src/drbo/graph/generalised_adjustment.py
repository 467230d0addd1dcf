"""Which columns to adjust for where causes may be hidden: the generalised adjustment criterion on a PAG.

Perković, Textor, Kalisch & Maathuis (2018): a set gives the total effect of one column on another in every graph of the
class if every possibly directed path between them begins with a visible arrow (amenability), if the set holds nothing
that may come after the cause on such a path, and if it blocks all other paths. If there is such a set, the possible
ancestors of both, without what may come after, are one.
"""

from dataclasses import dataclass

import numpy as np

from drbo.arrays import Bools
from drbo.graph.mag import Mag
from drbo.graph.marks import ARROW, NO_EDGE, TAIL, Marks
from drbo.graph.pag import visible


@dataclass(frozen=True)
class Adjustment:
    """What gives the effect of one column on another: a set of columns, nothing (there is no effect), or no set."""

    nodes: tuple[int, ...] | None  # to adjust for; None: there is no effect, or it is not identified
    no_effect: bool = False  # in no graph of the class
    reason: str = ""  # why it is not identified, in words


def adjustment(pag: Marks, member: Mag, source: int, target: int, names: tuple[str, ...]) -> Adjustment:
    """Return a set of columns that gives the effect in every graph of the class, of which none can be left out.

    ``member`` is any graph of the class. With knowledge in the marks the answer is sound, but a set may be missed.

    Examples
    --------
    >>> from drbo.graph.pag import pag_of
    >>> y = Mag.of([[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])  # 0 -> 2 <- 1, 2 -> 3
    >>> adjustment(pag_of(y), y, 2, 3, ("a", "b", "c", "d")).nodes
    ()
    >>> adjustment(pag_of(y), y, 0, 3, ("a", "b", "c", "d")).reason
    "the data do not tell whether 'a' causes 'c', or something hidden causes both"
    """
    step = (pag != NO_EDGE) & (pag.T != ARROW) & (pag != TAIL)  # step[i, j]: i may be a cause of j
    after = _reached(step, source)
    if not after[target]:
        return Adjustment(None, no_effect=True)
    apart = step.copy()
    apart[:, source] = False  # paths do not come back
    leads = _reached(apart.T, target)
    leads[target] = True
    first = step[source] & leads  # where possibly directed paths to the target begin
    unseen = np.flatnonzero(first & ~visible(pag)[source])
    if len(unseen):
        return Adjustment(None, reason=_not_amenable(pag, source, int(unseen[0]), names))
    forbidden = _forbidden(step, apart, first, leads)
    above = _reached(step.T, source) | _reached(step.T, target)
    above[[source, target]] = False
    chosen = np.flatnonzero(above & ~forbidden).tolist()
    directed = member.directed.copy()
    directed[source, first] = False
    cut = Mag(directed, member.bidirected)
    if not m_separated(cut, source, target, chosen):
        return Adjustment(
            None,
            reason=f"no set of columns blocks every non-causal path from '{names[source]}' to '{names[target]}'",
        )
    near = member.adjacent[target]
    for node in sorted(chosen, key=lambda node: (bool(near[node]), node)):  # what explains the target stays
        fewer = [other for other in chosen if other != node]
        if m_separated(cut, source, target, fewer):
            chosen = fewer
    return Adjustment(tuple(chosen))


def _forbidden(step: Bools, apart: Bools, first: Bools, leads: Bools) -> Bools:
    """Return (d,) the nodes on possibly directed paths to the target, and all that may come after them."""
    on_path, found = np.zeros(len(step), dtype=bool), np.zeros(len(step), dtype=bool)
    for node in np.flatnonzero(first).tolist():
        on_path |= _reached(apart, node) & leads
        on_path[node] = True
    for node in np.flatnonzero(on_path).tolist():
        found |= _reached(step, node)
    return found | on_path


def _reached(step: Bools, start: int) -> Bools:
    """Return (d,) the nodes that steps lead to from a node."""
    found: Bools = step[start]
    front = found
    while front.any():
        front = step[front].any(axis=0) & ~found
        found = found | front
    return found


def _not_amenable(pag: Marks, source: int, other: int, names: tuple[str, ...]) -> str:
    """Return why an edge at the beginning of a possible effect hides it."""
    a, b = names[source], names[other]
    if pag[other, source] == TAIL:
        return f"something hidden may cause both '{a}' and '{b}' (their arrow is not visible)"
    if pag[source, other] == ARROW:
        return f"the data do not tell whether '{a}' causes '{b}', or something hidden causes both"
    return f"the data do not tell whether '{a}' causes '{b}' or the reverse, or something hidden causes both"


def m_separated(graph: Mag, x: int, y: int, given: list[int]) -> bool:
    """Tell whether a set of nodes blocks every path between two nodes of a mixed graph."""
    into, adjacent = graph.directed | graph.bidirected, graph.adjacent  # into[i, j]: the edge has an arrow at j
    blocked = np.zeros(len(adjacent), dtype=bool)
    blocked[given] = True
    opened = blocked.copy()  # what is given, and its ancestors: colliders there let paths through
    for node in given:
        opened |= _reached(graph.directed.T, node)
    queue = [(int(v), bool(into[x, v])) for v in np.flatnonzero(adjacent[x])]
    seen = set(queue)
    while queue:
        v, arrow = queue.pop()
        if v == y:
            return False
        for w in np.flatnonzero(adjacent[v]).tolist():
            collider = arrow and into[w, v]
            state = (w, bool(into[v, w]))
            if w != x and state not in seen and (opened[v] if collider else not blocked[v]):
                seen.add(state)
                queue.append(state)
    return True
