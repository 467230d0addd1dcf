"""Climbs: from a DAG, take the best single-edge move of a drawn function until none gains.

A drawn function gives every family a value, so all d (d - 1) additions and removals of one DAG cost a few matrix-vector
products. Families that are known have their true value. Every DAG on the way obeys the knowledge.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from drbo import _core
from drbo.arrays import Bools, Floats, Indices, Ints
from drbo.machine.threads import crew


class ClimbRules(NamedTuple):
    """What the climb maximises, and which DAGs it may visit."""

    allowed: Bools  # (d, d): i -> j may be present
    required: Bools  # (d, d)
    max_parents: Ints  # (d,)
    price: Floats  # (d, d): what edge i -> j adds to the score, mostly negative
    gain: Floats  # (d,): d(score) / d(cost), or minus the rows of a node where there is a level
    level: float  # above 0: the share of a family is gain / level * exp(cost); 0: gain * cost


class Drawn(NamedTuple):
    """Functions drawn from a surrogate: S for each node, of its parent vector x.

    ``f(x) = offset + x . slope + sum_r weight_r decay^|x - x_r| + sum_k amplitude_k (-1)^(x . member_k)
    + relative c(x)``, with c the value of a cheap score, read from a table.

    Where a superset never fits worse, the value of a parent set lies between those of the known sets that hold it and
    of the known sets that it holds: ``truth`` are the values of the known families, and f is cut to what they allow.
    """

    signs: Floats  # (d, m): +1 where a candidate is in the parent set of a known family, else -1
    starts: Ints  # (d + 1,): where each node's families begin
    decay: Floats  # (d, d + 1): powers of each node's decay
    members: Floats  # (d, d, F): 1 where candidate j is in the parity feature k of node i
    offset: Floats  # (S, d)
    slope: Floats  # (S, d, d): by node, candidate
    weight: Floats  # (S, m)
    amplitude: Floats  # (S, d, F)
    relative: Floats  # (S, d), or (S, 0): there is no cheap score
    low: Floats  # (d,): values are cut to this range
    high: Floats  # (d,)
    truth: Floats  # (m,) or (0,): a superset may fit worse


#: Fills a table with the cheap scores of parent sets (m, d) of nodes (m,) and returns it.
Fill = Callable[[Indices, Bools], _core.FamilyTable]


def climb_all(
    dags: Bools,  # (S, d, d): a start for each drawn function
    drawn: Drawn,
    rules: ClimbRules,
    known: _core.FamilyTable,
    fill: Fill | None = None,
) -> Bools:
    """Return where the climbs end (S, d, d); they run in threads and do not depend on each other.

    Where a climb needs a cheap score that is not in the table it waits; the table is filled for all of them at once.
    """
    ends, d = dags.copy(), dags.shape[1]
    change, stale = np.zeros(dags.shape), np.ones(dags.shape[:2], dtype=bool)
    moves = np.zeros(len(dags), dtype=np.int64)
    each = drawn.signs.shape[1] + drawn.members.shape[2]
    functions, limits = _core.DrawnFunctions(*drawn), _core.ClimbRules(*rules)
    while True:
        cheap = known if fill is None else fill(*_neighbours(ends, stale))
        threads = crew(int(stale.sum()) * d * each)
        _core.climb_draws(ends, change, stale, moves, functions, limits, known, cheap, threads)
        if fill is None or not stale.any():
            return ends


def _neighbours(dags: Bools, wanted: Bools) -> tuple[Indices, Bools]:
    """Return the families of some nodes (S, d) of DAGs, as they are and with each candidate toggled."""
    draws, nodes = np.nonzero(wanted)
    return toggled(nodes, dags[draws, :, nodes])


def toggled(nodes: Indices, parents: Bools) -> tuple[Indices, Bools]:
    """Return families (m,), (m, d) as they are and with each candidate toggled: d for each."""
    d = parents.shape[1]
    changed = np.repeat(parents[:, None], d, axis=1)
    changed[:, np.arange(d), np.arange(d)] ^= True
    changed[np.arange(len(nodes)), nodes, nodes] = False  # no node is its own parent: the family as it is
    return np.repeat(nodes, d), changed.reshape(-1, d)


def jump(
    dag: Bools,  # (d, d)
    pairs: Ints,  # (k, 2)
    rules: ClimbRules,
) -> Bools:
    """Return the DAG after k changes: each pair that is linked is unlinked or turned, each other one linked.

    A change that would break the knowledge or close a cycle is left out.
    """
    changed = dag.copy()
    for i, j in pairs.tolist():
        if rules.required[i, j] or rules.required[j, i]:
            continue
        linked, turned = changed[i, j], changed[j, i]
        changed[i, j] = changed[j, i] = False
        room = np.count_nonzero(changed[:, j]) < rules.max_parents[j]
        if i != j and not linked and rules.allowed[i, j] and room and not _leads(changed, j, i):
            changed[i, j] = True
        elif turned:
            changed[j, i] = True
    return changed


def _leads(dag: Bools, source: int, target: int) -> bool:
    """Tell whether there is a path from one node to another."""
    reached = dag[source]
    while not reached[target]:
        further = reached | dag[reached].any(axis=0)
        if np.array_equal(further, reached):
            return False
        reached = further
    return True
