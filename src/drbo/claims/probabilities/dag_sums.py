"""Sums over all DAGs: the share of the total weight that each family contributes.

The weight of a DAG is the product of the weights of its families. ``inside[i, U]`` is the log of the summed weight of
all families of node i with parents inside U. The sums come back as ``passed[i, U]``: the derivative of the log of the
total by ``inside[i, U]``.
"""

import numpy as np

from drbo import _core
from drbo.arrays import Floats
from drbo.search.subset_kernels import cores


def sum_inside(
    logs: Floats,  # (d, 2^(d-1)) log weight of each family
) -> Floats:
    """Return the log of the summed weight of each node's families inside each set.

    Examples
    --------
    >>> sum_inside(np.log([[1.0, 3.0], [1.0, 1.0]])).round(6).tolist()
    [[0.0, 1.386294], [0.0, 0.693147]]
    """
    return _core.sum_inside(np.ascontiguousarray(logs), cores())


def over_orders(inside: Floats) -> Floats:
    """Return ``passed`` when every order of the nodes counts once (Koivisto & Sood 2004): a DAG has its orders' weight.

    Examples
    --------
    >>> over_orders(np.zeros((2, 2))).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    return _core.sum_over_orders(inside, cores())


def over_dags(inside: Floats, logs: Floats) -> Floats:
    """Return ``passed`` when every DAG counts once (Tian & He 2009), in 3^d steps.

    The sum over DAGs on S runs over the sets T of its sinks, by inclusion and exclusion:
    ``R(S) = sum over T of (-1)^(|T|+1) R(S - T) prod over j in T of A_j(S - T)``. What passes through each A_j is the
    derivative, by the same recursion backwards. Every term is scaled by the heaviest DAG on its set, so nothing
    overflows, and at most 2^d terms of alternating sign cancel.

    Examples
    --------
    >>> over_dags(np.log([[1.0, 2.0], [1.0, 2.0]]), np.zeros((2, 2))).round(6).tolist()
    [[0.333333, 0.666667], [0.333333, 0.666667]]
    """
    return _core.sum_over_dags(inside, logs, cores())


def edge_sums(inside: Floats, passed: Floats) -> Floats:
    """Return the probability (d, d) of each edge."""
    clipped: Floats = np.clip(_core.edge_sums(inside, passed, cores()), 0.0, 1.0)
    return clipped
