"""Collects what is known at the end of a run: a proof, margins, other classes and edge posteriors, where available."""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from drbo.arrays import Bools, Floats, Indices
from drbo.claims.known_margins import KnownAlternatives
from drbo.claims.likely_families import likely_families
from drbo.claims.margins import Alternatives, OtherClass
from drbo.claims.probabilities.posterior import MAX_SAMPLED_NODES, by_chains, by_sums, evidence
from drbo.claims.record import Claims, Margins, Proof, RankedClass
from drbo.constraints import Constraints
from drbo.deadline import current, no_deadline
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import MAX_NODES, FamilyTables, all_tables, compiled_work, tables_of
from drbo.search.exact.proof import Certificate, certify, certify_large, check_size, fits
from drbo.search.exact.useful_parents import Effort, enumerable
from drbo.search.outcome import Evaluated, Outcome

#: What nobody has to ask for is counted in families, states and steps, which are the same on every machine. Tables of
#: all families may take so many steps; with at most so many families (18 columns) they also give margins, other classes
#: and a posterior, each of which is several passes over all of them.
FREE_WORK, FREE_FAMILIES = 3e8, 3 * 10**6
#: What a proof by the parent sets of use may take.
FREE_EFFORT: dict[str, Any] = {"max_looked_at": 3 * 10**7, "max_kept": 10**5, "max_followed": 10**5, "group": 16}
#: Up to this many nodes tables are made of few known families; above they would hold almost nothing.
MAX_KNOWN_NODES = 16
#: Equivalence classes listed.
TOP = 10
#: Scores that differ by less, relative to their size, are the same.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Findings:
    """What is known beside the best DAG; None where nothing valid can be said."""

    certificate: Certificate | None = None
    margins: Margins | None = None
    classes: tuple[OtherClass, ...] = ()
    posterior: Floats | None = None  # (d, d) probability of each edge
    over: str = ""  # the DAGs that margins, classes and posterior speak of
    prior: str = ""  # of the posterior

    @property
    def proof(self) -> Proof | None:
        """What the certificate says about all DAGs."""
        if (found := self.certificate) is None:
            return None
        return Proof(upper_bound=found.upper_bound, tolerance=found.tolerance, valid_for=found.valid_for)


def look_back(
    outcome: Outcome,
    evaluator: Evaluator,
    constraints: Constraints,
    exact: str,
    rationed: bool,
    seconds: float = np.inf,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Outcome, Findings]:
    """Return the outcome, with the optimum where it was proved, and all that is known about it.

    Parameters
    ----------
    exact : ``"on"``: score all families that the knowledge allows, whatever it takes; ``"off"``: none beyond those
        known; ``"auto"``: within a budget of families and states, by formula.
    rationed : evaluations are to be spent sparingly: ``"auto"`` then spends none.
    seconds : left for the proof of a large graph.
    stop : asked while it is made; True ends it with what is proved by then.

    An interrupt, or the deadline, ends the look back, not the run: what is known by then is returned.
    """
    late = current().over()
    if late and evaluator.score.n_nodes > MAX_KNOWN_NODES:
        return outcome, Findings()
    exact = "off" if late else exact
    with no_deadline() if late else nullcontext():  # what is known about few nodes takes a moment
        outcome, findings = _looked_back(outcome, evaluator, constraints, exact, rationed, seconds, stop)
    return replace(outcome, n_evals=evaluator.n_evals, n_local=evaluator.n_local), findings


