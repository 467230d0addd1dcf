"""Draws the member of an equivalence class that agrees with the noise check.

If the score ties all members of a class, which of them a search ends at is chance. The noise check may tell the
directions of open edges, but only those of the drawn member that happen to point the right way would be supported.
"""

from collections.abc import Callable, Iterable

import numpy as np

from drbo._core import ClosedGraph
from drbo.arrays import Bools
from drbo.claims.record import CheckedEdge, NoiseCheck
from drbo.claims.why import mpdag
from drbo.constraints import Constraints
from drbo.graph.dag import cpdag_to_dag, topological_order
from drbo.search.evaluation.evaluator import Evaluator

Checks = tuple[CheckedEdge, ...]

#: A new member has other parents, so that its checks may disagree again; so many members are tried.
ROUNDS = 3
#: Scores that differ by less, relative to their size, are the same.
ROUNDING = 1e-9


def agreeing_member(
    dag: Bools,  # (d, d)
    checks: Checks,  # of its edges
    constraints: Constraints,
    check: Callable[[Bools], Checks],  # the noise checks of a graph, with the names of the constraints
    ties: Callable[[Bools], bool],  # whether a member has the same score
) -> tuple[Bools, Checks]:
    """Return the member of the class of a DAG, under the knowledge, with which most noise checks agree; and its checks.

    Open edges are directed as the noise check prefers, the clearest first, and what follows from them by Meek's rules.
    All others stay as they are if they can. The new member is checked, and taken if more checks agree with it.

    Examples
    --------
    >>> from functools import partial
    >>> from drbo.claims.checks.noise_check import noise_checks
    >>> from drbo.independence.residual_tests import TableTests
    >>> from drbo.data.statistics.statistics import Statistics
    >>> rng = np.random.default_rng(1)
    >>> dose = rng.uniform(-1, 1, size=500)
    >>> response = dose + rng.uniform(-1, 1, size=500)
    >>> tests = TableTests(Statistics.from_array(np.column_stack([dose, response])))
    >>> drawn = np.array([[False, False], [True, False]])
    >>> checks = noise_checks(tests, drawn)
    >>> again = partial(noise_checks, tests)
    >>> member, _ = agreeing_member(drawn, checks, Constraints.none(2), again, ties=lambda dag: True)
    >>> member.astype(int).tolist()
    [[0, 1], [0, 0]]
    """
    graph = mpdag(dag, constraints)
    place = {name: k for k, name in enumerate(constraints.names)}
    for _ in range(ROUNDS):
        told = list(_told(graph, checks, place))
        if not told:
            break
        member = _member(graph, dag, told)
        if (member == dag).all() or constraints.violations(member) or not ties(member):
            break
        again = check(member)
        if _agreement(again) <= _agreement(checks):
            break
        dag, checks = member, again
    return dag, checks


def first_member(
    dag: Bools,  # (d, d)
    constraints: Constraints,
    ties: Callable[[Bools], bool],  # whether a member has the same score
) -> Bools:
    """Return a member of the class of a DAG, under the knowledge, that is the same wherever in the class a search ends.

    Examples
    --------
    >>> chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> both = [first_member(dag, Constraints.none(3), ties=lambda dag: True) for dag in (chain, chain.T)]
    >>> bool((both[0] == both[1]).all())
    True
    """
    graph = mpdag(dag, constraints)
    if not (graph & graph.T).any():
        return dag
    member = cpdag_to_dag(graph)
    is_other = not (member == dag).all()
    return member if is_other and not constraints.violations(member) and ties(member) else dag


def same_score(evaluator: Evaluator, first: Bools, second: Bools) -> bool:
    """Tell whether two DAGs have the same score but for rounding; a prior over edges may prefer one of them."""
    scores = [evaluator.evaluate_one(dag).scores[0] for dag in (first, second)]
    return bool(abs(scores[0] - scores[1]) <= ROUNDING * (1.0 + abs(scores[0])))


def _told(graph: Bools, checks: Checks, place: dict[str, int]) -> Iterable[tuple[int, int]]:
    """Yield the open edges whose direction the noise check tells, in that direction, the clearest first."""
    found = []
    for one in checks:
        i, j = place[one.cause], place[one.effect]
        if one.check is not None and one.check.verdict in ("forward", "reverse") and graph[i, j] and graph[j, i]:
            found.append((_ratio(one.check), (i, j) if one.check.verdict == "forward" else (j, i)))
    return (edge for _, edge in sorted(found))


def _ratio(check: NoiseCheck) -> float:
    """Return the smaller p-value divided by the larger one."""
    low, high = sorted((check.p_value_forward, check.p_value_reverse))
    return low / high


def _member(graph: Bools, dag: Bools, told: list[tuple[int, int]]) -> Bools:
    """Return the member of a class in which some open edges are directed, and the others as in a DAG where possible."""
    rank = np.argsort(topological_order(dag))
    rest = sorted(np.argwhere(dag).tolist(), key=lambda edge: (rank[edge[0]], rank[edge[1]]))
    closed = ClosedGraph(graph)
    for i, j in (*told, *rest):
        if closed.is_undirected(i, j):
            closed.direct(i, j)
    return closed.matrix()


def _agreement(checks: Checks) -> int:
    """Return how many checks agree with their arrow, less those that contradict it."""
    verdicts = [one.check.verdict for one in checks if one.check is not None]
    return verdicts.count("forward") - verdicts.count("reverse")
