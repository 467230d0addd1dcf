"""Places for the nodes of a DAG, causes above effects, without graphviz.

The method of Sugiyama, Tagawa & Toda (1981): layers, fewer crossings by barycentres, positions inside each layer,
bends where an edge passes a layer. Distances are in units of one layer.

The module is long because a layered drawing takes several passes, from layers to crossings to positions.
"""

from bisect import bisect_right, insort
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats, Indices
from drbo.deadline import current
from drbo.errors import ResultError
from drbo.graph.dag import connected_parts, longest_path_layers

NODE_GAP = 0.3  # between the borders of two neighbours in a layer
BEND_GAP = 0.24  # between a passing edge and a node; half of it between two passing edges
BLOCK_GAP = 0.8  # between parts of the graph that are not connected
ASPECT = 1.6  # width over height that a picture of many parts aims at
MIN_LAYER_NODES = 8  # a layer of up to this many nodes of mean width is never split, nor one of 2 sqrt(d)
SLOPE = 0.22  # a layer grows by this share of its widest edge: flat edges are hard to follow
MAX_LAYER_GAP = 2.0
SWEEPS = 24
STRAIGHTEN = 8.0  # pull between two bends of one edge, against 1 between two nodes
REST_PULL = 0.01  # of a place without neighbours on its own place: gives way to all others
#: With more nodes and bends than this, edges are straight.
MANY_PLACES = 3000


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the nodes are and how the edges run.

    Examples
    --------
    >>> layout = layered_routes(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]))
    >>> layout.edges.tolist()
    [[0, 1], [0, 2], [1, 2]]
    >>> [len(route) for route in layout.routes]
    [2, 3, 2]
    """

    positions: Floats  # (d, 2) centres of the nodes; y falls along every edge
    edges: Indices  # (m, 2) source and target, in the order of np.argwhere(dag)
    routes: tuple[Floats, ...]  # per edge (k, 2): source, bends, target


def layered_routes(
    dag: npt.ArrayLike, widths: npt.ArrayLike | None = None, tiers: npt.ArrayLike | None = None
) -> Layout:
    """Return the places and the routes of the edges; parts that are not connected stand side by side.

    Parameters
    ----------
    dag : (d, d) adjacency of an acyclic graph.
    widths : (d,) widths of the nodes in units of one layer; 1 where not given.
    tiers : (d,) the tier of each node: all nodes of a tier then lie above those of the next one. No edge may lead to an
        earlier tier.
    """
    graph = np.asarray(dag) != 0
    layers = _layers(graph)
    sizes = np.ones(len(graph)) if widths is None else np.asarray(widths, dtype=np.float64)
    if sizes.shape != (len(graph),):
        raise ResultError(f"widths must have one value per node ({len(graph)}), got shape {sizes.shape}")
    if tiers is None:
        parts = [(m, _capped(graph[np.ix_(m, m)], layers[m], sizes[m])) for m in _components(graph)]
    else:
        parts = [(np.arange(len(graph)), _tiered(graph, np.asarray(tiers), sizes))]
    blocks = [_Block(members, graph, level, sizes) for members, level in parts]
    _pack(blocks)
    positions = np.zeros((len(graph), 2))
    bends: dict[tuple[int, int], Floats] = {}
    for block in blocks:
        positions[block.members] = block.points[: len(block.members)]
        for (source, target), chain in block.bends.items():
            bends[int(block.members[source]), int(block.members[target])] = block.points[chain]
    edges = np.argwhere(graph)
    routes = tuple(np.vstack([positions[s], bends[s, t], positions[t]]) for s, t in edges.tolist())
    return Layout(positions, edges, routes)


def _layers(dag: Bools) -> Indices:
    """Return the longest path to each node, then let nodes sink towards their children where that shortens edges."""
    layer = longest_path_layers(dag).copy()
    for node in np.argsort(-layer, kind="stable"):
        children = np.flatnonzero(dag[node])
        if len(children) > dag[:, node].sum():
            layer[node] = layer[children].min() - 1
    return layer


def _components(dag: Bools) -> list[Indices]:
    """Return the connected parts, largest first; single nodes last."""
    return sorted(connected_parts(dag), key=lambda group: (-len(group), int(group[0])))


def _capped(dag: Bools, layer: Indices, widths: Floats) -> list[int]:
    """Return layers of bounded width: nodes that find theirs full move down, those with few layers below first."""
    count = max(MIN_LAYER_NODES, int(2 * np.sqrt(len(dag))))
    limit = count * (float(widths.mean()) + NODE_GAP)
    below = np.zeros(len(dag), dtype=np.intp)
    for node in np.argsort(-layer, kind="stable"):
        below[node] = (below[dag[node]] + 1).max(initial=0)
    capped = np.zeros(len(dag), dtype=np.intp)
    used: dict[int, float] = {}
    for node in np.lexsort((-below, layer)):
        width = float(widths[node]) + NODE_GAP
        level = max(int(layer[node] - layer.min()), int((capped[dag[:, node]] + 1).max(initial=0)))
        while used.get(level, 0.0) and used[level] + width > limit:
            level += 1
        capped[node] = level
        used[level] = used.get(level, 0.0) + width
    _, dense = np.unique(capped, return_inverse=True)
    return [int(level) for level in dense]


def _tiered(dag: Bools, tiers: Indices, widths: Floats) -> list[int]:
    """Return layers so that each tier begins under the last layer of the one before."""
    if tiers.shape != (len(dag),) or (tiers[:, None] > tiers[None, :])[dag].any():
        raise ResultError("tiers must have one number per node, and no edge may point to an earlier tier")
    level, floor = np.zeros(len(dag), dtype=np.intp), 0
    for tier in np.unique(tiers):
        members = np.flatnonzero(tiers == tier)
        part = dag[np.ix_(members, members)]
        level[members] = np.array(_capped(part, _layers(part), widths[members])) + floor
        floor = int(level[members].max()) + 1
    return [int(value) for value in level]


class _Block:
    """A connected part: its nodes, then the bends of its long edges, as places 0, 1, ... in rows."""

    def __init__(self, members: Indices, graph: Bools, level: list[int], sizes: Floats) -> None:
        dag = graph[np.ix_(members, members)]
        self.members = members
        self.widths: list[float] = sizes[members].tolist()
        self.level = level
        self.up: list[list[int]] = [[] for _ in members]
        self.down: list[list[int]] = [[] for _ in members]
        self.bends: dict[tuple[int, int], list[int]] = {}
        edges = np.argwhere(dag).tolist()
        passed = sum(self.level[target] - self.level[source] - 1 for source, target in edges)
        for source, target in edges:
            self._connect(source, target, bent=len(dag) + passed <= MANY_PLACES)
        self.rows = self._ordered()
        self.points = np.column_stack([self._across(), np.zeros(len(self.level))])
        self._set_heights()

    def _connect(self, source: int, target: int, *, bent: bool) -> None:
        """Add an edge as a chain of places, one in every layer that it passes."""
        passed = range(self.level[source] + 1, self.level[target]) if bent else range(0)
        chain = list(range(len(self.level), len(self.level) + len(passed)))
        self.level += passed
        self.widths += [0.0] * len(chain)
        self.up += [[] for _ in chain]
        self.down += [[] for _ in chain]
        for upper, lower in pairwise([source, *chain, target]):
            self.down[upper].append(lower)
            self.up[lower].append(upper)
        self.bends[source, target] = chain

    def _ordered(self) -> list[list[int]]:
        """Return the places of each layer from left to right, with few crossings."""
        rows = self._first_rows()
        rank = [0.0] * len(self.level)
        for row in rows:
            _set_ranks(row, rank)
        best, fewest = [list(row) for row in rows], self._crossings(rows, rank)
        for sweep in range(SWEEPS):
            if fewest == 0:
                break
            self._sort_by_neighbours(rows, rank, downward=sweep % 2 == 0)
            self._swap_neighbours(rows, rank)
            count = self._crossings(rows, rank)
            if count < fewest:
                best, fewest = [list(row) for row in rows], count
        return best

    def _first_rows(self) -> list[list[int]]:
        """Visit depth first, so that a cause starts out above its effects."""
        rows: list[list[int]] = [[] for _ in range(max(self.level) + 1)]
        seen = [False] * len(self.level)
        for root in sorted(range(len(self.level)), key=self.level.__getitem__):
            stack = [root]
            while stack:
                place = stack.pop()
                if not seen[place]:
                    seen[place] = True
                    rows[self.level[place]].append(place)
                    stack += reversed(self.down[place])
        return rows

    def _sort_by_neighbours(self, rows: list[list[int]], rank: list[float], *, downward: bool) -> None:
        """Sort each layer by the mean rank of its neighbours on the side that was sorted before."""
        near, deadline = self.up if downward else self.down, current()
        for row in rows if downward else reversed(rows):
            deadline.check()
            mean = {p: sum(rank[other] for other in near[p]) / len(near[p]) if near[p] else rank[p] for p in row}
            row.sort(key=mean.__getitem__)
            _set_ranks(row, rank)

    def _swap_neighbours(self, rows: list[list[int]], rank: list[float]) -> None:
        """Swap two neighbours in a layer wherever that removes crossings."""
        deadline = current()
        for row in rows:
            deadline.check()
            for k in range(len(row) - 1):
                left, right = row[k], row[k + 1]
                if self._between(left, right, rank) > self._between(right, left, rank):
                    row[k], row[k + 1] = right, left
                    rank[left], rank[right] = rank[right], rank[left]

    def _between(self, left: int, right: int, rank: list[float]) -> int:
        """Count the crossings between the edges of two places, the first standing left of the second."""
        return sum(rank[a] > rank[b] for near in (self.up, self.down) for a in near[left] for b in near[right])

    def _crossings(self, rows: list[list[int]], rank: list[float]) -> int:
        """Count crossings under each layer: inversions of the lower ends in the order of the upper ends."""
        total = 0
        for row in rows:
            seen: list[float] = []
            for _, lower in sorted((rank[a], rank[b]) for a in row for b in self.down[a]):
                total += len(seen) - bisect_right(seen, lower)
                insort(seen, lower)
        return total

    def _across(self) -> Floats:
        """Return x: every place goes to the mean of its neighbours as far as order and widths allow."""
        x, deadline = np.zeros(len(self.level)), current()
        offsets = [_offsets([self.widths[place] for place in row]) for row in self.rows]
        for row, offset in zip(self.rows, offsets, strict=True):
            x[row] = offset - offset[-1] / 2
        for sweep in range(SWEEPS):
            downward, last = sweep % 2 == 0, sweep >= SWEEPS // 2
            for k in range(len(self.rows)) if downward else reversed(range(len(self.rows))):
                deadline.check()
                row = self.rows[k]
                wishes = np.array([self._wish(place, x, downward or last, not downward or last) for place in row])
                x[row] = _spread(wishes[:, 0], wishes[:, 1], offsets[k])
        return x

    def _wish(self, place: int, x: Floats, use_up: bool, use_down: bool) -> tuple[float, float]:
        """Return where the neighbours of a place want it, and how strongly."""
        near = (self.up[place] if use_up else []) + (self.down[place] if use_down else [])
        if not near:
            return float(x[place]), REST_PULL
        first_bend = len(self.members)
        pulls = [STRAIGHTEN if place >= first_bend and other >= first_bend else 1.0 for other in near]
        return float(np.dot(pulls, x[near]) / sum(pulls)), sum(pulls)

    def _set_heights(self) -> None:
        """Set y: layers lie further apart where edges between them run far to the side."""
        y = 0.0
        for k, row in enumerate(self.rows):
            if k > 0:
                reach = max((abs(self.points[p, 0] - self.points[q, 0]) for p in row for q in self.up[p]), default=0.0)
                y -= min(MAX_LAYER_GAP, max(1.0, SLOPE * reach))
            self.points[row, 1] = y

    def outline(self) -> Floats:
        """Return the lower left and the upper right corner of the box around all nodes and bends."""
        half = np.column_stack([np.array(self.widths) / 2, np.zeros(len(self.widths))])
        return np.array([(self.points - half).min(axis=0), (self.points + half).max(axis=0)])


def _set_ranks(row: list[int], rank: list[float]) -> None:
    for k, place in enumerate(row):
        rank[place] = (k + 0.5) / len(row)


def _offsets(widths: list[float]) -> Floats:
    """Return the smallest distances of the places of a layer from its first one; bends have no width."""
    gaps = (BEND_GAP / 2, BEND_GAP, NODE_GAP)  # by the number of nodes among two neighbours
    steps = [(left + right) / 2 + gaps[(left > 0) + (right > 0)] for left, right in pairwise(widths)]
    return np.concatenate([[0.0], np.cumsum(steps)])


def _spread(goals: Floats, pulls: Floats, offsets: Floats) -> Floats:
    """Return the places closest to the goals (weighted squares) that keep the offsets: pooled adjacent violators."""
    pools: list[tuple[float, float, int]] = []  # mean, weight, size
    for goal, pull in zip(goals - offsets, pulls, strict=True):
        mean, weight, size = float(goal), float(pull), 1
        while pools and pools[-1][0] > mean:
            before, heavy, many = pools.pop()
            mean, weight, size = (mean * weight + before * heavy) / (weight + heavy), weight + heavy, size + many
        pools.append((mean, weight, size))
    return np.repeat([pool[0] for pool in pools], [pool[2] for pool in pools]) + offsets


def _pack(blocks: list[_Block]) -> None:
    """Move the blocks side by side into shelves, the next shelf under the one before, single nodes under the first."""
    sizes = [np.ptp(block.outline(), axis=0) for block in blocks]
    area = sum((width + BLOCK_GAP) * (height + 1) for width, height in sizes)
    limit = max([(area * ASPECT) ** 0.5, *(width for width, _ in sizes)], default=0.0)
    x = y = floor = 0.0
    for block, (width, height) in zip(blocks, sizes, strict=True):
        single = len(block.members) == 1
        if x > 0 and (x + width > limit or (single and y == 0 and floor < 0)):
            x, y = 0.0, floor - 1.0
        low, high = block.outline()
        block.points += (x - low[0], y - high[1])
        x += width + (NODE_GAP if single else BLOCK_GAP)
        floor = min(floor, y - height)
