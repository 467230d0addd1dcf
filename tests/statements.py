"""Random knowledge that a given DAG obeys."""

import networkx as nx
import numpy as np

from drbo.knowledge import Knowledge

LETTERS = list("abcdefgh")


def random_dag(rng, d, p=0.4):
    order = rng.permutation(d)
    return np.triu(rng.random((d, d)) < p, 1)[np.ix_(order, order)]


def some(rng, items, share):
    return [item for item in items if rng.random() < share]


def random_knowledge(rng, names, dag):
    """Statements that this DAG obeys."""
    d = len(names)
    edges = [(names[i], names[j]) for i, j in np.argwhere(dag)]
    absent = [(names[i], names[j]) for i in range(d) for j in range(d) if i != j and not dag[i, j]]
    line = list(nx.lexicographical_topological_sort(nx.from_numpy_array(dag, create_using=nx.DiGraph)))
    cuts = sorted(rng.choice(np.arange(1, d), size=min(int(rng.integers(0, 3)), d - 1), replace=False).tolist())
    blocks = [line[a:b] for a, b in zip([0, *cuts], [*cuts, d], strict=True)]
    tiers = [tier for tier in ([names[i] for i in some(rng, block, 0.8)] for block in blocks) if tier]
    within = any((a, b) in edges for tier in tiers for a in tier for b in tier)
    limits = {name: int(dag[:, i].sum() + rng.integers(0, 2)) for i, name in enumerate(names)}
    return Knowledge(
        required=some(rng, edges, 0.4),
        forbidden=some(rng, absent, 0.2),
        tiers=tiers if rng.random() < 0.6 else [],
        forbid_within_tiers=bool(not within and rng.random() < 0.5),
        roots=some(rng, [names[i] for i in range(d) if not dag[:, i].any()], 0.5),
        leaves=some(rng, [names[i] for i in range(d) if not dag[i].any()], 0.5),
        max_parents=[None, int(dag.sum(axis=0).max()), dict(some(rng, limits.items(), 0.5))][rng.integers(3)],
    )
