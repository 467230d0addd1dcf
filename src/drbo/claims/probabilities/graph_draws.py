"""Graphs drawn from the posterior: by exact sums over all orders of the nodes, or from chains over orders.

An order is drawn by the summed weight of its DAGs, then a DAG that fits it. A DAG with many orders is drawn too often,
so each is weighted by one over the number of its orders (Ellis & Wong 2008): then every DAG counts once. For many nodes
that number is not computed, and every order counts once, as in the probabilities of edges.
"""

from dataclasses import dataclass
from math import exp, lgamma, log

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.claims.known_margins import Chains, KnownAlternatives
from drbo.claims.likely_families import likely_families
from drbo.claims.probabilities.edge_prior import edge_log_odds
from drbo.claims.probabilities.posterior import evidence, expected_parents, sum_inside
from drbo.constraints import Constraints
from drbo.errors import SettingsError
from drbo.graph.dag import connected_parts
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import all_tables, compiled_work, sets_of
from drbo.search.subset_kernels import column

#: Up to this many columns draws are exact: where compiled kernels score all families, and for other cheap scores.
MOST_COMPILED, MOST_SCORED = 15, 12


@dataclass(frozen=True, eq=False)
class Draws:
    """DAGs drawn from a posterior."""

    dags: Bools  # (n, d, d), each once
    shares: Floats  # (n,) their weights, which sum to 1
    how: str  # how they were drawn, and how far they can be trusted, in words


def drawn_dags(
    evaluator: Evaluator,
    constraints: Constraints,
    dag: Bools,  # (d, d) the best one
    parents: float | None,  # expected number of a column; None: as in the best DAG
    count: int,
    seed: int,
) -> Draws:
    """Draw DAGs from the posterior of a score that is a log evidence: exactly for few columns, else by chains.

    Chains are over the likely families.
    """
    score, rng = evaluator.score, np.random.default_rng(seed)
    level = score.level_of(evaluator.evaluate_one(dag).local[0])
    if score.evidence_scale is None or level is not None:
        raise SettingsError(
            f"score {score.name} is not a log evidence per column, so it has no posterior over graphs",
            hint="omit the table: the equivalence class of the graph is then assumed to be correct",
        )
    d, mean = len(dag), expected_parents(dag, parents)[0]
    most = MOST_COMPILED if compiled_work(score) is not None else MOST_SCORED if score.cheap else 0
    if 1 < d <= most:
        logs = evidence(all_tables(evaluator, constraints).shares(score), score)
        sizes = np.bitwise_count(np.arange(logs.shape[1]))
        return by_sums(logs + edge_log_odds(d, mean, "DAGs") * sizes, count, rng)
    others = KnownAlternatives(evaluator, dag, None, likely_families(evaluator, constraints, dag, None))
    chains = others.chains(edge_log_odds(d, mean, "orders") if d > 1 else 0.0, seed)
    if chains is None:
        raise SettingsError(
            "under this knowledge, some orders of the columns allow no graph near the best one, so none can be drawn",
            hint="omit the table: the equivalence class of the graph is then assumed to be correct",
        )
    return by_chains(chains, count, rng)


def by_sums(
    logs: Floats,  # (d, 2^(d-1)) log weight of each family
    count: int,
    rng: np.random.Generator,
) -> Draws:
    """Draw DAGs from the exact posterior over all DAGs."""
    d = len(logs)
    inside = sum_inside(logs)
    before = _over_orders(inside)
    drawn = np.zeros((count, d, d), dtype=bool)
    for dag in drawn:
        left = (1 << d) - 1
        while left:
            nodes = [node for node in range(d) if left >> node & 1]
            rest = np.array([left & ~(1 << node) for node in nodes])
            worth = [before[other] + inside[node, column(other, node)] for node, other in zip(nodes, rest, strict=True)]
            k = _pick(np.array(worth), rng)
            node, left = nodes[k], int(rest[k])
            sets = sets_of(d, node)
            legal = np.flatnonzero((sets & ~left) == 0)
            parents = int(sets[legal[_pick(logs[node, legal], rng)]])
            dag[:, node] = [parents >> other & 1 for other in range(d)]
    dags, counts = np.unique(drawn, axis=0, return_counts=True)
    weights = 1 / np.array([orders_of(dag) for dag in dags])
    effective = float((counts @ weights) ** 2 / (counts @ weights**2))
    shares = counts * weights / (counts @ weights)
    return Draws(dags, shares, f"{count} draws from the exact posterior over all DAGs, worth {effective:.0f}")


def by_chains(chains: Chains, count: int, rng: np.random.Generator) -> Draws:
    """Draw DAGs from the orders that chains saw."""
    families, logs = chains.families, chains.logs
    d = families.parents.shape[1]
    bounds = np.searchsorted(families.nodes, np.arange(d + 1))
    orders = chains.orders.reshape(-1, d)
    drawn = np.zeros((count, d, d), dtype=bool)
    for dag, order in zip(drawn, orders[rng.integers(len(orders), size=count)], strict=True):
        outside = np.ones(d, dtype=bool)
        for node in order.tolist():
            rows = np.arange(bounds[node], bounds[node + 1])
            fits = rows[~(families.parents[rows] & outside).any(axis=1)]
            dag[:, node] = families.parents[fits[_pick(logs[fits], rng)]]
            outside[node] = False
    dags, counts = np.unique(drawn, axis=0, return_counts=True)
    how = f"{count} draws from chains over orders, whose edge probabilities differ by at most {chains.spread:.2f}"
    return Draws(dags, counts / count, how)


def orders_of(dag: Bools) -> float:
    """Return the number of orders of the nodes in which every parent comes before its children."""
    parts = ((len(part), _orders_of_part(dag[np.ix_(part, part)])) for part in connected_parts(dag))
    return exp(lgamma(len(dag) + 1) + sum(log(orders) - lgamma(n + 1) for n, orders in parts))


def _orders_of_part(dag: Bools) -> float:
    """Return the number of orders of a connected DAG; those of several can be interleaved in any way."""
    d = len(dag)
    counts = np.zeros(1 << d)  # by the set of the nodes that come first
    counts[0] = 1.0
    sets = np.arange(1 << d)
    sizes = np.bitwise_count(sets)
    parents = (dag.T @ (1 << np.arange(d))).tolist()
    for size in range(d):
        placed = sets[(sizes == size) & (counts > 0)]
        for node in range(d):
            fits = placed[((placed >> node & 1) == 0) & ((parents[node] & ~placed) == 0)]
            counts[fits | 1 << node] += counts[fits]
    return float(counts[-1])


def _over_orders(
    inside: Floats,  # (d, 2^(d-1))
) -> Floats:
    """Return (2^d,) the log of the summed weight of all orders of each set of nodes that come first."""
    d = len(inside)
    found = np.full(1 << d, -np.inf)
    found[0] = 0.0
    sets = np.arange(1 << d)
    sizes = np.bitwise_count(sets)
    for size in range(1, d + 1):
        for node in range(d):
            ends = sets[(sizes == size) & (sets >> node & 1 == 1)]
            rest = ends & ~(1 << node)
            found[ends] = np.logaddexp(found[ends], found[rest] + inside[node, column(rest, node)])
    return found


def _pick(logs: Floats, rng: np.random.Generator) -> int:
    """Return a place at random, by weights that are given as logs."""
    total = np.cumsum(np.exp(logs - logs.max()))
    return min(int(np.searchsorted(total, rng.random() * total[-1], side="right")), len(logs) - 1)
