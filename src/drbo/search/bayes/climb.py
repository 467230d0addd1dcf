"""Compiled climbs: from a DAG, take the best single-edge move of a drawn function until none gains.

A drawn function gives every family a value, so all d (d - 1) additions and removals of one DAG cost a few matrix-vector
products. Families that are known have their true value. Every DAG on the way obeys the knowledge.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from drbo.jit import numba
from drbo.threads import in_threads

#: A move must gain more than this, on the scale of the score.
MIN_GAIN = 1e-7
#: A table of families is made anew, this many times larger, when it is half full.
TABLE_GROWTH = 4


class Rules(NamedTuple):
    """What the climb maximises, and which DAGs it may visit."""

    allowed: npt.NDArray[np.bool_]  # (d, d): i -> j may be present
    required: npt.NDArray[np.bool_]  # (d, d)
    max_parents: npt.NDArray[np.int64]  # (d,)
    price: npt.NDArray[np.float64]  # (d, d): what edge i -> j adds to the score, mostly negative
    gain: npt.NDArray[np.float64]  # (d,): d(score) / d(local), or minus the rows of a node where there is a level
    level: float  # above 0: the share of a family is gain / level * exp(local); 0: gain * local


class Known(NamedTuple):
    """The values of known families in an open hash table; 0 marks a free place."""

    keys: npt.NDArray[np.uint64]  # (size,), size a power of 2
    values: npt.NDArray[np.float64]  # (size,)
    code: npt.NDArray[np.uint64]  # (d, d + 1): random words; the key of a family is their exclusive or


def with_room(table: Known, count: int) -> Known:
    """Return a table that is at most half full with ``count`` families: itself, or a larger one that holds the same."""
    size = len(table.keys)
    if 2 * count <= size:
        return table
    while 2 * count > size:
        size *= TABLE_GROWTH
    larger, used = Known(np.zeros(size, dtype=np.uint64), np.zeros(size), table.code), table.keys != 0
    insert(table.keys[used], table.values[used], tuple(larger))
    return larger


class Drawn(NamedTuple):
    """Functions drawn from a surrogate: S for each node, of its parent vector x.

    ``f(x) = offset + x . slope + sum_r weight_r decay^|x - x_r| + sum_k amplitude_k (-1)^(x . member_k)
    + sum_h output_h max(0, bias_h + x . hidden_h) + relative c(x)``: a Gaussian process has the first four parts, a
    network the first and the fifth; the others are empty. c is the value of a cheap score, read from a table.

    Where a superset never fits worse, the value of a parent set lies between those of the known sets that hold it and
    of the known sets that it holds: ``truth`` are the values of the known families, and f is cut to what they allow.
    """

    signs: npt.NDArray[np.float64]  # (d, m): +1 where a candidate is in the parent set of a known family, else -1
    starts: npt.NDArray[np.int64]  # (d + 1,): where each node's families begin
    decay: npt.NDArray[np.float64]  # (d, d + 1): powers of each node's decay
    members: npt.NDArray[np.float64]  # (d, d, F): 1 where candidate j is in the parity feature k of node i
    offset: npt.NDArray[np.float64]  # (S, d)
    slope: npt.NDArray[np.float64]  # (S, d, d): by node, candidate
    weight: npt.NDArray[np.float64]  # (S, m)
    amplitude: npt.NDArray[np.float64]  # (S, d, F)
    hidden: npt.NDArray[np.float64]  # (d, d, H): by node, candidate, unit
    bias: npt.NDArray[np.float64]  # (d, H)
    output: npt.NDArray[np.float64]  # (S, d, H)
    relative: npt.NDArray[np.float64]  # (S, d), or (S, 0): there is no cheap score
    low: npt.NDArray[np.float64]  # (d,): values are cut to this range
    high: npt.NDArray[np.float64]  # (d,)
    truth: npt.NDArray[np.float64]  # (m,) or (0,): a superset may fit worse


#: Fills a table with the cheap scores of parent sets (m, d) of nodes (m,) and returns it.
Fill = Callable[[npt.NDArray[np.intp], npt.NDArray[np.bool_]], Known]


def climb_all(
    dags: npt.NDArray[np.bool_],  # (S, d, d): a start for each drawn function
    drawn: Drawn,
    rules: Rules,
    known: Known,
    fill: Fill | None = None,
) -> npt.NDArray[np.bool_]:
    """Return where the climbs end (S, d, d); they run in threads and do not depend on each other.

    Where a climb needs a cheap score that is not in the table it waits; the table is filled for all of them at once.
    """
    ends, d = dags.copy(), dags.shape[1]
    change, stale = np.zeros(dags.shape), np.ones(dags.shape[:2], dtype=bool)
    moves = np.zeros(len(dags), dtype=np.int64)
    families = drawn.signs.shape[1] + drawn.members.shape[2] + drawn.bias.shape[1]
    state = (ends, change, stale, moves)
    while True:
        cheap = known if fill is None else fill(*_neighbours(ends, stale))
        work = int(stale.sum()) * d * families
        in_threads(_climb_part, len(ends), work, state, tuple(drawn), tuple(rules), tuple(known), tuple(cheap))
        if fill is None or not stale.any():
            return ends


def _neighbours(
    dags: npt.NDArray[np.bool_], wanted: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Return the families of some nodes (S, d) of DAGs, as they are and with each candidate toggled."""
    draws, nodes = np.nonzero(wanted)
    return toggled(nodes, dags[draws, :, nodes])


