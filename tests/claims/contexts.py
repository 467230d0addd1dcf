"""What claims are made from, without a search."""

from drbo.claims.answer.stages import Answer
from drbo.claims.claim import Context, Inquiry
from drbo.constraints import Constraints
from drbo.knowledge import Knowledge
from drbo.settings import Settings


def context_of(score, table, dag, **options):
    """Return the context of claims about a graph of a table."""
    known = Constraints.of(Knowledge(), table.names)
    inquiry = Inquiry(
        table=table, given=table, score=score, evaluator=None, constraints=known, limits=known, settings=Settings(),
        seed=0, **options,
    )  # fmt: skip
    return Context(inquiry=inquiry, answer=Answer(outcome=None, dag=dag, score=0.0))
