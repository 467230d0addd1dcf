"""Compiled search over sets of nodes: which nodes come first, one node more at a time.

A layer holds the sets of one size that can still lead to a better DAG, each with the best score of a DAG on it
(Malone, Yuan, Hansen & Bridges 2011). What the other nodes can add at most comes from tables over groups of nodes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.jit import numba

Floats = npt.NDArray[np.float64]
Masks = npt.NDArray[np.uint64]
ONE = np.uint64(1)
#: Share of the places of a hash table that may be taken.
LOAD = 0.6


@dataclass(frozen=True, eq=False)
class Bounds:
    """What the nodes outside a set can add at most: the sum over the groups of a partition, of the best partition."""

    group_of: npt.NDArray[np.int64]  # (P, d) the group of each node in each partition
    place: npt.NDArray[np.int64]  # (P, d) its bit within the group
    starts: npt.NDArray[np.int64]  # (groups,) where the table of each group begins
    partition_of: npt.NDArray[np.int64]  # (groups,)
    values: Floats  # all tables, one after the other; by the members of the group that have come before

    def at(self, sets: Masks) -> Floats:
        """Return the bound of each set."""
        found: Floats = _bounds(sets, *self.arrays)
        return found

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self.group_of, self.place, self.starts, self.partition_of, self.values


@dataclass(frozen=True, eq=False)
class Layer:
    """Sets of one size, in rising order, with the best score on each and the node that comes last."""

    sets: Masks
    scores: Floats
    last: npt.NDArray[np.int8]


class Table:
    """A hash table of the sets of the next layer."""

    def __init__(self, size: int) -> None:
        self.sets = np.zeros(size, dtype=np.uint64)
        self.scores = np.empty(size)
        self.last = np.empty(size, dtype=np.int8)
        self.count = 0

    def grown(self) -> "Table":
        """Return a table with the same content and twice as many places."""
        more = Table(2 * len(self.sets))
        _move(self.sets, self.scores, self.last, more.sets, more.scores, more.last)
        more.count = self.count
        return more

    def layer(self) -> Layer:
        """Return the content in the order of the sets."""
        rows = np.flatnonzero(self.sets)
        rows = rows[np.argsort(self.sets[rows])]
        return Layer(self.sets[rows], self.scores[rows], self.last[rows])


@dataclass(frozen=True, eq=False)
class Index:
    """The parent sets of all nodes, the best first, found by the nodes that they must not hold.

    For every 64 sets of a node and every other node a word tells which of the sets hold it.
    """

    shares: Floats  # of all sets, node by node
    begins: npt.NDArray[np.int64]  # (d + 1,) where the sets of each node begin
    words: Masks
    word_begins: npt.NDArray[np.int64]  # (d,)

    @classmethod
    def of(cls, masks: list[Masks], shares: list[Floats]) -> "Index":
        """Index the parent sets of each node."""
        d = len(masks)
        begins = np.concatenate([[0], np.cumsum([len(part) for part in masks])]).astype(np.int64)
        sizes = [d * -(-len(part) // 64) for part in masks]
        word_begins = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        words = _words(np.concatenate(masks), begins, word_begins, sum(sizes))
        return cls(np.concatenate(shares), begins, words, word_begins)

    @property
    def n_nodes(self) -> int:
        return len(self.word_begins)

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self.shares, self.begins, self.words, self.word_begins


def expand(
    layer: Layer,
    first: int,
    count: int,
    parents: Index,
    bounds: Bounds,
    known: float,
    table: Table,
) -> int:
    """Put what follows from some sets of a layer into the table; return the first set that is left to do."""
    given: tuple[Any, ...] = (layer.sets, layer.scores, first, min(first + count, len(layer.sets)))
    into: tuple[Any, ...] = (table.sets, table.scores, table.last, table.count, int(LOAD * len(table.sets)))
    arguments = (*given, *parents.arrays, *bounds.arrays, known, *into)
    done, table.count = _expand(*arguments)
    return int(done)


@numba.njit(cache=True, nogil=True)
def _bounds(sets: Any, group_of: Any, place: Any, starts: Any, partition_of: Any, values: Any) -> Any:
    found = np.empty(len(sets))
    totals, index = np.empty(len(group_of)), np.empty(len(starts), dtype=np.int64)
    for row in range(len(sets)):
        _look_up(sets[row], group_of, place, starts, partition_of, values, totals, index)
        found[row] = totals.min()
    return found


@numba.njit(cache=True, nogil=True)
def _look_up(
    nodes: Any, group_of: Any, place: Any, starts: Any, partition_of: Any, values: Any, totals: Any, index: Any
) -> None:
    """Fill in, for a set, where it stands in the table of each group, and the sum over each partition."""
    index[:] = starts
    for part in range(len(group_of)):
        left = nodes
        node = 0
        while left:
            if left & ONE:
                index[group_of[part, node]] += 1 << place[part, node]
            left >>= ONE
            node += 1
    totals[:] = 0.0
    for group in range(len(starts)):
        totals[partition_of[group]] += values[index[group]]


@numba.njit(cache=True, nogil=True)
def _slot(sets: Any, nodes: Any) -> int:
    """Return where a set is, or would be, in a hash table with 2^k places."""
    size = len(sets) - 1
    place = int((nodes * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & size
    while sets[place] != 0 and sets[place] != nodes:
        place = (place + 1) & size
    return place


@numba.njit(cache=True, nogil=True)
def _move(sets: Any, scores: Any, last: Any, new_sets: Any, new_scores: Any, new_last: Any) -> None:
    for row in range(len(sets)):
        if sets[row]:
            place = _slot(new_sets, sets[row])
            new_sets[place], new_scores[place], new_last[place] = sets[row], scores[row], last[row]


@numba.njit(cache=True, nogil=True)
def _words(masks: Any, begins: Any, word_begins: Any, size: int) -> Any:
    d, words = len(begins) - 1, np.zeros(size, dtype=np.uint64)
    for node in range(d):
        for k in range(begins[node + 1] - begins[node]):
            mask, bit = masks[begins[node] + k], ONE << np.uint64(k & 63)
            for other in range(d):
                if (mask >> np.uint64(other)) & ONE:
                    words[word_begins[node] + (k >> 6) * d + other] |= bit
    return words


@numba.njit(cache=True, nogil=True)
def _best_inside(
    node: int, outside: Any, n_outside: int, need: float, shares: Any, begins: Any, words: Any, word_begins: Any
) -> int:
    """Return the best set of parents of a node that holds no outside node, -1: none has a share above ``need``."""
    d, every = len(begins) - 1, ~np.uint64(0)
    at, begin = word_begins[node], begins[node]
    for first in range(begin, begins[node + 1], 64):
        if shares[first] <= need:
            return -1
        holds = np.uint64(0)
        for k in range(n_outside):
            holds |= words[at + outside[k]]
            if holds == every:
                break
        at += d
        if holds != every:
            place = 0
            while holds & ONE:
                holds >>= ONE
                place += 1
            found = first + place
            return found if found < begins[node + 1] and shares[found] > need else -1
    return -1


@numba.njit(cache=True, nogil=True)
def _expand(
    layer: Any, scores: Any, first: int, end: int, shares: Any, begins: Any, words: Any, word_begins: Any,
    group_of: Any, place: Any, starts: Any, partition_of: Any, values: Any, known: float, new_sets: Any,
    new_scores: Any, new_last: Any, count: int, most: int,
) -> Any:  # fmt: skip
    d, n_parts = len(begins) - 1, len(group_of)
    totals, index = np.empty(n_parts), np.empty(len(starts), dtype=np.int64)
    outside = np.empty(d, dtype=np.int64)
    for row in range(first, end):
        if count + d > most:
            return row, count
        nodes, score, n_outside = layer[row], scores[row], 0
        _look_up(nodes, group_of, place, starts, partition_of, values, totals, index)
        for node in range(d):
            if not (nodes >> np.uint64(node)) & ONE:
                outside[n_outside] = node
                n_outside += 1
        for k in range(n_outside):
            node = outside[k]
            rest = np.inf
            for part in range(n_parts):
                at = index[group_of[part, node]]
                rest = min(rest, totals[part] - values[at] + values[at + (1 << place[part, node])])
            need = known - score - rest
            family = _best_inside(node, outside, n_outside, need, shares, begins, words, word_begins)
            if family >= 0:
                value, more = score + shares[family], nodes | (ONE << np.uint64(node))
                at = _slot(new_sets, more)
                if new_sets[at] == 0:
                    new_sets[at], new_scores[at], new_last[at] = more, value, node
                    count += 1
                elif value > new_scores[at]:
                    new_scores[at], new_last[at] = value, node
    return end, count


def best_supersets(
    values: Floats,  # (2^k,)
) -> Floats:
    """Replace each value by the highest over all supersets, in place, and return it."""
    _spread_down(values)
    return values


@numba.njit(cache=True, nogil=True)
def _spread_down(row: Any) -> None:
    size, step = len(row), 1
    while step < size:
        for start in range(0, size, 2 * step):
            for k in range(start, start + step):
                row[k] = max(row[k], row[k + step])
        step *= 2


@numba.njit(cache=True, nogil=True)
def pack(masks: Any, members: Any) -> Any:
    """Return the bits of some members, in their order, as small sets."""
    found = np.zeros(len(masks), dtype=np.uint64)
    for row in range(len(masks)):
        for k in range(len(members)):
            if (masks[row] >> np.uint64(members[k])) & ONE:
                found[row] |= ONE << np.uint64(k)
    return found
