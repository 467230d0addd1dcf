"""Graphs as matrices: the adjacency convention, acyclicity, orders, Markov equivalence classes.

``adjacency[i, j] == 1`` means the edge i -> j, everywhere in this package.

A partially directed graph (PDAG; CPDAG when it stands for a Markov equivalence class) uses the same matrix: the
directed edge i -> j has ``pdag[i, j] == 1`` and ``pdag[j, i] == 0``, the undirected edge i - j has 1 in both places.
Every function returns new boolean arrays and leaves its arguments alone.

The module is long because all operations on graphs as matrices are here; each function is short.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from drbo import _core
from drbo.arrays import Bools, Indices
from drbo.deadline import no_deadline
from drbo.errors import DataError


def check_dag(adjacency: npt.ArrayLike, names: Sequence[str] | None = None) -> Bools:
    """Return the matrix as a boolean (d, d) copy, or raise DataError if it is not the matrix of a DAG.

    ``names`` are used in the messages; nodes without names are called by their index.
    """
    edges = check_pdag(adjacency, names)
    cycle = find_cycle(edges)
    if cycle is not None:
        raise _cycle_error(cycle, names)
    return edges


def check_pdag(adjacency: npt.ArrayLike, names: Sequence[str] | None = None) -> Bools:
    """Return the matrix as a boolean (d, d) copy, or raise DataError: it must be square, of 0 and 1, no self loops.

    Examples
    --------
    >>> check_pdag([[0, 1], [1, 0]]).astype(int).tolist()
    [[0, 1], [1, 0]]
    """
    matrix = np.asarray(adjacency)
    _check_square(matrix)
    if names is not None and len(names) != len(matrix):
        raise DataError(f"the graph has {len(matrix)} nodes, but {len(names)} names were given")
    strange = np.zeros((0, 2)) if matrix.dtype == bool else np.argwhere(~np.isin(matrix, (0, 1)))
    if len(strange):
        i, j = strange[0]
        raise DataError(
            f"an adjacency matrix must contain only 0 and 1, got {matrix[i, j]} at {_arrow([i, j], names)}",
            hint="convert weights first: adjacency = weights != 0",
        )
    edges = matrix.astype(bool, order="C")  # a copy, also of a boolean matrix
    loops = np.flatnonzero(edges.diagonal())
    if len(loops):
        raise DataError(
            f"the graph has a self-loop: {_arrow([loops[0], loops[0]], names)}", hint="set the diagonal to 0"
        )
    return edges


def _check_square(matrix: npt.NDArray[np.generic]) -> None:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"an adjacency matrix must be square, got shape {matrix.shape}")


def _arrow(nodes: Sequence[int], names: Sequence[str] | None) -> str:
    return " -> ".join(str(node) if names is None else names[node] for node in nodes)


def _cycle_error(cycle: list[int], names: Sequence[str] | None = None) -> DataError:
    return DataError(
        f"the graph has a cycle: {_arrow([*cycle, cycle[0]], names)}", hint="remove or reverse one of these edges"
    )


def is_acyclic(adjacency: npt.ArrayLike) -> bool:
    """Return whether the directed graph has no cycle; any nonzero entry is an edge, so weights are fine."""
    return bool((_peel(_nonzero(adjacency)) >= 0).all())


def find_cycle(adjacency: npt.ArrayLike) -> list[int] | None:
    """Return the nodes of one cycle in the direction of its edges, or None; any nonzero entry is an edge."""
    edges = _nonzero(adjacency)
    stuck = _peel(edges) < 0
    if not stuck.any():
        return None
    node, path = int(np.argmax(stuck)), list[int]()
    while node not in path:  # every stuck node has a stuck parent: going up must come back
        path.append(node)
        node = int(np.argmax(edges[:, node] & stuck))
    cycle = path[path.index(node) :][::-1]
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]


def longest_path_layers(dag: npt.ArrayLike) -> Indices:
    """Return for each node the number of edges on the longest directed path that ends in it."""
    edges = _nonzero(dag)
    cycle = find_cycle(edges)
    if cycle is not None:
        raise _cycle_error(cycle)
    return _peel(edges)


def topological_order(dag: npt.ArrayLike) -> Indices:
    """Return the nodes so that every edge points to a later one; DataError names a cycle if there is one.

    Nodes come by layer (:func:`longest_path_layers`), then by index.
    """
    return np.argsort(longest_path_layers(dag), kind="stable")


def _nonzero(adjacency: npt.ArrayLike) -> Bools:
    matrix = np.asarray(adjacency)
    _check_square(matrix)
    return np.asarray(matrix != 0, dtype=np.bool_)


def _peel(edges: Bools) -> Indices:
    """Return the layer of each node, -1 for nodes on a cycle or below one."""
    causes, effects = np.nonzero(edges)
    d, waiting = len(edges), np.bincount(effects, minlength=len(edges))
    first = np.searchsorted(causes, np.arange(d + 1))
    layers = np.full(d, -1, dtype=np.intp)
    depth = 0
    while (sources := np.flatnonzero(waiting == 0)).size:
        layers[sources] = depth
        counts = first[sources + 1] - first[sources]
        places = np.arange(counts.sum()) + np.repeat(first[sources] - (np.cumsum(counts) - counts), counts)
        waiting -= np.bincount(effects[places], minlength=d)
        waiting[sources] = -1
        depth += 1
    return layers


def descendants(dag: npt.ArrayLike) -> Bools:
    """Return the transitive closure: entry [i, j] says whether a directed path leads from i to j (i != j)."""
    closure = _nonzero(dag)
    if not closure.any():
        return closure
    for node in topological_order(closure)[::-1]:
        closure[node] |= closure[closure[node]].any(axis=0)
    return closure


def skeleton(adjacency: npt.ArrayLike) -> Bools:
    """Return the symmetric matrix of adjacent pairs.

    Examples
    --------
    >>> skeleton([[0, 1], [0, 0]]).astype(int).tolist()
    [[0, 1], [1, 0]]
    """
    edges = _nonzero(adjacency)
    return edges | edges.T


def connected_parts(linked: npt.ArrayLike) -> list[Indices]:
    """Return the nodes of each part that is connected if directions are ignored, in order of their first nodes."""
    edges = _nonzero(linked)
    above = list(range(len(edges)))  # a node of the same part with a lower number, or the node itself

    def first(node: int) -> int:
        while above[node] != node:
            above[node] = node = above[above[node]]
        return node

    for i, j in zip(*(ends.tolist() for ends in np.nonzero(edges)), strict=True):
        low, high = sorted((first(i), first(j)))
        above[high] = low
    firsts = np.array([first(node) for node in above], dtype=np.intp)
    order = np.argsort(firsts, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(firsts[order])) + 1) if len(order) else []


def v_structures(pdag: npt.ArrayLike) -> list[tuple[int, int, int]]:
    """Return all (a, c, b) with a -> c <- b, a < b, a and b not adjacent; sorted."""
    graph = check_pdag(pdag)
    cause, effect = np.nonzero(graph)
    directed = ~graph[effect, cause]
    order = np.lexsort((cause[directed], effect[directed]))
    cause, effect, found = cause[directed][order], effect[directed][order], []
    cuts = np.flatnonzero(np.diff(effect)) + 1
    for parents, (child, *_) in zip(np.split(cause, cuts), np.split(effect, cuts), strict=True) if len(cause) else ():
        linked = graph[np.ix_(parents, parents)]
        first, second = np.nonzero(np.triu(~(linked | linked.T), 1))
        found += [(a, int(child), b) for a, b in zip(parents[first].tolist(), parents[second].tolist(), strict=True)]
    return sorted(found)


def markov_equivalent(
    a: npt.ArrayLike,  # (d, d) DAG
    b: npt.ArrayLike,  # (d, d) DAG
) -> bool:
    """Return whether two DAGs have the same skeleton and v-structures (Verma & Pearl 1990)."""
    first, second = check_dag(a), check_dag(b)
    return first.shape == second.shape and np.array_equal(pattern(first), pattern(second))


def pattern(dag: Bools) -> Bools:
    """Return the skeleton with only the edges of v-structures directed: the same for Markov-equivalent DAGs alone."""
    adjacent = skeleton(dag)
    found = adjacent.copy()
    for child, column in enumerate(dag.T.copy()):
        parents = np.flatnonzero(column)
        # The diagonal of the block is a parent with itself, never adjacent: more than that one is needed.
        apart = (~adjacent[np.ix_(parents, parents)]).sum(axis=1) > 1
        found[child, parents[apart]] = False
    return found


def dag_to_cpdag(dag: npt.ArrayLike) -> Bools:
    """Return the CPDAG of a DAG: an edge is directed where all Markov-equivalent DAGs agree on it.

    Orients the v-structures, then closes under Meek's rules (Meek 1995).
    """
    with no_deadline():  # a result is shown after the deadline, too
        return _core.dag_to_cpdag(check_dag(dag))


def meek_closure(pdag: npt.ArrayLike) -> Bools:
    """Direct every undirected edge whose direction follows from the directed ones.

    All four rules of Meek (1995), so that the closure is complete also when edges were directed by background
    knowledge (giving an MPDAG). The v-structures of ``pdag`` are taken as all there are. A graph that contradicts
    itself is not reported here: :func:`cpdag_to_dag` then finds no DAG.
    """
    with no_deadline():
        return _core.meek_closure(check_pdag(pdag))


def cpdag_to_dag(pdag: npt.ArrayLike) -> Bools:
    """Return a DAG with the skeleton, the directed edges and the v-structures of the PDAG (Dor & Tarsi 1992).

    Raises DataError when there is none.
    """
    with no_deadline():
        dag, left = _core.extension(check_pdag(pdag))
    if len(left):
        raise DataError(
            "no DAG has the directed edges and v-structures of this graph: nodes "
            f"{', '.join(map(str, left[:10].tolist()))} cannot be ordered",
            hint="the directed edges contradict each other; check the background knowledge that directed them",
        )
    return dag
