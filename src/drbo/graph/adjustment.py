"""Which columns to adjust for: the optimal set and a minimal one; and the parent sets that a class leaves open."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools
from drbo.deadline import current
from drbo.errors import DataError
from drbo.graph.dag import check_dag, check_pdag, cpdag_to_dag, descendants, is_acyclic, meek_closure

#: Ways to direct the open edges of a node that are tried, at most.
MAX_SUBSETS = 2**14


def member_dags(graph: npt.ArrayLike, node: int) -> Iterator[Bools]:
    """Yield one DAG of an equivalence class for each set of parents that the node can have in it.

    ``graph`` is a DAG, a CPDAG, or an MPDAG: a CPDAG under background knowledge. Each subset of the open neighbours is
    tried as parents, the others as children; it stands if a DAG has these arrows and no new v-structure. For a CPDAG
    this is the local step of IDA (Maathuis, Kalisch & Bühlmann 2009), for an MPDAG that of Fang & He (2020).
    """
    given = check_pdag(graph)
    adjacent = given | given.T
    open_ = np.flatnonzero(given[node] & given[:, node]).tolist()
    if 2 ** len(open_) > MAX_SUBSETS:
        raise DataError(
            f"node {node} has {len(open_)} edges of undetermined direction, which can be directed in too many ways",
            hint="determine some of these directions with background knowledge",
        )
    fixed = np.flatnonzero(given[:, node] & ~given[node]).tolist()
    for size in range(len(open_) + 1):
        for parents in combinations(open_, size):
            every = [*parents, *fixed]
            if any(not adjacent[a, b] for k, a in enumerate(every) for b in every[:k] if a in parents or b in parents):
                continue  # a new v-structure
            tried = given.copy()
            tried[node, list(parents)] = False
            tried[[other for other in open_ if other not in parents], node] = False
            current().check()
            try:
                yield cpdag_to_dag(meek_closure(tried))
            except DataError:
                continue


def with_flips(dags: Iterable[Bools], assumed: Bools | None, node: int) -> Iterator[Bools]:
    """Yield DAGs, and those with some of the assumed arrows at a node reversed, where they have no cycle."""
    seen = set()
    for dag in dags:
        unsure = np.zeros_like(dag) if assumed is None else dag & assumed
        ends = [(i, j) for i, j in np.argwhere(unsure).tolist() if node in (i, j)]
        if 2 ** len(ends) > MAX_SUBSETS:
            raise DataError(
                f"node {node} has {len(ends)} assumed arrows, which can be reversed in too many ways",
                hint="determine some of these directions with background knowledge",
            )
        for size in range(len(ends) + 1):
            for flips in combinations(ends, size):
                current().check()
                tried = dag.copy()
                for i, j in flips:
                    tried[i, j], tried[j, i] = False, True
                if tried.tobytes() not in seen and is_acyclic(tried):
                    seen.add(tried.tobytes())
                    yield tried


def causal_nodes(dag: Bools, source: int, target: int, below: Bools | None = None) -> Bools:
    """Return (d,) True for the nodes on directed paths from the source to the target, without the source.

    ``below`` is the transitive closure, for those who have it.
    """
    below = descendants(dag) if below is None else below
    on_path: Bools = below[source] & below[:, target]
    if below[source, target]:
        on_path[target] = True
    return on_path


def forbidden_nodes(dag: Bools, source: int, target: int, below: Bools | None = None) -> Bools:
    """Return (d,) True for what must not be adjusted for: the source, causal nodes, and all that comes after them."""
    below = descendants(dag) if below is None else below
    causal = causal_nodes(dag, source, target, below)
    found: Bools = causal | below[causal].any(axis=0)
    found[source] = True
    return found


def optimal_set(dag: npt.ArrayLike, source: int, target: int, below: Bools | None = None) -> list[int] | None:
    """Return the adjustment set with the least asymptotic variance (Henckel, Perković & Maathuis 2022).

    It holds the parents of the causal nodes that are not forbidden. None: the source has no effect on the target.

    Examples
    --------
    >>> optimal_set([[0, 1, 1], [0, 0, 1], [0, 0, 0]], source=1, target=2)
    [0]
    """
    graph = check_dag(dag) if below is None else np.asarray(dag)
    below = descendants(graph) if below is None else below
    causal = causal_nodes(graph, source, target, below)
    if not causal.any():
        return None
    parents = graph[:, causal].any(axis=1)
    return np.flatnonzero(parents & ~forbidden_nodes(graph, source, target, below)).tolist()


def d_separated(dag: Bools, x: int, y: int, given: list[int]) -> bool:
    """Tell whether x and y are d-separated: apart in the moral graph of their ancestors (Lauritzen et al. 1990)."""
    above = _reached([x, y, *given], lambda some: np.asarray(dag[:, some].any(axis=1)), len(dag))
    part = dag & above[:, None] & above[None, :]

    def neighbours(some: Bools) -> Bools:  # in the moral graph, where parents of a node are linked
        below: Bools = np.asarray(part[some].any(axis=0))
        found: Bools = below | part[:, some | below].any(axis=1)
        found[given] = False
        return found

    return not bool(_reached([x], neighbours, len(dag))[y])


def _reached(first: Sequence[int], further: Callable[[Bools], Bools], n_nodes: int) -> Bools:
    """Return (d,) True for nodes that are reached from the first ones, and those themselves."""
    found, last = np.zeros(n_nodes, dtype=bool), np.zeros(n_nodes, dtype=bool)
    last[list(first)] = True
    while last.any():
        found |= last
        last = further(last) & ~found
    return found


def minimal_set(dag: npt.ArrayLike, source: int, target: int, below: Bools | None = None) -> list[int] | None:
    """Return a valid adjustment set of which no node can be left out: the optimal one, thinned in the order of nodes.

    Examples
    --------
    >>> minimal_set([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]], source=1, target=2)
    [0]
    """
    graph = check_dag(dag) if below is None else np.asarray(dag)
    below = descendants(graph) if below is None else below
    chosen = optimal_set(graph, source, target, below)
    if chosen is None:
        return None
    cut = _without_effect(graph, source, target, below)
    for node in list(chosen):
        fewer = [other for other in chosen if other != node]
        if d_separated(cut, source, target, fewer):  # and none of them is forbidden: they are of the optimal set
            chosen = fewer
    return chosen


def _without_effect(dag: Bools, source: int, target: int, below: Bools) -> Bools:
    """Return the graph without the first arrows of causal paths."""
    cut = dag.copy()
    cut[source, causal_nodes(dag, source, target, below)] = False
    return cut
