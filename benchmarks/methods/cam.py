"""CAM: greedy additions of the edge that improves an additive model most, then pruning.

Buehlmann, Peters & Ernest (2014), "CAM: Causal Additive Models, High-Dimensional Order Search and Penalized
Regression". Three steps: for many nodes, candidate parents by boosting; from the empty graph, the allowed edge with the
largest gain in likelihood, until none is left to add, which fixes the order; significance tests of the parents.

What differs: R's penalised ``gam`` fits are least squares on natural cubic splines of drbo's score ``splines``, without
its penalty, so a family costs a small linear solve. The boosting is component-wise least squares on splines of few
coefficients in place of ``mboost``'s penalised ones. Pruning is drbo's CAM.
"""

import numpy as np
import numpy.typing as npt

from benchmarks.methods.base import Graph, Record
from drbo.claims.answer.cam import spline_term
from drbo.claims.answer.prune import prune as prune_dag
from drbo.data.statistics.statistics import Statistics
from drbo.scores.families import Families
from drbo.scores.splines import SplineScore
from drbo.search.evaluation.evaluator import Evaluator
from drbo.settings import Settings

Floats = npt.NDArray[np.float64]
#: The R package CAM 1.0: basis functions of a term, the constant left out here.
DF = 9
#: The paper, section 5: neighbours are chosen first where there are many variables; below, all are candidates.
SELECT_FROM = 30
#: The R package, selGamBoost: most neighbours, and the part of the rounds in which one must be chosen; mboost: rounds
#: and step length, degrees of freedom of a base learner.
MAX_NEIGHBOURS = 10
LEAST_PART = 0.02
ROUNDS = 100
STEP = 0.1
BOOST_DF = 4


def learn(
    values: Floats,  # (n, d)
    *,
    seed: int,  # noqa: ARG001 nothing is drawn
    record: Record | None = None,
    df: int = DF,
    select: bool | None = None,
    prune: str = "cam",
) -> Graph:
    """Return the DAG after pruning; ``select`` overrides the choice of neighbours, None leaves it to the size.

    ``record`` gets the graph before pruning after every edge.
    """
    d = values.shape[1]
    chosen = d >= SELECT_FROM if select is None else select
    allowed = neighbours(values) if chosen else ~np.eye(d, dtype=bool)
    return prune_dag(prune, values, add_edges(values, allowed, df, record))[0]


def neighbours(values: Floats) -> Graph:
    """Return which columns boosting of each node chooses often enough: [i, j] says that i may be a parent of j."""
    terms = [spline_term(column, BOOST_DF + 1) for column in values.T]
    owner = np.repeat(np.arange(len(terms)), [term.shape[1] for term in terms])
    basis = np.hstack(terms)
    gram = basis.T @ basis
    responses = (values - values.mean(axis=0)) / values.std(axis=0)
    allowed = np.zeros((len(terms), len(terms)), dtype=bool)
    for node, projections in enumerate((basis.T @ responses).T):
        left, counts = projections.copy(), np.zeros(len(terms))
        for _ in range(ROUNDS):
            explained = np.bincount(owner, left**2, minlength=len(terms))
            explained[node] = -1.0
            best = int(np.argmax(explained))
            counts[best] += 1
            columns = owner == best
            left -= STEP * gram[:, columns] @ left[columns]
        order = np.argsort(-counts, kind="stable")[:MAX_NEIGHBOURS]
        allowed[order[counts[order] >= LEAST_PART * ROUNDS], node] = True
    return allowed


def add_edges(values: Floats, allowed: Graph, df: int, record: Record | None) -> Graph:
    """Add the allowed edge with the largest gain until every allowed edge is there or would close a cycle."""
    d = values.shape[1]
    score = SplineScore(Statistics.from_array(values), df=df, penalty=0.0)
    evaluator = Evaluator(score, Settings(max_evals=2**62))
    dag, reach = np.zeros((d, d), dtype=bool), np.eye(d, dtype=bool)  # reach[i, j]: a path leads from i to j
    gains = np.full((d, d), -np.inf)
    for node in range(d):
        gains[:, node] = _gains(evaluator, dag, allowed, node)
    edges = 0
    while True:
        possible = np.where(reach.T, -np.inf, gains)
        parent, child = divmod(int(np.argmax(possible)), d)
        if possible[parent, child] <= 0:
            return dag
        dag[parent, child] = True
        reach |= np.outer(reach[:, parent], reach[child])
        gains[:, child] = _gains(evaluator, dag, allowed, child)
        edges += 1
        if record:
            record(edges, dag.copy())


def _gains(evaluator: Evaluator, dag: Graph, allowed: Graph, node: int) -> Floats:
    """Return how much each further parent of a node would add to the likelihood; -inf for those not allowed."""
    d = len(dag)
    free = np.flatnonzero(allowed[:, node] & ~dag[:, node])
    parents = np.repeat(dag[None, :, node], len(free) + 1, axis=0)
    parents[np.arange(len(free)), free] = True  # the last row: as it is
    families = Families(np.full(len(parents), node), parents)
    local = evaluator.families(families)
    shares = evaluator.score.share(local, np.zeros_like(local), nodes=families.nodes)
    gains = np.full(d, -np.inf)
    gains[free] = shares[:-1] - shares[-1]
    return gains
