"""Conditional independence tests of one column against many, and what a DAG claims about independence."""

from typing import Literal, get_args

import numpy as np

from drbo.arrays import Bools, Floats, Indices
from drbo.claims.answer.kci import kci_test
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.errors import SettingsError
from drbo.graph.dag import descendants
from drbo.independence.conditional import ConditionalTests, CountTests, GaussianTests

TestKind = Literal["gaussian", "g-test", "kci"]
KINDS: tuple[str, ...] = get_args(TestKind)
#: The kernel test grows with the cube of the rows: it sees a random sample of so many.
KCI_ROWS = 400


class _Kernel(ConditionalTests):
    """The kernel test of Zhang et al. (2011) on a sample of the rows; sees nonlinear dependence."""

    def __init__(self, table: Statistics) -> None:
        super().__init__(table.n_columns)
        rows = np.random.default_rng(0).permutation(table.n_rows)[:KCI_ROWS]
        self.values = table.values[np.sort(rows)]

    def _p_values(self, x: int, others: Indices, given: Indices) -> Floats:
        z = self.values[:, given] if len(given) else None
        return np.array([kci_test(self.values[:, x], self.values[:, y], z) for y in others])


def independence_test(kind: str, table: Statistics) -> ConditionalTests:
    """Return tests of a table: ``gaussian`` (numbers and categories), ``g-test`` (categories) or ``kci`` (numbers)."""
    if kind not in KINDS:
        raise SettingsError(f"test must be auto or one of {', '.join(KINDS)}, got {kind!r}", hint="the default is auto")
    if kind == "kci" and "categorical" in table.kinds:
        raise SettingsError(
            "test 'kci' requires numeric columns",
            hint="use 'gaussian', which encodes categories as indicator variables",
        )
    if kind == "g-test":
        return CountTests(table)
    return GaussianTests(table) if kind == "gaussian" else _Kernel(table)


def markov_claims(dag: Bools) -> list[tuple[int, Indices, Indices]]:
    """Return for each node (node, others, parents): by the local Markov property it is independent of the others.

    The others are its non-descendants without its parents; nodes without others are left out.
    """
    below = descendants(dag)
    claims = []
    for node in range(len(dag)):
        free = ~below[node] & ~dag[:, node]
        free[node] = False
        if free.any():
            claims.append((node, np.flatnonzero(free), np.flatnonzero(dag[:, node])))
    return claims


def markov_p_values(test: ConditionalTests, dag: Bools) -> Floats:
    """Return (d, d) the p-value of each claim of the local Markov property; row: the node; NaN: nothing is claimed."""
    found, deadline = np.full(dag.shape, np.nan), current()
    for node, others, parents in markov_claims(dag):
        deadline.check()
        found[node, others] = test(node, others, parents)
    return found
