"""The audit of a table as a claim: the class supports no direction where rows depend on each other.

What neighbouring rows share may be a hidden cause. The noise check allows for such rows itself where it sees their
order, and supports nothing either where it does not.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from drbo.claims.claim import Claim, Context, Ruling
from drbo.claims.denial import Denial, Ground
from drbo.data.checks.audit import audit, audit_arrows
from drbo.deadline import current
from drbo.graph.dag import dag_to_cpdag

#: Cells that are looked at in a second at least.
CELLS = 4e6
#: What is said about the arrows of a table whose rows depend on each other.
SERIAL = (
    "The score prefers this direction, but neighbouring rows depend on each other, and what they share may be a hidden "
    "cause."
)


class RowAudit(Claim):
    """What the rows and columns look like, and whether rows are independent."""

    name, title = "audit", "the audit of the table"
    denies = ("noise-check", "class")
    repeated = False  # it looks at rows in the order in which they were given
    always = True

    def relevant(self, context: Context) -> bool:
        return True

    def run(self, context: Context) -> Ruling:
        asked, answer = context.inquiry, context.answer
        table = asked.given.control_rows
        current().check(table.values.size / CELLS)
        place = {name: k for k, name in enumerate(asked.table.names)}
        columns = [place[name] for name in table.names]
        dag = answer.dag[np.ix_(columns, columns)]
        settled = dag_to_cpdag(dag) if context.score.score_equivalent else dag
        found = audit(table, independent=asked.independent)
        found = replace(found, findings=(*found.findings, *audit_arrows(table, dag, settled & ~settled.T)))
        if not found.is_serial or asked.hidden:
            return Ruling(found)
        known: tuple[Ground, ...] = (
            self.denies if asked.table.order is None else ("class",)
        )  # or the noise check sees it
        arrows = ((table.names[i], table.names[j]) for i, j in np.argwhere(dag).tolist())
        told: dict[str, Any] = {"claim": self.name, "grounds": known, "sentence": SERIAL}
        return Ruling(found, tuple(Denial(cause=cause, effect=effect, **told) for cause, effect in arrows))