def toggled(
    nodes: npt.NDArray[np.intp], parents: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Return families (m,), (m, d) as they are and with each candidate toggled: d for each."""
    d = parents.shape[1]
    changed = np.repeat(parents[:, None], d, axis=1)
    changed[:, np.arange(d), np.arange(d)] ^= True
    changed[np.arange(len(nodes)), nodes, nodes] = False  # no node is its own parent: the family as it is
    return np.repeat(nodes, d), changed.reshape(-1, d)


def jump(
    dag: npt.NDArray[np.bool_],  # (d, d)
    pairs: npt.NDArray[np.int64],  # (k, 2)
    rules: Rules,
) -> npt.NDArray[np.bool_]:
    """Return the DAG after k changes: each pair that is linked is unlinked or turned, each other one linked.

    A change that would break the knowledge or close a cycle is left out.

    Examples
    --------
    >>> free = np.ones((2, 2), dtype=bool)
    >>> rules = Rules(free, ~free, np.array([1, 1]), np.zeros((2, 2)), np.ones(2), 0.0)
    >>> jump(np.zeros((2, 2), dtype=bool), np.array([[0, 1]]), rules).astype(int).tolist()
    [[0, 1], [0, 0]]
    """
    changed: npt.NDArray[np.bool_] = _jump(dag.copy(), pairs, rules.allowed, rules.required, rules.max_parents)
    return changed


@numba.njit(cache=True)
def _jump(dag: Any, pairs: Any, allowed: Any, required: Any, max_parents: Any) -> Any:
    reach = np.zeros_like(dag)
    for k in range(len(pairs)):
        i, j = pairs[k]
        if required[i, j] or required[j, i]:
            continue
        linked = dag[i, j]
        dag[i, j] = False
        turned = dag[j, i]
        dag[j, i] = False
        _reach(dag, reach)
        if not linked and allowed[i, j] and not reach[j, i] and dag[:, j].sum() < max_parents[j]:
            dag[i, j] = True
        elif turned:
            dag[j, i] = True
    return dag


@numba.njit(cache=True)
def _reach(dag: Any, reach: Any) -> None:
    """Set ``reach[i, j]``: there is a path from i to j. Nodes are finished in reverse topological order."""
    d = len(dag)
    left = np.zeros(d, dtype=np.int64)
    for i in range(d):
        for j in range(d):
            reach[i, j] = dag[i, j]
            left[i] += dag[i, j]
    ready = np.empty(d, dtype=np.int64)
    count = 0
    for i in range(d):
        if left[i] == 0:
            ready[count] = i
            count += 1
    done = 0
    while done < count:
        node = ready[done]
        done += 1
        for i in range(d):
            if dag[i, node]:
                for j in range(d):
                    reach[i, j] |= reach[node, j]
                left[i] -= 1
                if left[i] == 0:
                    ready[count] = i
                    count += 1


@numba.njit(cache=True)
def _look_up(key: Any, known: Any) -> float:
    keys, values, _ = known
    mask = np.uint64(len(keys) - 1)
    place = key & mask
    while keys[place] != 0:
        if keys[place] == key:
            return float(values[place])
        place = (place + np.uint64(1)) & mask
    return np.nan


@numba.njit(cache=True)
def look_up_all(keys: Any, known: Any) -> Any:
    """Return the values of families in a table, NaN for those that are not there."""
    values = np.empty(len(keys))
    for row in range(len(keys)):
        values[row] = _look_up(keys[row], known)
    return values


@numba.njit(cache=True)
def insert(keys: Any, values: Any, known: Any) -> None:
    """Add families to the table, which must have room."""
    mask = np.uint64(len(known[0]) - 1)
    for row in range(len(keys)):
        place = keys[row] & mask
        while known[0][place] != 0 and known[0][place] != keys[row]:
            place = (place + np.uint64(1)) & mask
        known[0][place] = keys[row]
        known[1][place] = values[row]


@numba.njit(cache=True, fastmath=True)
def _toggled(node: int, draw: int, x: Any, drawn: Any, pull: Any, wave: Any, unit: Any, out: Any) -> float:
    """Write the drawn value of a node with each candidate j toggled in its parent signs x; return that of x."""
    signs, starts, decay, members, offset, slope, weight, amplitude, hidden, bias, output, _, _, _, _ = drawn
    d, first, last = len(x), starts[node], starts[node + 1]
    base = offset[draw, node]
    for h in range(len(unit)):
        unit[h] = bias[node, h]
    for r in range(first, last):
        pull[r] = 0.0
    for k in range(len(wave)):
        wave[k] = amplitude[draw, node, k]
    for j in range(d):
        if j == node:
            continue
        if x[j] > 0:
            base += slope[draw, node, j]
            for k in range(len(wave)):
                wave[k] *= 1.0 - 2.0 * members[node, j, k]
            for h in range(len(unit)):
                unit[h] += hidden[node, j, h]
        for r in range(first, last):
            pull[r] += signs[j, r] * x[j]
    total, total_waves = 0.0, 0.0
    for r in range(first, last):
        pull[r] = weight[draw, r] * decay[node, int((d - 1 - pull[r]) * 0.5 + 0.25)]
        total += pull[r]
    for k in range(len(wave)):
        total_waves += wave[k]
    active = 0.0
    for h in range(len(unit)):
        active += output[draw, node, h] * max(0.0, unit[h])
    near, far = decay[node, 1], 1.0 / decay[node, 1]
    for j in range(d):
        if j == node:
            continue
        agree = 0.0  # sum over families that agree about j, minus those that do not
        for r in range(first, last):
            agree += signs[j, r] * pull[r]
        agree *= x[j]
        flipped = 0.0
        for k in range(len(wave)):
            flipped += members[node, j, k] * wave[k]
        value = base - x[j] * slope[draw, node, j] + total_waves - 2.0 * flipped
        value += 0.5 * (near * (total + agree) + far * (total - agree))
        for h in range(len(unit)):
            value += output[draw, node, h] * max(0.0, unit[h] - x[j] * hidden[node, j, h])
        out[j] = value
    return float(base + total + total_waves + active)


@numba.njit(cache=True)
def _share(value: float, node: int, gain: Any, level: float) -> float:
    return float(gain[node] / level * np.exp(value) if level > 0 else gain[node] * value)


@numba.njit(cache=True)
def _bounds(node: int, x: Any, drawn: Any, low: Any, high: Any) -> None:
    """Write the range of a node's value with each candidate j toggled in its parent signs x; last, that of x."""
    signs, first, truth = drawn[0], drawn[1][node], drawn[14]
    d, count = len(x), drawn[1][node + 1] - first if len(truth) else 0
    low[:], high[:] = drawn[12][node], drawn[13][node]
    fewer, more = np.zeros(count), np.zeros(count)  # candidates that x has alone, and that the known set has alone
    one_fewer, one_more = np.zeros(count), np.zeros(count)  # the sum of their numbers: where there is one, its own
    for j in range(d):
        for r in range(count):
            alone = max(0.0, (x[j] - signs[j, first + r]) * 0.5)
            fewer[r] += alone
            one_fewer[r] += alone * j
            alone = max(0.0, (signs[j, first + r] - x[j]) * 0.5)
            more[r] += alone
            one_more[r] += alone * j
    for r in range(count):
        value = truth[first + r]
        if fewer[r] == 0:  # the known set holds x
            low[d] = max(low[d], value)
            for j in range(d):
                if signs[j, first + r] > 0:
                    low[j] = max(low[j], value)
        elif fewer[r] == 1:
            low[int(one_fewer[r])] = max(low[int(one_fewer[r])], value)
        if more[r] == 0:  # x holds the known set
            high[d] = min(high[d], value)
            for j in range(d):
                if signs[j, first + r] < 0:
                    high[j] = min(high[j], value)
        elif more[r] == 1:
            high[int(one_more[r])] = min(high[int(one_more[r])], value)


@numba.njit(cache=True)
def _value(node: int, draw: int, value: float, key: Any, drawn: Any, cheap: Any, low: float, high: float) -> float:
    """Return a drawn value with the part of the cheap score, cut to a range; NaN where that is not in the table."""
    relative = drawn[11]
    if relative.shape[1] > 0:
        value += relative[draw, node] * _look_up(key, cheap)
        if np.isnan(value):
            return np.nan
    return float(max(min(value, high), low))


@numba.njit(cache=True)
def _changes(
    node: int, draw: int, parents: Any, drawn: Any, rules: Any, known: Any, cheap: Any, work: Any, change: Any
) -> float:
    """Write what toggling each candidate parent of a node adds to the drawn score.

    Return what the node adds without the price of its edges; NaN where a cheap score lacks.
    """
    _, _, _, price, gain, level = rules
    x, pull, wave, unit, out, low, high = work
    code = known[2][node]
    d, key = len(x), known[2][node, len(x)]
    for j in range(d):
        x[j] = 1.0 if parents[j] else -1.0
        if parents[j]:
            key ^= code[j]
    value = _toggled(node, draw, x, drawn, pull, wave, unit, out)
    _bounds(node, x, drawn, low, high)
    true = _look_up(key, known)
    if np.isnan(true):
        true = _value(node, draw, value, key, drawn, cheap, low[d], high[d])
    now = _share(true, node, gain, level)
    whole = not np.isnan(now)
    for j in range(d):
        if j != node:
            true = _look_up(key ^ code[j], known)
            if np.isnan(true):
                true = _value(node, draw, out[j], key ^ code[j], drawn, cheap, low[j], high[j])
            change[j] = _share(true, node, gain, level) - now - x[j] * price[j, node]
            whole &= not np.isnan(true)
    return now if whole else np.nan


@numba.njit(cache=True)
def _room(drawn: Any) -> Any:
    """Return arrays to work in."""
    d = drawn[0].shape[0]
    return (
        np.empty(d),
        np.empty(drawn[0].shape[1]),
        np.empty(drawn[3].shape[2]),
        np.empty(drawn[9].shape[1]),
        np.empty(d),
        np.empty(d + 1),
        np.empty(d + 1),
    )


@numba.njit(cache=True)
def shares(draw: int, nodes: Any, parents: Any, drawn: Any, rules: Any, known: Any, cheap: Any) -> Any:
    """Return what families add to the drawn score (m,), and what toggling each candidate adds to that (m, d).

    Cheap scores of all of them must be in their table.
    """
    found, changes, work = np.empty(len(nodes)), np.zeros(parents.shape), _room(drawn)
    for row in range(len(nodes)):
        node = nodes[row]
        found[row] = _changes(node, draw, parents[row], drawn, rules, known, cheap, work, changes[row])
        for j in range(parents.shape[1]):
            if parents[row, j]:
                found[row] += rules[3][j, node]
    return found, changes


@numba.njit(cache=True)
def _second_path(dag: Any, reach: Any, i: int, j: int) -> bool:
    """Tell whether a path leads from i to j beside the edge."""
    found = False
    for child in range(len(dag)):
        found |= dag[i, child] and child != j and reach[child, j]
    return found


@numba.njit(cache=True)
def _best_move(dag: Any, reach: Any, change: Any, n_parents: Any, rules: Any) -> Any:
    """Return the best move that is allowed: removal (1), addition (2) or reversal (3) of i -> j; 0: none gains."""
    allowed, required, max_parents = rules[0], rules[1], rules[2]
    d = len(dag)
    closed = np.zeros((d, d), dtype=np.bool_)  # reversals that turned out to close a cycle
    while True:
        best, kind, source, target = MIN_GAIN, 0, -1, -1
        for j in range(d):
            for i in range(d):
                if i == j:
                    continue
                if dag[i, j]:
                    if required[i, j]:
                        continue
                    if change[j, i] > best:
                        best, kind, source, target = change[j, i], 1, i, j
                    turned = change[j, i] + change[i, j]
                    if turned > best and allowed[j, i] and not closed[i, j] and n_parents[i] < max_parents[i]:
                        best, kind, source, target = turned, 3, i, j
                elif change[j, i] > best and allowed[i, j] and not reach[j, i] and n_parents[j] < max_parents[j]:
                    best, kind, source, target = change[j, i], 2, i, j
        if kind != 3 or not _second_path(dag, reach, source, target):
            return kind, source, target
        closed[source, target] = True


@numba.njit(cache=True)
def _climb(draw: int, state: Any, drawn: Any, rules: Any, known: Any, cheap: Any) -> None:
    """Climb until no move gains, or until a cheap score lacks: the nodes that need it stay stale."""
    dag, change, stale, moves = state[0][draw], state[1][draw], state[2][draw], state[3]
    d = len(dag)
    work = _room(drawn)
    reach = np.zeros((d, d), dtype=np.bool_)
    n_parents = np.zeros(d, dtype=np.int64)
    for node in range(d):
        n_parents[node] = dag[:, node].sum()
    while True:
        for node in range(d):
            if stale[node]:
                added = _changes(node, draw, dag[:, node], drawn, rules, known, cheap, work, change[node])
                stale[node] = np.isnan(added)
        if stale.any():
            return
        _reach(dag, reach)
        kind, i, j = _best_move(dag, reach, change, n_parents, rules)
        if kind == 0 or moves[draw] == d * d:  # rounding could make moves go round in a circle
            return
        moves[draw] += 1
        dag[i, j] = kind == 2
        n_parents[j] += 1 if kind == 2 else -1
        stale[j] = True
        if kind == 3:
            dag[j, i] = True
            n_parents[i] += 1
            stale[i] = True


@numba.njit(cache=True, nogil=True)
def _climb_part(first: int, last: int, state: Any, drawn: Any, rules: Any, known: Any, cheap: Any) -> None:
    """Let some of the climbs go on."""
    for draw in range(first, last):
        _climb(draw, state, drawn, rules, known, cheap)
