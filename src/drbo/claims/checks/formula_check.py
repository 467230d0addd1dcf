"""Which columns are almost formulas of others? Around them the data tell no direction.

A total and its parts, or one quantity in two units, determine each other but for rounding. What little is left is no
noise of a mechanism, and given such columns others seem to be independent that are not (faithfulness fails).
"""

from collections.abc import Iterator

import numpy as np

from drbo.arrays import Bools
from drbo.claims.checks.noise_check import MAX_CAUSES
from drbo.claims.claim import Context, ResidualClaim, Ruling, denials
from drbo.deadline import current
from drbo.independence.residual_tests import TableTests
from drbo.machine.threads import one_blas_thread

#: A cause that leaves less than this share of what the other causes leave of an effect is a part of a formula.
LEAST_LEFT = 0.01
#: What is said about the arrows at both ends.
FORMULA = "'{}' is almost a formula of '{}'{}, and around formulas the data tell no direction."


class Formulas(ResidualClaim):
    """The claim that neither end of an arrow is part of a formula."""

    name, title = "formulas", "the look for formulas"
    denies = ("noise-check", "class")
    repeated = False  # a formula holds in all rows

    def run(self, context: Context) -> Ruling:
        dag, names, sentences = context.answer.dag, context.table.names, dict[tuple[str, str], str]()
        for cause, effect in formulas(context.inquiry.tests, dag):
            others = " and other columns" if dag[:, effect].sum() > 1 else ""
            words = FORMULA.format(names[effect], names[cause], others)
            for i, j in np.argwhere(dag).tolist():
                if {i, j} & {cause, effect}:
                    sentences.setdefault((names[i], names[j]), words)
        return Ruling(None, denials(self, sentences))


def formulas(tests: TableTests, dag: Bools) -> Iterator[tuple[int, int]]:
    """Yield the arrows (cause, effect) with a partial R2 above 0.99, by additive splines.

    Examples
    --------
    >>> from drbo.data.statistics.statistics import Statistics
    >>> rng = np.random.default_rng(0)
    >>> meals, rooms = rng.gamma(4.0, size=(2, 500))
    >>> table = Statistics.from_array(np.column_stack([meals, rooms, meals + rooms + 0.01 * rng.normal(size=500)]))
    >>> dag = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> list(formulas(TableTests(table), dag))
    [(0, 2), (1, 2)]
    """
    additive = tests.by("splines")
    with one_blas_thread():
        for effect in np.flatnonzero(dag.any(axis=0) & tests.fine).tolist():
            current().check()
            causes = np.flatnonzero(dag[:, effect]).tolist()
            if len(causes) > MAX_CAUSES or (left := additive.left(effect, causes)) >= LEAST_LEFT:
                continue  # a partial R2 is no larger than R2
            for cause in causes:
                if left < LEAST_LEFT * additive.left(effect, [one for one in causes if one != cause]):
                    yield cause, effect
