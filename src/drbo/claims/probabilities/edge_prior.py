"""The prior behind edge probabilities: how many parents a column has before the data are seen.

Every edge multiplies the prior weight of a DAG by the same odds, which follow from the expected number of parents of a
column. If nobody states that number, the table decides: several numbers are equally likely beforehand, and edge
probabilities are averaged over them (Scott & Berger 2010 on such priors in regression).
"""

from collections.abc import Callable
from math import comb, exp, log
from typing import Literal

import numpy as np

from drbo.arrays import Floats

#: What counts once before edges are weighted: every DAG, or every order of the columns with every DAG that fits it.
Counted = Literal["DAGs", "orders"]

#: Expected numbers of parents per column that are equally likely where none is stated.
EXPECTED_PARENTS = (0.125, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0)
#: Few columns cannot have so many parents each: the prior links at most this share of their pairs.
MOST_LINKED = 0.9
#: Halvings of the interval that holds the log odds: to 14 digits.
HALVINGS = 50
#: Numbers of parents whose evidence lies this far (in logs) below the best one's are left out of the average.
NEGLIGIBLE = 5.0


def expected_edges(n_nodes: int, log_odds: float) -> float:
    """Return the mean number of edges of a DAG if every edge multiplies its weight by the same odds.

    The total weight of the DAGs on n nodes follows from that on fewer (Robinson 1973), by the number k of nodes without
    children: ``a(n) = sum over k of (-1)^(k+1) C(n, k) (1 + odds)^(k (n - k)) a(n - k)``; so does its derivative.
    """
    step = float(np.logaddexp(0.0, log_odds))
    share = float(np.exp(log_odds - step))  # derivative of ln(1 + odds) by the log odds
    totals, slopes = [1.0], [0.0]  # scaled by (1 + odds)^-C(n, 2)
    for n in range(1, n_nodes + 1):
        total = slope = 0.0
        for k in range(1, n + 1):
            pairs = k * (n - k) - comb(n, 2) + comb(n - k, 2)
            weight = (-1) ** (k + 1) * comb(n, k) * exp(pairs * step)
            total += weight * totals[n - k]
            slope += weight * (slopes[n - k] + pairs * share * totals[n - k])
        totals.append(total)
        slopes.append(slope)
    return comb(n_nodes, 2) * share + slopes[-1] / totals[-1]


def edge_log_odds(n_nodes: int, parents: float, counted: Counted) -> float:
    """Return the log odds of an edge that give a column so many parents on average, at most what fits."""
    pairs = comb(n_nodes, 2)
    edges = min(parents * n_nodes, MOST_LINKED * pairs)
    if counted == "orders":
        return log(edges / (pairs - edges))
    low, high = -30.0, 30.0
    for _ in range(HALVINGS):  # scipy.optimize takes longer to load
        middle = (low + high) / 2
        low, high = (middle, high) if expected_edges(n_nodes, middle) < edges else (low, middle)
    return (low + high) / 2


def nearest(parents: float) -> float:
    """Return the one of the equally likely numbers of parents that is nearest, by its logarithm."""
    return min(EXPECTED_PARENTS, key=lambda one: abs(log(one) - log(max(parents, EXPECTED_PARENTS[0]))))


def averaged(
    posterior: Callable[[float], Floats], n_nodes: int, counted: Counted, start: float
) -> tuple[Floats, float]:
    """Return edge probabilities averaged over expected numbers of parents, and the mean of these numbers.

    The evidence of a number of parents relative to the next one is the integral of the edges that the posterior has
    more than the prior, over the log odds between the two (the derivative of a log evidence by the log odds is that
    difference), here by the trapezoid rule. Starting from one number, its neighbours are looked at until their evidence
    is negligible.

    Parameters
    ----------
    posterior : gives the probability (d, d) of each edge for the log odds of an edge.
    start : expected number of parents to begin with.
    """
    grid = [one for one in EXPECTED_PARENTS if one * n_nodes <= MOST_LINKED * comb(n_nodes, 2)] or [EXPECTED_PARENTS[0]]
    odds = [edge_log_odds(n_nodes, one, counted) for one in grid]
    first = min(range(len(grid)), key=lambda k: abs(log(grid[k] / start)))
    found, evidence = {first: posterior(odds[first])}, {first: 0.0}
    for step in (-1, 1):
        k = first
        while 0 <= k + step < len(grid) and evidence[k] > max(evidence.values()) - NEGLIGIBLE:
            last, k = k, k + step
            found[k] = posterior(odds[k])
            surplus = sum(float(found[one].sum()) - grid[one] * n_nodes for one in (last, k))
            evidence[k] = evidence[last] + (odds[k] - odds[last]) * surplus / 2
    places = sorted(found)
    weights = np.exp([evidence[k] - max(evidence.values()) for k in places])
    weights /= weights.sum()
    average: Floats = np.tensordot(weights, np.stack([found[k] for k in places]), 1)
    return average, float(weights @ [grid[k] for k in places])
