"""How far a learned graph is from the true one.

The edge i - j of a learned PDAG (see :mod:`drbo.graph`) is one undirected edge. The structural intervention distance
is that of Peters & Bühlmann (2015), "Structural Intervention Distance for Evaluating Causal Graphs".

The module is long because the structural intervention distance needs its own search over members of a class.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Indices
from drbo.deadline import OutOfTimeError, current
from drbo.errors import DataError, SettingsError
from drbo.graph.dag import (
    check_dag,
    check_pdag,
    connected_parts,
    cpdag_to_dag,
    dag_to_cpdag,
    descendants,
    meek_closure,
    skeleton,
)

Edges = tuple[tuple[int, int], ...]
#: A connected undirected part of a CPDAG and the parents that all its nodes share.
EdgePart = tuple[frozenset[int], frozenset[int]]
#: For each part, its possible sources, each with the parts it leaves.
Sources = dict[EdgePart, list[tuple[int, list[EdgePart]]]]

ROWS_AT_ONCE = 256  # families in one pass of the SID; bounds its memory
MAX_FAMILIES = 10_000  # families that the bounds of the SID look at before they give up


@dataclass(frozen=True)
class Comparison:
    """A learned graph seen against the true DAG; built by :func:`compare`.

    Edges are pairs of node indices:

    - ``correct``: true edges learned with the right direction.
    - ``reversed``: learned edges i -> j where j -> i is true.
    - ``extra``: learned edges between nodes that are not adjacent in the truth; an undirected one is listed once.
    - ``missing``: true edges between nodes that are not adjacent in the learned graph.
    - ``undirected``: true edges learned without a direction; none if the learned graph is a DAG.

    With c, r, e, m, u the lengths of these lists:

    - ``shd`` = m + e + r + u, the pairs of nodes whose edge differs.
    - ``shd_c``: the same between CPDAGs, see :func:`shd_cpdag`.
    - ``tpr`` = ``recall`` = c / n_true; ``precision`` = c / n_learned; ``f1`` = 2 c / (n_learned + n_true).
    - ``fdr`` = (r + e) / n_learned: an undirected edge on a true one is neither a hit nor a false discovery.
    - ``adjacency_precision``, ``adjacency_recall``: (c + r + u) / n_learned and (c + r + u) / n_true.
    - ``arrowhead_precision``, ``arrowhead_recall``: c / learned directed edges and c / n_true.
    - ``sid``: see :func:`sid`; None if the learned graph is not a DAG.
    - ``sid_bounds``: see :func:`sid_bounds`; None where they cannot be had.

    A ratio with nothing to divide by is 1, and such an FDR is 0: nothing was claimed or asked for, so nothing is
    wrong. No ratio is ever above 1.

    Under ``undirected="gcastle"`` an undirected edge counts as in gCastle 1.0.4, for comparison with tables made
    with it: on a true edge it costs nothing in ``shd``, and in ``n_learned``, ``tpr``, ``fdr``, ``precision``,
    ``recall`` and ``f1`` it is the two edges i -> j and j -> i. Of the two on a true edge one is a hit and neither is
    a false discovery. (gCastle takes both as hits in its TPR, which can then reach 2; here it stays at most 1.)
    For a learned DAG the conventions agree.

    Examples
    --------
    >>> result = compare([[0, 1, 1], [0, 0, 0], [0, 0, 0]], [[0, 0, 1], [1, 0, 0], [0, 0, 0]])
    >>> result.shd, result.reversed, result.tpr, result.fdr, result.numbers()["n_reversed"]
    (1, ((0, 1),), 0.5, 0.5, 1)
    """

    n_learned: int
    n_true: int
    correct: Edges
    reversed: Edges
    extra: Edges
    missing: Edges
    undirected: Edges
    shd: int
    shd_c: int
    sid: int | None
    sid_bounds: tuple[int, int] | None
    tpr: float
    fdr: float
    precision: float
    recall: float
    f1: float
    adjacency_precision: float
    adjacency_recall: float
    arrowhead_precision: float
    arrowhead_recall: float

    def numbers(self) -> dict[str, float | None]:
        """Return every figure by its name, the edge lists as their lengths: one row of a table."""
        row: dict[str, float | None] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "sid_bounds":
                row["sid_lower"], row["sid_upper"] = value or (None, None)
            elif isinstance(value, tuple):
                row[f"n_{field.name}"] = len(value)
            else:
                row[field.name] = value
        return row


def compare(
    learned: npt.ArrayLike,  # (d, d) DAG or PDAG
    truth: npt.ArrayLike,  # (d, d) DAG
    undirected: Literal["mismatch", "gcastle"] = "mismatch",
) -> Comparison:
    """Compare a learned graph with the true DAG; every figure is defined at :class:`Comparison`.

    Examples
    --------
    >>> truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> result = compare(dag_to_cpdag(truth), truth)  # a chain: nothing is directed
    >>> result.shd, result.shd_c, result.undirected, result.adjacency_recall, result.sid_bounds
    (2, 0, ((0, 1), (1, 2)), 1.0, (0, 6))
    """
    if undirected not in ("mismatch", "gcastle"):
        raise SettingsError(f"undirected must be 'mismatch' or 'gcastle', got {undirected!r}")
    graph, dag = _check_pair(check_pdag(learned), check_dag(truth))
    edges = _edge_lists(graph, dag)
    n_true, n_entries, n_edges = int(dag.sum()), int(graph.sum()), int(np.triu(skeleton(graph)).sum())
    adjacent = n_true - len(edges["missing"])
    false = len(edges["reversed"]) + len(edges["extra"])
    distance = false + len(edges["missing"]) + len(edges["undirected"])
    n_learned, hits = n_edges, len(edges["correct"])
    if undirected == "gcastle":
        distance -= len(edges["undirected"])
        n_learned, hits = n_entries, hits + len(edges["undirected"])
        false += sum(bool(graph[j, i]) for i, j in edges["extra"])
    bounds = _bounds_or_none(graph, dag)
    return Comparison(
        n_learned=n_learned,
        n_true=n_true,
        **edges,
        shd=distance,
        shd_c=shd_cpdag(graph, dag),
        sid=bounds[0] if bounds and n_entries == n_edges else None,
        sid_bounds=bounds,
        tpr=_ratio(hits, n_true),
        fdr=false / max(n_learned, 1),
        precision=_ratio(hits, n_learned),
        recall=_ratio(hits, n_true),
        f1=_ratio(2 * hits, n_learned + n_true),
        adjacency_precision=_ratio(adjacent, n_edges),
        adjacency_recall=_ratio(adjacent, n_true),
        arrowhead_precision=_ratio(len(edges["correct"]), 2 * n_edges - n_entries),
        arrowhead_recall=_ratio(len(edges["correct"]), n_true),
    )


def _check_pair(first: Bools, second: Bools) -> tuple[Bools, Bools]:
    if first.shape != second.shape:
        raise DataError(
            f"the graphs must have the same nodes, got {len(first)} and {len(second)} nodes",
            hint="use the same variables in the same order for both",
        )
    return first, second


def _edge_lists(graph: Bools, dag: Bools) -> dict[str, Edges]:
    both, directed = graph & graph.T, graph & ~graph.T
    kinds = {
        "correct": directed & dag,
        "reversed": directed & dag.T,
        "extra": (directed | np.triu(both)) & ~skeleton(dag),
        "missing": dag & ~skeleton(graph),
        "undirected": both & dag,
    }
    return {kind: tuple((int(i), int(j)) for i, j in np.argwhere(mask)) for kind, mask in kinds.items()}


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def shd(a: npt.ArrayLike, b: npt.ArrayLike) -> int:
    """Return the structural Hamming distance: the pairs of nodes whose edge differs; a reversed edge counts 1.

    Both may be DAGs or PDAGs; an undirected edge differs from a directed one.

    Examples
    --------
    >>> shd([[0, 1], [0, 0]], [[0, 0], [1, 0]])
    1
    """
    first, second = _check_pair(check_pdag(a), check_pdag(b))
    differs = first != second
    return int(np.triu(differs | differs.T).sum())


def shd_cpdag(a: npt.ArrayLike, b: npt.ArrayLike) -> int:
    """Return the structural Hamming distance between CPDAGs (SHD-C); a pair whose marks differ counts 1.

    A DAG is replaced by its CPDAG; a graph with undirected edges is taken as it stands.

    Examples
    --------
    >>> shd_cpdag([[0, 1], [0, 0]], [[0, 0], [1, 0]])
    0
    """
    return shd(_as_cpdag(check_pdag(a)), _as_cpdag(check_pdag(b)))


def _as_cpdag(graph: Bools) -> Bools:
    return graph if (graph & graph.T).any() else dag_to_cpdag(graph)


def sid(
    learned: npt.ArrayLike,  # (d, d) DAG
    truth: npt.ArrayLike,  # (d, d) DAG
) -> int:
    """Return the structural intervention distance of a learned DAG to the true one.

    It counts the ordered pairs (i, j) for which the effect of setting i on j, computed by adjusting for the parents
    of i in the learned DAG, is wrong for some distribution that is Markov to the truth. It is not symmetric, lies
    between 0 and d (d - 1), and is 0 whenever the learned DAG contains the true one.

    Examples
    --------
    >>> edge, turned, empty = [[0, 1], [0, 0]], [[0, 0], [1, 0]], [[0, 0], [0, 0]]
    >>> sid(edge, edge), sid(turned, edge), sid(empty, edge)
    (0, 2, 1)
    """
    graph, dag = _check_pair(check_dag(learned), check_dag(truth))
    return int(_count_wrong(np.arange(len(graph)), graph.T, dag).sum())


def sid_bounds(
    learned: npt.ArrayLike,  # (d, d) CPDAG or DAG
    truth: npt.ArrayLike,  # (d, d) DAG
) -> tuple[int, int]:
    """Return the lowest and highest SID to the truth among the DAGs that a CPDAG stands for.

    A DAG stands for itself. Exact: each undirected part of a CPDAG has one source, every node of it may be the
    source, and the choice leaves smaller undirected parts that do not depend on each other (He, Jia & Yu 2015).
    Large undirected cliques have too many DAGs; DataError says so.

    Examples
    --------
    >>> sid_bounds([[0, 1], [1, 0]], [[0, 1], [0, 0]])
    (0, 2)
    """
    graph, dag = _check_pair(check_pdag(learned), check_dag(truth))
    if not (graph & graph.T).any():
        value = sid(graph, dag)
        return value, value
    if not np.array_equal(dag_to_cpdag(cpdag_to_dag(graph)), graph):
        raise DataError(
            "bounds on the SID require a DAG or a CPDAG, but this graph is neither",
            hint="use meek_closure and dag_to_cpdag from drbo.graph, or compare a DAG",
        )
    whole = _undirected_parts(graph, frozenset(range(len(graph))), frozenset())
    sources = _explore_sources(graph, whole)
    lowest, highest = _extreme_sums(sources, dag)
    return sum(lowest[part] for part in whole), sum(highest[part] for part in whole)


def _bounds_or_none(graph: Bools, dag: Bools) -> tuple[int, int] | None:
    try:
        return sid_bounds(graph, dag)
    except (DataError, OutOfTimeError):
        return None


def _undirected_parts(graph: Bools, nodes: frozenset[int], above: frozenset[int]) -> list[EdgePart]:
    """Return the undirected parts of a chain graph on ``nodes``, each with its parents there and those ``above``."""
    members = np.array(sorted(nodes))
    parts = []
    for inside in connected_parts(graph & graph.T):
        parents = np.flatnonzero(graph[:, inside[0]] & ~graph[inside[0]])  # the same for every node of the part
        parts.append((frozenset(members[inside].tolist()), above.union(members[parents].tolist())))
    return parts


def _explore_sources(cpdag: Bools, whole: list[EdgePart]) -> Sources:
    """Return the sources of every part that can come up."""
    sources: Sources = {}
    waiting, n_families = list(whole), 0
    while waiting:
        part = waiting.pop()
        if part in sources:
            continue
        nodes, parents = part
        n_families += len(nodes)
        if n_families > MAX_FAMILIES:
            raise DataError("the CPDAG represents too many DAGs to compute bounds on the SID", hint="compare a DAG")
        members = sorted(nodes)
        undirected = cpdag[np.ix_(members, members)]
        sources[part] = []
        for place, node in enumerate(members):
            rooted = undirected.copy()
            rooted[:, place] = False
            left = [other for other in _undirected_parts(meek_closure(rooted), nodes, parents) if node not in other[0]]
            sources[part].append((node, left))
            waiting += left
    return sources


def _extreme_sums(sources: Sources, dag: Bools) -> tuple[dict[EdgePart, int], dict[EdgePart, int]]:
    """Return for every part the lowest and the highest number of wrong effects of its nodes."""
    families = list({(node, parents): None for nodes, parents in sources for node in nodes})
    masks = np.zeros((len(families), len(dag)), dtype=bool)
    for row, (_, parents) in enumerate(families):
        masks[row, list(parents)] = True
    counts = _count_wrong(np.array([node for node, _ in families]), masks, dag).tolist()
    wrong = dict(zip(families, counts, strict=True))
    lowest: dict[EdgePart, int] = {}
    highest: dict[EdgePart, int] = {}
    for part in sorted(sources, key=lambda part: len(part[0])):  # a source leaves smaller parts only
        for best, choose in ((lowest, min), (highest, max)):
            options = (wrong[node, part[1]] + sum(best[other] for other in left) for node, left in sources[part])
            best[part] = choose(options)
    return lowest, highest


def _count_wrong(
    nodes: Indices,  # (m,)
    parents: Bools,  # (m, d): the learned parents of each node
    truth: Bools,  # (d, d)
) -> Indices:
    """Return for each family on how many nodes the effect of its node is wrong when adjusted for its parents."""
    below = descendants(truth)
    chunks = [slice(start, start + ROWS_AT_ONCE) for start in range(0, len(nodes), ROWS_AT_ONCE)]
    return np.concatenate([_wrong_effects(nodes[c], parents[c], truth, below).sum(axis=1) for c in chunks])


def _wrong_effects(nodes: Indices, parents: Bools, truth: Bools, below: Bools) -> Bools:
    """Return (m, d): the effect of the node of family r on j is wrong.

    If j is a learned parent, no effect is claimed: wrong for a true descendant. Otherwise the parents must be a
    valid adjustment set in the truth (Shpitser, VanderWeele & Robins 2010): they hold no descendant of a node on a
    directed path to j, and they block every other path to j.
    """
    reaches = (below | np.eye(len(truth), dtype=bool)).astype(np.float32)
    between = below[nodes] & (parents.astype(np.float32) @ reaches.T > 0)  # below the node, above or in its parents
    spoiled = between.astype(np.float32) @ reaches > 0
    wrong = np.where(parents, below[nodes], spoiled | _open_noncausal(nodes, parents, truth))
    wrong[np.arange(len(nodes)), nodes] = False
    return wrong


def _open_noncausal(nodes: Indices, given: Bools, truth: Bools) -> Bools:
    """Return (m, d): an open path leads from the node of row r to j, given the set of row r, that is not directed.

    Bayes ball with three kinds of arrival: along a path that is directed so far, else downwards or upwards. A ball
    that leaves the directed path at a given node c also visits nodes j below others of that path; but then c is a
    descendant of a node on a directed path to j, and the set is not valid for j in any case.
    """
    from scipy.sparse import csr_array  # takes longer to load than a small table to fit

    down: Any = csr_array(truth, dtype=np.float32)
    up: Any = csr_array(truth.T, dtype=np.float32)
    start = np.zeros(given.shape, dtype=bool)
    start[np.arange(len(nodes)), nodes] = True

    def step(balls: Bools, edges: Any, seen: Bools) -> Bools:
        new: Bools = (csr_array(balls, dtype=np.float32) @ edges).toarray() > 0
        new &= ~seen & ~start  # a path does not come back to its start
        seen |= new
        return new

    seen_directed, seen_down, seen_up = (np.zeros_like(start) for _ in range(3))
    new_directed, new_up = step(start, down, seen_directed), step(start, up, seen_up)
    new_down = np.zeros_like(start)
    deadline = current()
    while new_directed.any() or new_down.any() or new_up.any():
        deadline.check()
        turning = (new_directed | new_down) & given | new_up & ~given
        new_down, new_directed, new_up = (
            step((new_down | new_up) & ~given, down, seen_down),
            step(new_directed & ~given, down, seen_directed),
            step(turning, up, seen_up),
        )
    return seen_down | seen_up
