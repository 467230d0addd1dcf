"""The best DAG made of listed parent sets, or a bound on it, for more nodes than tables of all sets can hold.

Nodes that can only have parents in earlier components are solved apart (Fan, Malone & Yuan 2014). In each the sets of
nodes that come first are searched, one node more at a time, under a bound on what is still to come: cycles are allowed
between groups of nodes and forbidden inside each (Yuan & Malone 2013). Parent sets that this bound rules out go before.
"""

from dataclasses import dataclass

import numpy as np

from drbo import _core
from drbo.arrays import Floats, Indices
from drbo.deadline import OutOfTimeError
from drbo.search import subset_kernels
from drbo.search.exact import order_graph
from drbo.search.exact.components import Piece, divided
from drbo.search.exact.order_graph import Bounds, Layer, ParentIndex, SetTable
from drbo.search.exact.useful_parents import Effort

#: Partitions of the nodes whose bounds a search uses; the least one counts.
PARTITIONS = 3
#: Partitions in a row that rule out next to no parent sets before the search begins.
PATIENCE = 8
#: The share of them that counts as progress.
PROGRESS = 0.02
#: Links inside a group count this much for the next partition.
COVERED = 0.5
#: Sets that are followed at a time before the limits are looked at; the deadline ends a step early.
STEP = 20_000
#: Goals of a search, as shares of the way from what is known to the first bound.
GOALS = (0.5, 0.25, 0.1, 0.0)


@dataclass(frozen=True, eq=False)
class Solved:
    """A bound on the sum of shares of any DAG, and an order whose best DAG is the best one found."""

    upper: float
    order: Indices
    exact: bool = True  # that DAG reaches the bound


def solve(piece: Piece, order: Indices, known: Floats, effort: Effort, slack: float) -> Solved:
    """Return a bound on the sum of shares of all DAGs made of the parent sets, and the best order found.

    Parameters
    ----------
    order, known : an order of the nodes and the share (d,) of each in a DAG that has it.
    slack : a bound this far above ``known`` counts as reached: what rounding may do.
    """
    upper, orders, exact = 0.0, [], True
    rank = np.empty(piece.size, dtype=np.intp)
    rank[order] = np.arange(piece.size)
    for members in piece.components():
        part, old = piece.part(members), np.argsort(rank[members])
        solved = _component(part, old, known[members], effort, slack)
        upper, exact = upper + solved.upper, exact and solved.exact
        orders.append(members[solved.order])
    return Solved(upper, np.concatenate(orders), exact)


def _component(piece: Piece, order: Indices, known: Floats, effort: Effort, slack: float) -> Solved:
    """Rule out parent sets under one partition of the nodes after the other; search what is left."""
    if piece.size <= effort.alone:
        return _by_table(piece)
    floor, upper, idle = float(known.sum()), np.inf, 0
    tried: dict[bytes, Groups] = {}
    weight = np.ones((piece.size, piece.size))
    while idle < PATIENCE:
        groups = Groups.of(piece, divided(weight * piece.links(), effort.group))
        better = groups.root < upper - PROGRESS * (upper - floor)
        upper = min(upper, groups.root)
        if upper <= floor + slack or effort.over:
            return Solved(max(upper, floor), order, upper <= floor + slack)
        fewer = piece.kept([part >= floor - slack for part in groups.ceilings(piece)])
        if len(list(fewer.components())) > 1:
            return solve(fewer, order, known, effort, slack)
        idle = 0 if better or fewer.count < (1 - PROGRESS) * piece.count else idle + 1
        piece, tried[groups.key] = fewer, groups
        for members in groups.members:
            weight[np.ix_(members, members)] *= COVERED
    best = sorted(tried.values(), key=lambda groups: groups.root)[:PARTITIONS]
    return _search(piece, [Groups.of(piece, groups.members) for groups in best], order, floor, effort, slack)


def _table(piece: Piece, members: Indices) -> Floats:
    """Return the shares (k, 2^(k-1)) of the members of a group, by their parents in it; all others come for nothing."""
    table = np.full((len(members), 1 << (len(members) - 1)), -np.inf)
    for k, member in enumerate(members):
        small = order_graph.pack(piece.masks[member], np.delete(members, k)).astype(np.int64)
        np.maximum.at(table[k], small, piece.shares[member])
    return table


def _by_table(piece: Piece) -> Solved:
    """Solve a small piece by dynamic programming over all sets of its nodes."""
    best = subset_kernels.best_inside(_table(piece, np.arange(piece.size)))
    value = subset_kernels.forward(best)
    order, nodes = [], (1 << piece.size) - 1
    while nodes:
        for node in range(piece.size):
            rest = nodes & ~(1 << node)
            column = (rest & ((1 << node) - 1)) | (rest >> (node + 1) << node)
            if rest != nodes and value[nodes] == value[rest] + best[node, column]:
                break
        order.append(node)
        nodes = rest
    return Solved(float(value[-1]), np.array(order[::-1], dtype=np.intp))


