"""Joins the answers of independent searches, neighbourhood by neighbourhood.

In a large graph every search misses the best parents of a few nodes, each those of others. Where two answers differ,
the better one is taken.
"""

from heapq import heappop, heappush

import numpy as np

from drbo.arrays import Bools, Indices
from drbo.graph.dag import connected_parts, dag_to_cpdag, is_acyclic, topological_order
from drbo.scores.families import Families
from drbo.search.evaluation.evaluator import Evaluator


def joined(
    evaluator: Evaluator,
    best: Bools,  # (d, d)
    other: Bools,  # (d, d)
    *,
    free: bool,
    least: float,
) -> Bools | None:
    """Return the best DAG with what is better in another one; None where nothing is.

    Nodes whose parents differ make a neighbourhood if edges of either graph join them. Each takes its parents from one
    of both graphs; what would close a cycle is left out.

    Parameters
    ----------
    evaluator : of an additive score.
    best, other : DAGs.
    free : every DAG is allowed. If also equivalent DAGs tie, they count as the same.
    least : what a neighbourhood must gain.
    """
    score = evaluator.score
    if free and score.score_equivalent:
        other = alike(other, topological_order(best))
    nodes = np.flatnonzero((best != other).any(axis=0))
    families = Families(np.tile(nodes, 2), np.concatenate([best.T[nodes], other.T[nodes]]))
    values = score.share(evaluator.families(families), score.family_price(families), None, families.nodes)
    gains = np.zeros(len(best))
    gains[nodes] = values[len(nodes) :] - values[: len(nodes)]
    found = best.copy()
    for region in sorted(_regions(best, other, nodes), key=lambda some: -gains[some].sum()):
        if gains[region].sum() <= least:
            break
        found[:, region] = other[:, region]
        if not is_acyclic(found):
            found[:, region] = best[:, region]
    return found if (found != best).any() else None


def alike(dag: Bools, order: Indices) -> Bools:
    """Return the DAG of the same equivalence class whose open edges follow an order as far as they can.

    Open edges are directed along a maximum cardinality search, which makes no new collider (Tarjan & Yannakakis 1984).
    """
    cpdag = dag_to_cpdag(dag)
    found, place = cpdag & ~cpdag.T, np.argsort(order)
    neighbours: dict[int, list[int]] = {}
    for i, j in np.argwhere(cpdag & cpdag.T).tolist():
        neighbours.setdefault(i, []).append(j)
    count = dict.fromkeys(neighbours, 0)  # of neighbours that were visited
    waiting = sorted((0, int(place[node]), node) for node in neighbours)
    while waiting:
        *_, node = heappop(waiting)
        if node not in count:
            continue
        del count[node]
        for neighbour in neighbours[node]:
            if neighbour in count:
                found[node, neighbour] = True
                count[neighbour] += 1
                heappush(waiting, (-count[neighbour], int(place[neighbour]), neighbour))
    return found


def _regions(best: Bools, other: Bools, nodes: Indices) -> list[Indices]:
    """Return the nodes in groups that no edge joins."""
    block = np.ix_(nodes, nodes)
    return [nodes[region] for region in connected_parts(best[block] | other[block])]
