"""The conformance tests for claims: what every :class:`~drbo.claims.claim.Claim` promises about any answer."""

from dataclasses import fields
from typing import Any, get_args

import numpy as np

from drbo.arrays import Bools
from drbo.claims.answer.stages import Answer
from drbo.claims.claim import Claim, Context, Inquiry, Ruling
from drbo.claims.denial import Denial, Ground
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline, OutOfTimeError, Stop
from drbo.errors import ContractError
from drbo.graph.dag import check_dag
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.outcome import Outcome
from drbo.settings import Settings


def check_claim(claim: Claim, table: Statistics, dag: Any, *, score: Any = "bic-nv", **inquiry: Any) -> Ruling:
    """Check that a claim keeps its contract about a DAG (d, d) of a table, or raise a ContractError; return its ruling.

    The claim must declare what it may deny; deny only that, only for arrows of the DAG, and only where it was made;
    say the same twice; leave the table and the DAG as they are; and end when the time is over. ``inquiry`` sets other
    fields of :class:`~drbo.claims.claim.Inquiry`, such as ``rationed=True``.

    Examples
    --------
    >>> from drbo.claims.checks.collider_check import ColliderCheck
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> x[:, 2] += x[:, 0] + x[:, 1]
    >>> check_claim(ColliderCheck(), Statistics.from_array(x), [[0, 0, 1], [0, 0, 1], [0, 0, 0]]).denied
    ()
    """
    _check_declared(claim)
    given = check_dag(dag, table.names)
    values = table.values.copy()
    first, second = (_ruling(claim, _context(table, given.copy(), score, inquiry)) for _ in range(2))
    if first.denied != second.denied or first.skipped != second.skipped:
        raise ContractError(f"claim '{claim.name}' says something else when it is made again", hint="use a fixed seed")
    if first.skipped and first.denied:
        raise ContractError(f"claim '{claim.name}' denies arrows although it was skipped")
    for denial in first.denied:
        _check_denial(claim, denial, table.names, given)
    if not np.array_equal(values, table.values):
        raise ContractError(f"claim '{claim.name}' changed the table")
    _check_ending(claim, _context(table, given.copy(), score, inquiry))
    return first


def _check_declared(claim: Claim) -> None:
    for name in ("name", "title"):
        if not isinstance(getattr(claim, name, None), str) or not getattr(claim, name):
            raise ContractError(f"a claim must have a {name}: {type(claim).__name__}")
    wrong = [ground for ground in claim.denies if not ground or ground not in get_args(Ground)]
    if wrong or not isinstance(claim.denies, tuple):
        known = ", ".join(filter(None, get_args(Ground)))
        raise ContractError(f"claim '{claim.name}': denies must be a tuple of {known}, got {claim.denies!r:.80}")
    if claim.name in claim.after:
        raise ContractError(f"claim '{claim.name}' cannot be made after itself")


def _context(table: Statistics, dag: Bools, score: Any, options: dict[str, Any]) -> Context:
    """Return what a claim is made from after a search that found this DAG."""
    built = build_score(score, table) if isinstance(score, str | type) else score
    evaluator, free = Evaluator(built, Settings()), Constraints.none(table.n_columns)
    best = evaluator.evaluate_one(dag)
    outcome = Outcome(best, "given", evaluator.n_evals, evaluator.n_local, Stop.NOTHING_NEW, "")
    asked: dict[str, Any] = {
        "table": table, "given": table, "score": built, "evaluator": evaluator, "constraints": free, "limits": free,
        "settings": Settings(), "seed": 0,
    }  # fmt: skip
    if unknown := set(options) - {each.name for each in fields(Inquiry)}:
        raise ContractError(f"Inquiry has no field '{min(unknown)}'")
    return Context(inquiry=Inquiry(**(asked | options)), answer=Answer(outcome=outcome, dag=dag, score=0.0))


def _ruling(claim: Claim, context: Context) -> Ruling:
    """Make a claim as the runner does."""
    before = context.answer.dag.copy()
    if not claim.relevant(context):
        return Ruling()
    if why := claim.too_much(context):
        return Ruling(skipped=why)
    ruling = claim.run(context)
    if not isinstance(ruling, Ruling):
        raise ContractError(f"claim '{claim.name}' must return a Ruling, got {type(ruling).__name__}")
    if not np.array_equal(before, context.answer.dag):
        raise ContractError(f"claim '{claim.name}' changed the answer, which claims only read")
    return ruling


def _check_denial(claim: Claim, denial: Denial, names: tuple[str, ...], dag: Bools) -> None:
    arrow = f"{denial.cause} -> {denial.effect}"
    if denial.cause not in names or denial.effect not in names:
        raise ContractError(f"claim '{claim.name}' denies {arrow}, which are no columns of the table")
    if not dag[names.index(denial.cause), names.index(denial.effect)]:
        raise ContractError(f"claim '{claim.name}' denies {arrow}, which is no arrow of the answer")
    if denial.claim != claim.name or not set(denial.grounds) <= set(claim.denies):
        raise ContractError(f"claim '{claim.name}' denies more than it declares: {denial.claim}, {denial.grounds}")
    if not denial.sentence:
        raise ContractError(f"claim '{claim.name}' denies {arrow} without a sentence that says why")


def _check_ending(claim: Claim, context: Context) -> None:
    """Let a claim begin when the time is over: it ends by an OutOfTimeError, or was as good as done."""
    try:
        with Deadline(0.0):
            _ruling(claim, context)
    except OutOfTimeError:
        return
    except Exception as error:
        raise ContractError(f"claim '{claim.name}' fails when the time is over: {error}") from error