@dataclass(frozen=True, eq=False)
class Groups:
    """A partition of the nodes, and for each group tables over its sets: the best before and after each."""

    members: list[Indices]
    before: list[Floats]
    after: list[Floats]

    @classmethod
    def of(cls, piece: Piece, members: list[Indices]) -> "Groups":
        """Solve each group alone: cycles through other groups are allowed."""
        best = [subset_kernels.best_inside(_table(piece, group)) for group in members]
        return cls(
            members, [subset_kernels.forward(part) for part in best], [subset_kernels.backward(part) for part in best]
        )

    @property
    def key(self) -> bytes:
        """Equal for equal partitions."""
        return b"".join(sorted(group.tobytes() + b"|" for group in self.members))

    @property
    def root(self) -> float:
        """A bound on all DAGs."""
        return float(sum(part[0] for part in self.after))

    def ceilings(self, piece: Piece) -> list[Floats]:
        """Return a bound on the DAGs that have a parent set, for all of these."""
        found: list[Floats] = [np.empty(0)] * piece.size
        for members, before, after in zip(self.members, self.before, self.after, strict=True):

            def supersets(k: int, before: Floats = before, after: Floats = after) -> Floats:
                joined = (before.reshape(-1, 2, 1 << k)[:, 0] + after.reshape(-1, 2, 1 << k)[:, 1]).ravel()
                _core.best_supersets(joined)  # in place
                return joined

            for member, row in zip(members, subset_kernels.on_threads(supersets, len(members)), strict=True):
                at = order_graph.pack(piece.masks[member], members[members != member]).astype(np.int64)
                found[member] = piece.shares[member] + row[at] + (self.root - after[0])
        return found


def _joined(partitions: list[Groups], size: int) -> Bounds:
    """Return what nodes outside a set can add at most, by all partitions."""
    group_of, place = (np.empty((len(partitions), size), dtype=np.int64) for _ in range(2))
    tables: list[Floats] = []
    partition_of = []
    for number, groups in enumerate(partitions):
        for members, after in zip(groups.members, groups.after, strict=True):
            group_of[number, members], place[number, members] = len(tables), np.arange(len(members))
            tables.append(after)
            partition_of.append(number)
    starts = np.concatenate([[0], np.cumsum([len(part) for part in tables])[:-1]]).astype(np.int64)
    return Bounds(group_of, place, starts, np.array(partition_of), np.concatenate(tables))


def _search(
    piece: Piece, partitions: list[Groups], order: Indices, known: float, effort: Effort, slack: float
) -> Solved:
    """Search under goals that fall from the first bound to what is known: each that is reached is a better bound."""
    parents = ParentIndex(piece.masks, piece.shares)
    bounds, root = _joined(partitions, piece.size), min(groups.root for groups in partitions)
    upper = root
    for share in GOALS:
        goal = known + slack + share * (root - known)
        if goal >= upper:
            continue
        try:
            layers = _layers(parents, bounds, goal, effort)
        except OutOfTimeError:
            layers = None
        if layers is None:
            break
        if len(layers) > piece.size:  # a DAG above the goal
            return Solved(float(layers[-1].scores[0]), _order(layers))
        upper = goal
    reached = upper <= known + slack
    return Solved(known if reached else upper, order, reached)


def _layers(parents: ParentIndex, bounds: Bounds, goal: float, effort: Effort) -> list[Layer] | None:
    """Return the sets that can lead above a goal, by their size, until there are none; None: too many."""
    layers = [Layer(np.zeros(1, dtype=np.uint64), np.zeros(1), np.zeros(1, dtype=np.int8))]
    while len(layers) <= parents.n_nodes:
        layer, table, done = layers[-1], SetTable(), 0
        while done < len(layer.sets):
            if effort.over or sum(len(part.sets) for part in layers) + 3 * table.count > effort.max_states:
                return None
            before = done
            done = order_graph.expand(layer, done, STEP, parents, bounds, goal, table)
            effort.n_states += done - before
        if table.count == 0:
            return layers
        layers.append(Layer.of(table))
    return layers


def _order(layers: list[Layer]) -> Indices:
    """Return the order behind the one set of the last layer."""
    nodes, found = layers[-1].sets[0], []
    for layer in reversed(layers[1:]):
        node = int(layer.last[np.searchsorted(layer.sets, nodes)])
        found.append(node)
        nodes &= ~(np.uint64(1) << np.uint64(node))
    return np.array(found[::-1], dtype=np.intp)
