"""The collider check: are two causes of one effect as independent as the equivalence class says?

A class directs i -> k <- j because i and j are independent, given their own causes. A linear score sees correlations
alone. Columns without a correlation may well depend on each other, and the collider is then no reason for its arrows.
"""

from collections.abc import Iterator

import numpy as np

from drbo.arrays import Bools
from drbo.claims.checks.noise_check import MAX_CAUSES, Family
from drbo.claims.claim import Context, ResidualClaim, Ruling, denials
from drbo.deadline import current
from drbo.graph.dag import topological_order
from drbo.independence.rank_hsic import Independence
from drbo.independence.residual_tests import Regression, ResidualTests, TableTests, weakest
from drbo.machine.threads import one_blas_thread

#: Two causes are dependent below this p-value, which is corrected for the other causes of the effect.
LEVEL = 0.01
#: Why two causes are not tested.
MANY = f"which was not tested, because they have more than {MAX_CAUSES} causes."


class ColliderCheck(ResidualClaim):
    """The claim that causes of one effect are as independent as the equivalence class says."""

    name, title = "colliders", "the test of causes that share an effect"

    def run(self, context: Context) -> Ruling:
        regression = context.score.regression
        smooth: Regression = "splines" if regression in (None, "linear") else regression
        inquiry, past = context.inquiry, context.inquiry.constraints.past
        found = collider_doubts(inquiry.tests, context.answer.dag, smooth, np.outer(past, past), inquiry.asked)
        return Ruling(found, denials(self, found))


def collider_doubts(
    tests: TableTests,
    dag: Bools,
    regression: Regression = "splines",
    linked: Bools | None = None,
    asked: Bools | None = None,
) -> dict[tuple[str, str], str]:
    """Return the arrows of a graph (cause, effect) that the equivalence class has for a doubtful reason, in words.

    An arrow i -> k is doubtful if another cause j of k, not joined to i, depends on i given the causes of both; or if
    it has no such j, and an arrow into i is doubtful. Dependence is tested as in the noise check, between numeric
    columns with at least 8 distinct values, and given at most 8 causes. ``linked`` (d, d) are pairs that depend on each
    other in ways that the graph leaves out, such as the past of a series; ``asked`` (d, d) are the pairs whose arrows
    matter, and only these are tested and what their doubts follow from.

    Raises an OutOfTimeError if the run has to end before all edges are checked.

    Examples
    --------
    >>> from drbo.data.statistics.statistics import Statistics
    >>> rng = np.random.default_rng(0)
    >>> size = rng.normal(size=500)
    >>> a, b = size * rng.choice([-1, 1], 500), size * rng.choice([-1, 1], 500)  # uncorrelated, but dependent
    >>> table = Statistics.from_array(np.column_stack([a, b, a + b + rng.normal(size=500)]), ["a", "b", "c"])
    >>> dag = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> print(collider_doubts(TableTests(table), dag)["a", "c"])
    The class has this direction only if 'a' and 'b' are independent, which they are not.
    """
    with one_blas_thread():
        joined = dag | dag.T if linked is None else dag | dag.T | linked
        found = _doubts(tests, dag, joined, regression, dag if asked is None else _deciding(dag, joined, asked))
    return {(tests.names[i], tests.names[k]): doubt for (i, k), doubt in found.items()}


def _deciding(dag: Bools, joined: Bools, asked: Bools) -> Bools:
    """Return the arrows asked about, and those into their causes where doubts about them follow from these."""
    found, waiting = np.zeros_like(dag), np.argwhere(dag & asked).tolist()
    while waiting:
        i, k = waiting.pop()
        if not found[i, k]:
            found[i, k] = True
            others = dag[:, k] & ~joined[i]
            others[i] = False
            waiting += [] if others.any() else [[h, i] for h in np.flatnonzero(dag[:, i]).tolist()]
    return found


def _doubts(
    shared: TableTests, dag: Bools, joined: Bools, regression: Regression, wanted: Bools
) -> dict[tuple[int, int], str]:
    tests, testable, names = shared.by(regression), shared.testable, shared.names
    parents = [np.flatnonzero(column).tolist() for column in dag.T]
    deadline = current()
    deadline.check()
    tests.fit(_fits(parents, wanted, joined, testable))
    found: dict[tuple[int, int], str] = {}
    for k in topological_order(dag).tolist():
        for i in np.flatnonzero(wanted[:, k]).tolist():
            deadline.check()
            others = [j for j in parents[k] if j != i and not joined[i, j]]
            tested = [j for j in others if testable[i] and testable[j]]
            few = [j for j in tested if len(_given(parents, i, j)) <= MAX_CAUSES]
            outcomes = {j: _between(tests, parents, i, j) for j in few}
            if len(few) < len(tested):
                j = next(j for j in tested if j not in few)
                pair = f"'{names[i]}' and '{names[j]}'"
                found[i, k] = f"The class has this direction only if {pair} are independent, {MANY}"
            elif outcomes and weakest(outcomes.values()).p_value < LEVEL:
                j = min(outcomes, key=lambda one: outcomes[one].p_value)
                pair = f"'{names[i]}' and '{names[j]}'"
                given = "" if not (parents[i] or parents[j]) else " given their causes"
                found[i, k] = f"The class has this direction only if {pair} are independent{given}, which they are not."
            elif not others and (before := next((h for h in parents[i] if (h, i) in found), None)) is not None:
                arrow = f"{names[before]} -> {names[i]}"
                found[i, k] = f"The class implies this direction from {arrow}, which is itself uncertain."
    return found


def _fits(parents: list[list[int]], wanted: Bools, joined: Bools, testable: Bools) -> Iterator[Family]:
    """Yield the families whose residuals are tested for some arrows."""
    for i, k in np.argwhere(wanted & testable[:, None]).tolist():
        for j in parents[k]:
            given = _given(parents, i, j)
            if j != i and testable[j] and not joined[i, j] and len(given) <= MAX_CAUSES:
                yield i, given
                yield j, given


def _given(parents: list[list[int]], i: int, j: int) -> tuple[int, ...]:
    return tuple(sorted({*parents[i], *parents[j]}))


def _between(tests: ResidualTests, parents: list[list[int]], i: int, j: int) -> Independence:
    """Test two columns that are not joined, given the causes of both."""
    given = _given(parents, i, j)
    return tests.noises(i, given, [(j, given)])