def _looked_back(
    outcome: Outcome,
    evaluator: Evaluator,
    constraints: Constraints,
    exact: str,
    rationed: bool,
    seconds: float,
    stop: Callable[[], bool],
) -> tuple[Outcome, Findings]:
    findings = Findings()
    try:
        tables = _tables(evaluator, outcome.best, constraints, exact, rationed)
        proof = None
        if tables is None:
            proof = _proof(evaluator, outcome.best, constraints, exact, rationed, seconds, _stopped_by(stop))
        elif tables.complete and exact != "off":
            proof = certify(tables, evaluator, constraints, outcome.best)
        if proof is not None and proof.best.scores[0] > outcome.best.scores[0] + proof.tolerance:
            outcome = replace(outcome, best=proof.best, found_by="exact")
        findings = Findings(certificate=proof)
        if tables is None or evaluator.score.n_nodes > MAX_NODES:
            spend = tables is not None or (exact != "off" and not rationed)
            best, findings = _near(evaluator, outcome.best, constraints, spend=spend)
            findings = replace(findings, certificate=proof)
            if best is not outcome.best:
                outcome = replace(outcome, best=best, found_by="recombination")
        else:
            findings = _alternatives(findings, tables, evaluator, outcome.best)
            if (better := _better(findings, evaluator, outcome.best)) is not None:
                outcome = replace(outcome, best=better, found_by="recombination")
                findings = _alternatives(findings, tables, evaluator, better)
    except KeyboardInterrupt:  # an OutOfTimeError among others
        pass
    return outcome, findings


def _tables(
    evaluator: Evaluator, best: Evaluated, constraints: Constraints, exact: str, rationed: bool
) -> FamilyTables | None:
    d = evaluator.score.n_nodes
    if exact == "on" and fits(evaluator.score, evaluator.settings.max_memory):
        return all_tables(evaluator, constraints)
    if exact == "on":
        check_size(evaluator.score, evaluator.settings.max_memory)
        return None
    if exact == "auto" and not rationed and _is_free(evaluator) and d << (d - 1) <= FREE_FAMILIES:
        return all_tables(evaluator, constraints)
    if d > MAX_KNOWN_NODES:
        return None
    if exact == "off" or rationed:
        return tables_of(evaluator.known()[0], evaluator, constraints)
    level = evaluator.score.level_of(best.local[0])
    return tables_of(likely_families(evaluator, constraints, best.dags[0], level), evaluator, constraints)


def _is_free(evaluator: Evaluator) -> bool:
    """Tell whether tables of all families are made unasked; those of splines for up to 12 columns."""
    score = evaluator.score
    work = compiled_work(score)
    if (each := score.family_work()) is not None:
        work = score.n_nodes * 2.0 ** (score.n_nodes - 1) * each
    return work is not None and work <= FREE_WORK


def _stopped_by(stop: Callable[[], bool]) -> Callable[[], float]:
    """Return a clock on which all time is over when somebody asks to stop."""
    return lambda: np.inf if stop() else time.monotonic()


def _proof(
    evaluator: Evaluator,
    best: Evaluated,
    constraints: Constraints,
    exact: str,
    rationed: bool,
    seconds: float,
    clock: Callable[[], float],
) -> Certificate | None:
    """Return a bound by the parent sets of use, where tables of all families are too large; unasked only a proof."""
    listed = enumerable(evaluator.score) is not None
    if exact == "off" or (exact == "auto" and rationed) or (exact == "on" and not listed):
        return None
    if exact == "on":
        memory = evaluator.settings.max_memory * 2**30
        room = {"max_kept": int(memory / 256), "max_states": int(memory / 64)}
        effort = Effort(time.monotonic() + seconds, clock=clock, **room)
        return certify_large(evaluator, constraints, best, effort)
    if evaluator.score.level_of(best.local[0]) is not None:  # many levels to solve
        return None
    if listed:
        effort = Effort(time.monotonic() + seconds, clock=clock, **FREE_EFFORT)
        proof = certify_large(evaluator, constraints, best, effort)
        if proof is not None and proof.upper_bound <= proof.best.scores[0] + proof.tolerance:
            return proof
    return certify(all_tables(evaluator, constraints), evaluator, constraints, best) if _is_free(evaluator) else None


def _alternatives(findings: Findings, tables: FamilyTables, evaluator: Evaluator, best: Evaluated) -> Findings:
    score, dag = evaluator.score, best.dags[0]
    level = score.level_of(best.local[0])
    others = Alternatives(tables, score, level)
    over = "all DAGs" if tables.complete else _built_from(tables.n_families)
    findings = replace(findings, margins=others.margins(dag), classes=tuple(others.classes(dag, TOP)), over=over)
    if score.evidence_scale is None or level is not None:
        return findings
    logs = evidence(others.shares, score)
    posterior, prior = by_sums(logs, dag, evaluator.settings.expected_parents)
    return replace(findings, posterior=posterior, prior=prior)


