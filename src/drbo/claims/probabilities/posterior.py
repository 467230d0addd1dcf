"""The posterior probability of every edge by exact sums over tables of families, and the prior that it begins with.

The weight of a family is its evidence: the score on the scale of a log evidence, with penalty 1 whatever penalty the
search had, times the prior odds of its edges (:mod:`drbo.claims.probabilities.edge_prior`).
"""

import numpy as np

from drbo import _core
from drbo.arrays import Bools, Floats
from drbo.claims.probabilities.edge_prior import Counted, averaged, edge_log_odds, nearest
from drbo.machine.threads import available
from drbo.scores.base import Score
from drbo.search.exact.family_tables import families_of

#: Up to this many nodes the posterior counts every DAG once, in 3^d steps; above it counts every order once.
MAX_DAG_SUM = 16
#: Up to this many nodes sums are quick enough to be averaged over the expected number of parents.
MAX_AVERAGED = 14


def evidence(
    shares: Floats,  # (d, 2^(d-1)) what each family adds to the score
    score: Score,
) -> Floats:
    """Return the log evidence of each family: without what a penalty above 1 takes from it."""
    d, scale = len(shares), score.evidence_scale
    assert scale is not None
    beyond = np.stack([score.sparsity_price(families_of(d, node)) for node in range(d)])
    logs: Floats = (shares + beyond) / scale
    return logs


def by_sums(logs: Floats, dag: Bools, parents: float | None) -> tuple[Floats, str]:
    """Return the probability (d, d) of each edge by exact sums, and the prior in words.

    Parameters
    ----------
    logs : (d, 2^(d-1)) log evidence of each family.
    dag : the best one: without a stated number of parents, the search for that number begins at its edges.
    parents : expected number of parents of a column; None: the table decides.
    """
    d = len(logs)
    counted: Counted = "DAGs" if d <= MAX_DAG_SUM else "orders"
    over = "DAGs" if counted == "DAGs" else "orders of the columns"
    if d == 1:
        return np.zeros((1, 1)), f"uniform over {over}"
    sizes = np.bitwise_count(np.arange(logs.shape[1]))  # own bits are left out, so sets of all nodes have equal sizes

    def found(log_odds: float) -> Floats:
        return edge_sums(logs + log_odds * sizes, counted)

    mean, why = expected_parents(dag, parents)
    if parents is None and d <= MAX_AVERAGED:
        posterior, mean = averaged(found, d, counted, start=mean)
        return posterior, words(mean, "learned from the table", over)
    return found(edge_log_odds(d, mean, counted)), words(mean, why, over)


def expected_parents(dag: Bools, parents: float | None) -> tuple[float, str]:
    """Return a single expected number of parents, and where it comes from."""
    return (nearest(dag.sum() / len(dag)), "as in the best graph") if parents is None else (parents, "as stated")


def words(parents: float, why: str, over: str) -> str:
    """Return the prior in words."""
    return f"{parents:.2g} parents per column expected, {why}; otherwise uniform over {over}"


def sum_inside(logs: Floats) -> Floats:
    """Return the log of the summed weight of each node's families inside each set, both (d, 2^(d-1))."""
    return _core.sum_inside(np.ascontiguousarray(logs), available())


def edge_sums(logs: Floats, counted: Counted = "DAGs") -> Floats:
    """Return the probability (d, d) of each edge from the log weights (d, 2^(d-1)) of all families.

    The weight of a DAG is the product of those of its families. Either every DAG counts once (Tian & He 2009), in 3^d
    steps: the sum over DAGs on S runs over the sets T of its sinks, by inclusion and exclusion,
    ``R(S) = sum over T of (-1)^(|T|+1) R(S - T) prod over j in T of A_j(S - T)``; every term is scaled by the heaviest
    DAG on its set, and at most 2^d terms of alternating sign cancel. Or every order counts once, so that a DAG has the
    weight of its orders (Koivisto & Sood 2004). What passes through each A_j, the summed weight of its families inside
    a set, is the derivative of the log of the total by the log of A_j, by the same recursion backwards.
    """
    inside = sum_inside(logs)
    by_dags = counted == "DAGs"
    passed = _core.sum_over_dags(inside, logs, available()) if by_dags else _core.sum_over_orders(inside, available())
    shares: Floats = np.clip(_core.edge_sums(inside, passed, available()), 0.0, 1.0)
    return shares
