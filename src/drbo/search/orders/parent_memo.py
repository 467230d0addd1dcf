"""Parents chosen step by step from those before a node, with every step remembered.

A node takes the best step, adding or dropping one parent, until none pays. What a step is worth does not depend on the
order of the nodes, only which additions are open does: so each parent set that is met keeps the additions that pay,
best first, and the drop that pays more than the additions left out. A second look at the same set costs no arithmetic
(Andrews et al. 2023 do this with grow-shrink trees); sets that are reached on several ways are one.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from drbo.jit import numba

#: What is known of the set that a step leads to, where it is not the number of a set.
UNKNOWN, DEAD = -1, -2
#: Steps that are not the place of an addition: the drop that pays; FORCED - w drops w whatever it costs.
DROP, FORCED = -1, -2
#: A step must gain more than this.
LEAST_GAIN = 1e-7
#: Gains held at once while sets are expanded.
CHUNK_CELLS = 2**22
#: Sets for which room is made at once.
ROOM = 1024

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
#: Compiled code is made once if every whole number that it is given is 64 bits wide, and no literal.
Whole = int | np.int64

_SET = np.dtype(
    [
        ("value", np.float64),
        ("hash", np.uint64),
        ("first_member", np.int64),
        ("first_addition", np.int64),
        ("node", np.int32),
        ("n_members", np.int32),
        ("n_additions", np.int32),
        ("drop", np.int32),  # the parent whose drop pays, or -1
        ("after_drop", np.int32),
    ]
)
_ADDITION = np.dtype([("node", np.int32), ("after", np.int32)])


class Expansion(NamedTuple):
    """What single steps from some parent sets are worth."""

    values: Floats  # (B,) of the sets themselves
    additions: Floats  # (B, d) gain of each addition; 0 or less where there is none
    drops: Ints  # (B,) the best parent to drop, or -1
    drop_gains: Floats  # (B,)


class Expander(Protocol):
    """An additive score seen step by step; it knows which edges are allowed and how many parents a node may have."""

    @property
    def n_nodes(self) -> int: ...

    @property
    def cost(self) -> int:
        """Local scores computed for one set, beside those that an Evaluator counts."""
        ...

    def expand(self, nodes: Ints, parents: Ints, sizes: Ints) -> Expansion:
        """Return the steps from the parent sets ``parents[b, :sizes[b]]`` of ``nodes[b]``."""
        ...


class Pool(NamedTuple):
    """The parent sets met so far, as flat arrays for compiled code."""

    counts: Ints  # sets, members and additions in use
    sets: npt.NDArray[Any]
    members: npt.NDArray[np.int32]  # of all sets, each sorted
    additions: npt.NDArray[Any]  # of all sets, each best first
    table: npt.NDArray[np.int32]  # open addressing: hash -> set
    codes: npt.NDArray[np.uint64]  # (2 d,) random codes of members and of nodes
    roots: Ints  # (d,) the set that each node starts from: its required parents


class ParentSets:
    """All parent sets met in a search, with the steps between them.

    Parameters
    ----------
    expander : says what steps are worth.
    required : (d, d) edges that every set holds.
    """

    def __init__(self, expander: Expander, required: Flags) -> None:
        self.expander = expander
        d = expander.n_nodes
        codes = np.random.default_rng(0).integers(1, 2**63, size=2 * d).astype(np.uint64)
        self.pool = _pool((2 * d, 2 * d, 2 * d), codes, np.empty(d, dtype=np.int64))
        self.pool.roots[:] = self.adopt(required)

    @property
    def n_local(self) -> int:
        """Local scores computed so far, beside those that an Evaluator counts."""
        return int(self.pool.counts[0]) * self.expander.cost

    @property
    def bytes(self) -> int:
        """Memory held."""
        return sum(array.nbytes for array in self.pool)

    def learn(self, steps: Ints) -> None:
        """Find where steps (set, step) lead, and expand what is new."""
        before = int(self.pool.counts[0])
        longest = int(self.pool.sets["n_members"][steps[:, 0]].max(initial=0)) + 1
        self.reserve(len(steps), len(steps) * longest, 0)
        targets = np.empty(len(steps), dtype=np.int64)
        _link_all(steps, targets, self.pool)
        self._expand(before)
        _connect_all(steps, targets, self.pool)

    def adopt(self, dag: Flags) -> Ints:
        """Return the sets (d,) of the parents in a DAG."""
        before, d = int(self.pool.counts[0]), len(dag)
        self.reserve(d, int(dag.sum()), 0)
        chosen = np.empty(d, dtype=np.int64)
        _add(dag.T.copy(), chosen, self.pool)
        self._expand(before)
        return chosen

    def make_room(self) -> None:
        """Make room for compiled code that learns steps by itself."""
        d = self.expander.n_nodes
        self.reserve(ROOM, d + 4 * ROOM, d + 16 * ROOM)

    def members(self, index: int) -> list[int]:
        """Return the parents in a set."""
        first, count = self.pool.sets[index]["first_member"], self.pool.sets[index]["n_members"]
        return [int(parent) for parent in self.pool.members[first : first + count]]

    def _expand(self, start: int) -> None:
        """Expand the sets from ``start`` on."""
        step = max(1, CHUNK_CELLS // self.expander.n_nodes)
        for first in range(start, int(self.pool.counts[0]), step):
            last = min(first + step, int(self.pool.counts[0]))
            found = self.expander.expand(*_sets(first, last, self.pool))
            self.reserve(0, 0, int((found.additions > 0).sum()))
            _store_all(first, found.values, found.additions, found.drops, found.drop_gains, self.pool)

    def reserve(self, sets: int, members: int, additions: int) -> None:
        """Make room for so many more; arrays at least double, so that growth stays cheap."""
        pool = self.pool
        rooms = (len(pool.sets), len(pool.members), len(pool.additions))
        needs = [int(used) + more for used, more in zip(pool.counts, (sets, members, additions), strict=True)]
        if all(need <= room for need, room in zip(needs, rooms, strict=True)):
            return
        sizes = [2 * need if need > room else room for need, room in zip(needs, rooms, strict=True)]
        self.pool = _pool((sizes[0], sizes[1], sizes[2]), pool.codes, pool.roots)
        for name in ("counts", "sets", "members", "additions"):
            old = getattr(pool, name)
            getattr(self.pool, name)[: len(old)] = old
        _index(self.pool)


def _pool(sizes: tuple[int, int, int], codes: npt.NDArray[np.uint64], roots: Ints) -> Pool:
    return Pool(
        counts=np.zeros(3, dtype=np.int64),
        sets=np.zeros(sizes[0], dtype=_SET),
        members=np.zeros(sizes[1], dtype=np.int32),
        additions=np.zeros(sizes[2], dtype=_ADDITION),
        table=np.full(2 ** int(np.ceil(np.log2(2 * sizes[0]))), -1, dtype=np.int32),
        codes=codes,
        roots=roots,
    )


@numba.njit(cache=True)
def _index(pool: Any) -> None:
    """Fill the hash table."""
    mask = np.uint64(len(pool.table) - 1)
    for index in range(pool.counts[0]):
        slot = pool.sets[index].hash & mask
        while pool.table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        pool.table[slot] = index


@numba.njit(cache=True)
def _find(node: Whole, key: Any, parents: Any, size: Whole, add: bool, pool: Any) -> Any:
    """Return the number of a parent set (sorted); one that is new is added, or UNKNOWN."""
    mask = np.uint64(len(pool.table) - 1)
    slot = key & mask
    while pool.table[slot] >= 0:
        index = np.int64(pool.table[slot])
        known = pool.sets[index]
        if known.hash == key and known.node == node and known.n_members == size:
            k = 0
            while k < size and pool.members[known.first_member + k] == parents[k]:
                k += 1
            if k == size:
                return index
        slot = (slot + np.uint64(1)) & mask
    if not add:
        return UNKNOWN
    index, first = pool.counts[0], pool.counts[1]
    pool.table[slot] = index
    pool.sets[index].node, pool.sets[index].hash = node, key
    pool.sets[index].first_member, pool.sets[index].n_members = first, size
    for k in range(size):
        pool.members[first + k] = parents[k]
    pool.counts[0] += 1
    pool.counts[1] += size
    return index


@numba.njit(cache=True)
def _add(parents: Any, chosen: Any, pool: Any) -> None:
    """Find or add the sets given as rows of flags, one for each node."""
    d = len(parents)
    for node in range(d):
        members, key = np.flatnonzero(parents[node]), pool.codes[d + node]
        for member in members:
            key ^= pool.codes[member]
        chosen[node] = _find(node, key, members, len(members), True, pool)


@numba.njit(cache=True)
def link(index: Whole, step: Whole, parents: Any, add: bool, pool: Any) -> Any:
    """Return the set that a step leads to; one that is new is added, or UNKNOWN. ``parents``: room for its members."""
    source = pool.sets[index]
    changed = pool.additions[step].node if step >= 0 else (source.drop if step == DROP else FORCED - step)
    k, waiting = 0, step >= 0
    for j in range(source.n_members):  # sorted, so that a set has one form
        member = pool.members[source.first_member + j]
        if waiting and member > changed:
            parents[k] = changed
            k, waiting = k + 1, False
        if member != changed:
            parents[k] = member
            k += 1
    if waiting:
        parents[k] = changed
        k += 1
    return _find(np.int64(source.node), source.hash ^ pool.codes[changed], parents, k, add, pool)


@numba.njit(cache=True)
def connect(index: Whole, step: Whole, target: Whole, pool: Any) -> Any:
    """Keep where a step leads; one that does not gain after all, by rounding, is closed: every way upwards ends."""
    if step <= FORCED:
        return target
    if pool.sets[target].value <= pool.sets[index].value:
        target = DEAD
    if step == DROP:
        pool.sets[index].after_drop = target
    else:
        pool.additions[step].after = target
    return target


@numba.njit(cache=True)
def _link_all(steps: Any, targets: Any, pool: Any) -> None:
    parents = np.empty(len(pool.roots), dtype=np.int64)
    for row in range(len(steps)):
        targets[row] = link(steps[row, 0], steps[row, 1], parents, True, pool)


@numba.njit(cache=True)
def _connect_all(steps: Any, targets: Any, pool: Any) -> None:
    for row in range(len(steps)):
        connect(steps[row, 0], steps[row, 1], targets[row], pool)


@numba.njit(cache=True)
def _sets(first: Whole, last: Whole, pool: Any) -> Any:
    """Return nodes, parents (padded with -1) and sizes of the sets from first to last."""
    nodes, sizes, width = np.empty(last - first, np.int64), np.empty(last - first, np.int64), 1
    for index in range(first, last):
        nodes[index - first], sizes[index - first] = pool.sets[index].node, pool.sets[index].n_members
        width = max(width, pool.sets[index].n_members)
    parents = np.full((last - first, width), -1, dtype=np.int64)
    for index in range(first, last):
        for k in range(pool.sets[index].n_members):
            parents[index - first, k] = pool.members[pool.sets[index].first_member + k]
    return nodes, parents, sizes


@numba.njit(cache=True)
def store(index: Whole, value: float, gains: Any, drop: Whole, drop_gain: float, pool: Any) -> None:
    """Keep the additions that pay more than the drop, best first; ties by number."""
    start, least, entry = pool.counts[2], LEAST_GAIN, pool.sets[index]
    entry.value, entry.drop, entry.after_drop = value, -1, DEAD
    if drop >= 0 and drop_gain > LEAST_GAIN:
        entry.drop, entry.after_drop, least = drop, UNKNOWN, drop_gain
    count = 0
    for node in range(len(gains)):
        if gains[node] > least:
            pool.additions[start + count].node = node
            pool.additions[start + count].after = UNKNOWN
            count += 1
    gap = count // 2
    while gap > 0:  # Shell's sort
        for i in range(gap, count):
            node, j = pool.additions[start + i].node, i
            while j >= gap and _comes_later(pool.additions[start + j - gap].node, node, gains):
                pool.additions[start + j].node = pool.additions[start + j - gap].node
                j -= gap
            pool.additions[start + j].node = node
        gap = 1 if gap == 2 else gap * 5 // 11
    entry.first_addition, entry.n_additions = start, count
    pool.counts[2] += count


@numba.njit(cache=True)
def _comes_later(node: Whole, other: Whole, gains: Any) -> bool:
    return bool(gains[node] < gains[other] or (gains[node] == gains[other] and node > other))


@numba.njit(cache=True)
def _store_all(first: Whole, values: Any, gains: Any, drops: Any, drop_gains: Any, pool: Any) -> None:
    for row in range(len(values)):
        store(first + row, values[row], gains[row], drops[row], drop_gains[row], pool)
