"""From a checked table to a result: prepare the problem, search, examine what was found, and build the result.

The module is long because all that a result tells is put together in one place.
"""

import platform
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import metadata
from typing import Any

import numpy as np

import drbo
from drbo.arrays import Bools
from drbo.choices import ScoreChoice
from drbo.claims.ancestral import ancestral_answer
from drbo.claims.answer.class_member import agreeing_member, same_score
from drbo.claims.answer.prune import BY_MOMENTS, linear_weights, prune
from drbo.claims.collider_check import collider_doubts
from drbo.claims.experiment_check import checked_mechanisms
from drbo.claims.experiments import experiment_record, shared_weights, unfollowed, with_unfollowed
from drbo.claims.findings import Findings, claims_of, look_back, redrawn
from drbo.claims.hidden_check import Suspects, suspected, with_doubts
from drbo.claims.noise_check import noise_checks
from drbo.claims.record import CheckedEdge, ExperimentRecord
from drbo.data.checks.audit import audit, audit_arrows
from drbo.data.checks.facts import Audit, Finding
from drbo.data.checks.impute import imputations
from drbo.data.checks.prepare import Prepared
from drbo.data.files.lock import locked
from drbo.data.statistics.square import within
from drbo.data.statistics.table import Table
from drbo.deadline import Deadline, OutOfTimeError, current, finishing
from drbo.graph.dag import dag_to_cpdag
from drbo.independence.residual_tests import Regression, TableTests
from drbo.problem import Problem, Request, prepare
from drbo.result.hidden import HiddenResult
from drbo.result.pooling import pooled
from drbo.result.records import Provenance, Scoring, SearchRecord, TableRecord, Trace
from drbo.result.result import Result
from drbo.scores.base import Score
from drbo.scores.experiments import ExperimentBIC
from drbo.scores.families import Families
from drbo.scores.linear import BicNV
from drbo.search.checkpoint.saver import Saved, Saver, begin, make_folder
from drbo.search.outcome import Callback, Outcome, Progress
from drbo.search.stopping import Asked
from drbo.settings import Settings
from drbo.torch_device import has_torch

#: The last steps of a fit take about as long as the first ones, which are timed: so much of the time limit is kept back
#: for them, and at most this share of it.
MOST_KEPT_BACK = 0.25
#: Tables of more columns or cells are not looked at once more when the time is over.
MANY_COLUMNS, MANY_CELLS = 200, 2 * 10**6
#: What a run leaves out when the time is over.
NO_MARGINS = "margins and alternative equivalence classes were not computed: time ran out"
NO_DIGEST = "the table was not hashed, so it cannot be recognised later as the data of this fit: time ran out"
NO_CHECKPOINT = "the search was not saved: time ran out before it began"
NO_TIME_FOR_A_BOUND = "no bound was found before time ran out; raise time_limit"
NO_PRUNING = "weak edges were not removed: time ran out before they were tested"
NO_NOISE_CHECK = "the directions of edges were not checked against the residuals: time ran out"
NO_ROWS = "directions rest on the equivalence class: residuals cannot be checked, because only moments are known"
NO_AUDIT = "the table was not audited: time ran out"
#: What a run says that was asked for a proof and has none.
NO_BOUND = (
    "no bound was found, because too many parent sets can be part of a best graph; lower max_parents in the "
    "knowledge, raise max_memory or time_limit, or raise the penalty of the score"
)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A result, and the score that it was found with."""

    result: Result
    choice: ScoreChoice


def fit(request: Request, data: Prepared, saved: Saved | None = None) -> Fitted:
    """Search a checked table, or completed copies of it."""
    with within(request.settings.max_memory):
        if request.choices.missing == "impute" and data.table.incomplete:
            return _fit_completed(request, data)
        return _fit_table(request, data, saved)


def _fit_completed(request: Request, data: Prepared) -> Fitted:
    """Fit completed copies of a table; keep the most typical result, with the shares of all."""
    m, results, choice = request.choices.imputations, list[Result](), None
    for k, copy in enumerate(imputations(data.table, m, request.seed)):
        with Deadline(current().share(m - k)):
            fitted = _fit_table(request, replace(data, table=copy), None, choice)  # one score for all copies
        results.append(fitted.result)
        choice = fitted.choice
        if current().over():
            break
    result = pooled(results, "imputation", request.seed, asked=m)
    result = replace(result, table=replace(result.table, sha256=data.table.digest()))
    return Fitted(result, fitted.choice)


def _fit_table(
    request: Request, data: Prepared, saved: Saved | None = None, choice: ScoreChoice | None = None
) -> Fitted:
    """Search a checked table; what was asked for is saved first, if there is a folder for it."""
    about = {"columns": data.columns, "notes": list(data.notes), "versions": versions()}
    with _saved_first(request, data.table, about, saved):
        problem = prepare(request, data, saved, choice)
        deadline = current()
        prepared = time.monotonic() - deadline.began
        deadline.keep_back(min(prepared, MOST_KEPT_BACK * (prepared + deadline.left())))
        return Fitted(tell(problem, search(problem, about)), problem.choice)


@contextmanager
def _saved_first(request: Request, table: Table, about: dict[str, Any], saved: Saved | None) -> Iterator[None]:
    """Hold the lock of the checkpoint's folder; save a new search there before it starts."""
    if request.folder is None or (saved is None and table.is_hurried):  # no time to write it
        yield
        return
    about["parameters"] = _parameters(request, request.settings)
    make_folder(request.folder)
    with locked(request.folder):
        about |= begin(request.folder, table, about) if saved is None else saved.data_about
        yield