def _better(findings: Findings, evaluator: Evaluator, best: Evaluated) -> Evaluated | None:
    """Return the best class made of known families where it beats the best DAG of the search: it costs nothing."""
    if not evaluator.settings.parts.recombine:
        return None
    top = max(findings.classes, key=lambda other: other.score)
    better = evaluator.evaluate_one(top.dag)
    return better if better.scores[0] > best.scores[0] + abs(best.scores[0]) * ROUNDING else None


def _near(
    evaluator: Evaluator, best: Evaluated, constraints: Constraints, *, spend: bool
) -> tuple[Evaluated, Findings]:
    """Return what the likely families say about a large graph; unless they may be scored (``spend``), the known ones.

    If they make up a better graph, that one is returned in place of the given one.
    """
    better: Evaluated | None = best
    while better is not None:
        best = better
        dag, level = best.dags[0], evaluator.score.level_of(best.local[0])
        families = likely_families(evaluator, constraints, dag, level) if spend else None
        others = KnownAlternatives(evaluator, dag, level, families)
        over = _built_from(others.n_families)
        findings = Findings(margins=others.margins(), classes=tuple(others.classes(TOP)), over=over)
        better = _better(findings, evaluator, best)
    if evaluator.score.evidence_scale is None or level is not None or len(dag) > MAX_SAMPLED_NODES:
        return best, findings
    posterior, prior = by_chains(others, evaluator.settings.expected_parents)
    return best, replace(findings, posterior=posterior, prior=prior)


def _built_from(n_families: int) -> str:
    """Return the DAGs that claims speak of where they are over some families."""
    return f"DAGs built from {n_families:,} families"


def redrawn(
    outcome: Outcome,
    findings: Findings,
    evaluator: Evaluator,
    member: Bools,  # (d, d) of the class of the best DAG, with the same score
) -> tuple[Outcome, Findings]:
    """Return the same outcome and findings, with another member of the class as the best DAG."""
    best, margins, classes = outcome.best, findings.margins, findings.classes
    if margins is not None:
        turned = best.dags[0] & ~member
        removed, reverse = (np.where(turned.T, part.T, part) for part in (margins.removed, margins.reversed))
        for part in (removed, reverse):
            part[turned] = np.nan
        margins = Margins(removed, reverse, margins.exact)
    if classes:
        classes = (replace(classes[0], dag=member), *classes[1:])
    again = replace(evaluator.evaluate_one(member), scores=best.scores)  # equal but for rounding
    outcome = replace(outcome, best=again, n_evals=evaluator.n_evals, n_local=evaluator.n_local)
    return outcome, replace(findings, margins=margins, classes=classes)


def claims_of(findings: Findings, columns: Indices, names: Sequence[str]) -> Claims:
    """Return findings about permuted columns as claims about the given ones; new column k was ``columns[k]``."""

    def back(matrix: Floats) -> Floats:
        given = np.empty_like(matrix)
        given[np.ix_(columns, columns)] = matrix
        given.setflags(write=False)  # kept as it is, not copied
        return given

    margins = findings.margins
    if margins is not None:
        margins = Margins(back(margins.removed), back(margins.reversed), margins.exact)
    best = findings.classes[0].score if findings.classes else 0.0
    classes = []
    for other in findings.classes:
        if other.score > best + abs(best) * ROUNDING:  # the paper's search does not take the better graph
            continue
        edges = sorted(columns[np.argwhere(other.dag)].tolist())
        named = tuple((names[i], names[j]) for i, j in edges)
        classes.append(RankedClass(score=other.score, behind=max(0.0, best - other.score), edges=named))
    posterior = None if findings.posterior is None else back(findings.posterior)
    return Claims(
        margins=margins, classes=tuple(classes), over=findings.over, posterior=posterior, prior=findings.prior
    )