def search(problem: Problem, about: dict[str, Any]) -> Outcome:
    """Run a search, saved every so often, with what is known about it, if there is a folder for it."""
    request, course, saver = problem.request, problem.course, None
    callbacks: list[Callback] = [course.recorder, course.limits, *request.callbacks]
    if request.folder is not None and "table_sha256" not in about:
        warnings.warn(NO_CHECKPOINT, stacklevel=2)
    elif request.folder is not None:
        about = about | {"parameters": _parameters(request, problem.settings)}
        saver = Saver(request.folder, course, problem.table, about)
        callbacks.append(saver)
    outcome = course.state.run(callbacks)
    if saver is not None and course.state.whole:
        saver.try_to_save()
    return outcome


def _parameters(request: Request, settings: Settings) -> dict[str, Any]:
    return request.parameters | {"settings": settings.to_dict(), "random_state": request.seed}


def tell(problem: Problem, outcome: Outcome) -> Result:
    """Look back on a search that is over, prune what it found, and tell all about it."""
    outcome, findings, notes = _looked_back(problem, outcome)
    late = current().over()
    table, job, score, request = problem.table, problem.job, problem.score, problem.request
    pruned, pruned_score, pruner, more = _pruned(problem, outcome)
    drawn, noise, unchecked = _noise_checks(problem, pruned, is_whole=pruner == "none")
    if (drawn != pruned).any():  # another member of the class
        pruned, member = drawn, drawn[np.ix_(job.columns, job.columns)]
        outcome, findings = redrawn(outcome, findings, problem.course.state.evaluator, member)
    unhashed = table.large and (late or problem.is_hurried)
    notes = (*problem.data.notes, *outcome.notes, *notes, *more, *unchecked, *([NO_DIGEST] if unhashed else []))
    ordered = pruned[np.ix_(job.columns, job.columns)]
    weights, standardised = linear_weights(table.rows_or_moments, pruned) if isinstance(score, BicNV) else (None, None)
    if type(score) is ExperimentBIC:
        weights, standardised = map(job.restored, shared_weights(score, ordered))
    for matrix in (weights, standardised):
        if matrix is not None:
            matrix.setflags(write=False)  # kept as it is, not copied
    result = Result(
        names=table.names,
        dag=pruned,
        pruned_score=pruned_score,
        pruner=pruner,
        weights=weights,
        standardised_weights=standardised,
        scoring=Scoring(
            name=score.name,
            equivalent=score.score_equivalent or score.by_experiment,
            options=_plain_options(problem.choice.options),
            array_options=tuple(name for name, value in problem.choice.options.items() if not _is_plain(value)),
            assumption=_assumption(score),
            regression=score.regression,
            evidence_scale=score.evidence_scale,
        ),
        search=_search_record(problem, outcome),
        proof=findings.proof,
        claims=replace(
            claims_of(findings, job.columns, table.names),
            noise=noise,
            experiments=_experiments(problem, ordered),
        ),
        knowledge=request.knowledge,
        table=TableRecord(
            n_rows=table.n_all,
            n_effective=_worth(table),
            groups=request.choices.group_column,
            n_groups=0 if table.groups is None else len(np.unique(table.groups)),
            sha256="" if unhashed else job.digest(),
            audit=_audited(table.control_rows, pruned, score.score_equivalent, late, request.choices.groups is False),
        ),
        provenance=Provenance(settings=problem.settings.to_dict(), seed=request.seed, versions=versions()),
        call=request.call,
        reasons=(*problem.reasons, *notes, *request.notes),
    )
    if not request.choices.hidden:
        return result
    with finishing():
        limits = problem.constraints.permuted(job.columns)
        found = ancestral_answer(score, outcome.best.dags[0], limits, request.seed)
    return HiddenResult.of(result, found.rearranged(job.restored))


def _search_record(problem: Problem, outcome: Outcome) -> SearchRecord:
    """Return the best DAG of the search, over the given columns, and how it was found."""
    job, best, recorder = problem.job, outcome.best, problem.course.recorder
    course: dict[str, Any] = dict(recorder.columns())
    ended = None if outcome.stop.cut_short else current().reason
    return SearchRecord(
        dag=job.restored(best.dags[0]),
        score=float(best.scores[0]),
        local=job.restored_vector(best.local[0]),
        price=job.restored_vector(problem.score.family_price(Families.from_dags(best.dags))),
        found_by=outcome.found_by,
        stop=outcome.stop,
        afterwards=None if ended is None else ended.why,
        stopped=outcome.stopped if ended is None else f"{outcome.stopped}; {ended.words} afterwards",
        n_evals=outcome.n_evals,
        n_local=outcome.n_local,
        fidelities=outcome.fidelities,
        seconds=recorder.seconds,
        trace=Trace(**course),
    )


def _looked_back(problem: Problem, outcome: Outcome) -> tuple[Outcome, Findings, tuple[str, ...]]:
    """Return the outcome with a proof, margins and other classes where there are any, and what there is to say."""
    evaluator, settings, notes = problem.course.state.evaluator, problem.settings, list[str]()
    with suppress(OutOfTimeError), finishing():
        if (doubt := evaluator.doubt(outcome.best)) is not None:
            warnings.warn(doubt, stacklevel=2)
            notes.append(doubt)
    exact = "off" if outcome.stop.cut_short else settings.exact  # the user or the clock ended the search
    rationed = problem.request.choices.rationed(settings)
    best = float(outcome.best.scores[0]), outcome.best.dags[0].copy()
    progress = Progress(len(problem.course.recorder), outcome.n_evals, outcome.n_local, *best, proving=True)
    asked = Asked(problem.request.callbacks, progress)
    outcome, findings = look_back(outcome, evaluator, problem.limits, exact, rationed, current().left(), asked)
    late = current().over()
    if late and findings.margins is None:
        notes.append(NO_MARGINS)
    if exact == "on" and findings.certificate is None:
        notes.append(NO_TIME_FOR_A_BOUND if late else NO_BOUND)
        warnings.warn(notes[-1], stacklevel=2)
    return outcome, findings, tuple(notes)


def _pruned(problem: Problem, outcome: Outcome) -> tuple[Bools, float, str, tuple[str, ...]]:
    """Prune the best DAG; return it over the given columns, its score, the pruner, and what there is to say."""
    job, dag = problem.job, outcome.best.dags[0]
    pruner = problem.request.choices.pruner(type(problem.score))
    if pruner == "none":
        return job.restored(dag), float(outcome.best.scores[0]), pruner, ()
    required = problem.constraints.permuted(job.columns).required
    data = job.table.rows_or_moments if pruner in BY_MOMENTS else job.table.values
    try:
        with finishing():
            kept, _ = prune(pruner, data, dag, required=required, threshold=problem.settings.prune_threshold)
            evaluator = problem.course.state.evaluator
            local = evaluator.families(Families.from_dags(kept[None]))[None]
            return job.restored(kept), float(evaluator.scores(kept[None], local)[0]), pruner, ()
    except OutOfTimeError:
        return job.restored(dag), float(outcome.best.scores[0]), "none", (NO_PRUNING,)


def _noise_checks(
    problem: Problem,
    given: Bools,  # (d, d) over the given columns
    is_whole: bool,  # nothing was pruned
) -> tuple[Bools, tuple[CheckedEdge, ...], tuple[str, ...]]:
    """Check the directions of the edges against the residuals.

    Returns the graph, or the member of its class that agrees with the checks; the checks; and what there is to say.
    Where causes may be hidden, nothing is checked.
    """
    if problem.request.choices.hidden:
        return given, (), ()
    table, columns, seed = problem.job.table.control_rows, problem.job.columns, problem.request.seed
    dag, limits, score = given[np.ix_(columns, columns)], problem.constraints.permuted(columns), problem.score
    may_turn = is_whole and score.score_equivalent and not problem.request.choices.rationed(problem.settings)
    found: tuple[CheckedEdge, ...] = ()
    doubts: dict[tuple[str, str], str] = {}
    try:
        with finishing():
            if table.n_rows and dag.any():
                tests, regression = TableTests(table, seed), score.regression
                found = noise_checks(tests, dag, regression)
                if may_turn:
                    check = partial(noise_checks, tests, regression=regression)
                    ties = partial(same_score, problem.course.state.evaluator, dag)
                    dag, found = agreeing_member(dag, found, limits, check, ties)
                smooth: Regression = "splines" if regression in (None, "linear") else regression
                doubts = collider_doubts(tests, dag, smooth)
            suspects = suspected(score, dag, seed, problem.job.table)
    except OutOfTimeError:
        return given, (), (NO_NOISE_CHECK,)
    found = tuple(replace(one, doubt=doubts.get((one.cause, one.effect), "")) for one in found)
    found = with_unfollowed(found, unfollowed(score, problem.job.table, dag))
    suspects = Suspects(*map(problem.job.restored, suspects))
    checks = with_doubts(found, suspects, problem.table.names)
    return problem.job.restored(dag), checks, () if table.n_rows else (NO_ROWS,)


def _experiments(
    problem: Problem,
    dag: Bools,  # (d, d) over the columns of the job
) -> ExperimentRecord | None:
    """Return what experiments change; whether mechanisms fit their rows is left out when the time is over."""
    table = problem.job.table
    record = experiment_record(problem.score, table, dag)
    with suppress(OutOfTimeError), finishing():
        return record and checked_mechanisms(record, problem.score, table, dag, problem.request.seed)
    return record


def versions() -> dict[str, str]:
    """Return the versions that decide the numbers of a result."""
    found = {"drbo": drbo.__version__, "python": platform.python_version(), "numpy": np.__version__}
    return found | ({"torch": _torch_version()} if has_torch() else {})


@cache
def _torch_version() -> str:
    """Return the version of torch without importing it: a search in many files, which small fits would notice."""
    return metadata.version("torch")


def _assumption(score: Score) -> str:
    return "rows with interventions" if score.targets is not None else score.assumption


def _audited(table: Table, dag: Bools, is_class: bool, late: bool, independent: bool) -> Audit:
    """Return what the table looks like, and what that means for the arrows of a graph."""
    if late and (table.n_columns > MANY_COLUMNS or table.values.size > MANY_CELLS):
        return Audit(findings=(Finding("time limit", NO_AUDIT, serious=False),))
    found = audit(table, independent=independent)
    settled = dag_to_cpdag(dag) if is_class else dag
    return replace(found, findings=(*found.findings, *audit_arrows(table, dag, settled & ~settled.T)))


def _worth(table: Table) -> float:
    """Return what rows that do not count as one each are worth together; 0: each counts as one."""
    each = table.weights is None if table.totals is None else table.totals.worth == 1
    return 0.0 if each else table.n_counted


def _plain_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the score's options for the record: arrays as their shape."""
    return {name: value if _is_plain(value) else f"array {np.shape(value)}" for name, value in options.items()}


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool, type(None)))
