"""From a checked table to a result: prepare the problem, search, examine what was found, and build the result.

The module is long because all that a result tells is put together in one place.
"""

import platform
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import metadata
from typing import Any

import numpy as np

import drbo
from drbo.arrays import Floats
from drbo.choices import ScoreChoice
from drbo.claims.ancestral import unclimbed
from drbo.claims.answer.stages import STAGES, Answer, improved
from drbo.claims.checks.alternatives import EdgeMargins
from drbo.claims.checks.proof import ProofClaim
from drbo.claims.checks.row_audit import RowAudit
from drbo.claims.claim import Context, Inquiry
from drbo.claims.denial import ClaimRecord
from drbo.claims.record import Claims
from drbo.claims.registry import CLAIMS
from drbo.claims.runner import NO_TIME, Rulings, run_claims
from drbo.claims.told import claims_of
from drbo.data.checks.facts import Audit, Finding
from drbo.data.checks.impute import imputations
from drbo.data.checks.prepare import Prepared
from drbo.data.files.lock import locked
from drbo.data.statistics.square import takes_steps, within
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import (
    HEARING_SECONDS,
    INTERRUPTED,
    Deadline,
    OutOfTimeError,
    current,
    finishing,
    grace,
)
from drbo.design import Design
from drbo.errors import TimeLimitError
from drbo.machine.torch_device import has_torch
from drbo.problem import Problem, Request, prepare
from drbo.result.outcome import with_outcome
from drbo.result.pooling import pooled
from drbo.result.records import Provenance, Scoring, SearchRecord, SeriesRecord, TableRecord, Trace
from drbo.result.result import Result
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.search.checkpoint.saver import Saved, Saver, begin, make_folder
from drbo.search.outcome import Callback, Outcome, Progress
from drbo.search.stopping import Asked
from drbo.settings import Settings

#: The last steps of a fit take about as long as the first ones, which are timed: so much of the time limit is kept back
#: for them, and at most this share of it.
MOST_KEPT_BACK = 0.25
#: What a run leaves out when the time is over.
NO_MARGINS = "margins and alternative equivalence classes were not computed: time ran out"
NO_DIGEST = "the table was not hashed, so it cannot be recognised later as the data of this fit: time ran out"
NO_CHECKPOINT = "the search was not saved: time ran out before it began"
NO_WEIGHTS = "linear weights were not computed: time ran out"
HUNG = "the search did not return in time; this is the best graph that it had found, without any check of it"
NO_ROWS = "directions rest on the equivalence class: residuals cannot be checked, because only moments are known"
NOT_ASKED = "the settings, or a preset of the paper, say claims=False"
NOT_AUDITED = Audit(findings=(Finding("time limit", "the table was not audited: time ran out", serious=False),))


#: Linear weights of a graph, raw and standardised.
_Weights = tuple[Floats | None, Floats | None]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A result, and the score that it was found with."""

    result: Result
    choice: ScoreChoice


def fit(request: Request, data: Prepared, saved: Saved | None = None) -> Fitted:
    """Search a checked table, or completed copies of it."""
    try:
        with within(request.settings.max_memory):
            if request.choices.policy.missing == "impute" and data.table.incomplete:
                return _fit_completed(request, data)
            return _fit_table(request, data, saved)
    except OutOfTimeError as late:
        if current().interrupted:
            raise
        raise TimeLimitError(f"{late} before there was a result", hint="raise time_limit") from late


def _fit_completed(request: Request, data: Prepared) -> Fitted:
    """Fit completed copies of a table; keep the most typical result, with the shares of all."""
    m, results, choice = request.choices.policy.imputations, list[Result](), None
    try:
        for k, copy in enumerate(imputations(data.table, m, request.seed)):
            with Deadline(current().share(m - k)):
                part = replace(request, callbacks=_in_part(request.callbacks, f"imputed table {k + 1} of {m}"))
                fitted = _fit_table(part, replace(data, table=copy), None, choice)  # one score for all copies
            results.append(fitted.result)
            choice = fitted.choice
            if current().over():
                break
    except OutOfTimeError as late:
        if not results:
            raise TimeLimitError(f"{late} before missing cells were filled in", hint="raise time_limit") from late
    result = pooled(results, "imputation", request.seed, asked=m)
    result = replace(result, table=replace(result.table, sha256=data.table.digest()))
    return Fitted(result, fitted.choice)


def _in_part(callbacks: Sequence[Callback], part: str) -> tuple[Callback, ...]:
    """Return callbacks that are told of which part of a run the progress is."""

    def within_part(callback: Callback) -> Callback:
        return lambda progress: callback(replace(progress, part=part))

    return tuple(map(within_part, callbacks))


def _fit_table(
    request: Request, data: Prepared, saved: Saved | None = None, choice: ScoreChoice | None = None
) -> Fitted:
    """Search a checked table; what was asked for is saved first, if there is a folder for it."""
    about = {"columns": data.columns, "notes": list(data.notes), "versions": versions()}
    with _saved_first(request, data.table, about, saved):
        problem = prepare(request, data, saved, choice)
        deadline = current()
        prepared = time.monotonic() - deadline.began
        if takes_steps(problem.table.n_columns):  # a first graph, and to tell of it, takes about as long
            deadline.check(prepared)
        deadline.keep_back(min(prepared, MOST_KEPT_BACK * (prepared + deadline.left())))
        first = max(0.0, grace(deadline.seconds or 0.0) / 2 - deadline.left())  # as long as its first graph may take
        deadline.answer_with(partial(so_far, problem, deadline), HEARING_SECONDS + first)
        return Fitted(tell(problem, search(problem, about)), problem.choice)


@contextmanager
def _saved_first(request: Request, table: Statistics, about: dict[str, Any], saved: Saved | None) -> Iterator[None]:
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
        about = about | {"parameters": _parameters(request, problem.settings), "why_route": problem.why_route}
        saver = Saver(request.folder, course, problem.table, about)
        callbacks.append(saver)
    outcome = course.state.run(callbacks)
    if saver is not None and course.state.whole:
        saver.finish()
    return outcome


def _parameters(request: Request, settings: Settings) -> dict[str, Any]:
    return request.parameters | {"settings": settings.to_dict(), "random_state": request.seed}


def tell(problem: Problem, outcome: Outcome) -> Result:
    """Settle the answer of a search that is over, make all claims about it, and tell all of it."""
    deadline, inquiry = current(), _inquiry(problem, outcome)
    deadline.answer_with(partial(so_far, problem, deadline))
    answer = improved(Answer.of(outcome), inquiry)
    late = deadline.over()
    with finishing() as end:  # once for all that follows
        for stage in STAGES:
            answer = stage(answer, inquiry)
        weights = _weights(problem, answer)
        asked = problem.settings.claims
        rulings = run_claims(CLAIMS, Context(inquiry=inquiry, answer=answer), "" if asked else NOT_ASKED)
    if end.interrupted:
        deadline.stop()
    unhashed = problem.table.large and (late or problem.is_hurried)
    notes = (*problem.data.notes, *answer.outcome.notes, *answer.notes, *_skipped(inquiry, rulings))
    notes = (*notes, *([NO_DIGEST] if unhashed else []), *([] if weights is not None else [NO_WEIGHTS]))
    result = _result(problem, answer, rulings, notes, "" if unhashed else problem.job.digest(), weights)
    deadline.answer_with(lambda: result)
    return with_outcome(result, problem.table)


def so_far(problem: Problem, deadline: Deadline) -> Result | None:
    """Return the best graph of a search that does not return, about which nothing is claimed; None: it has none yet.

    Called by another thread: it computes no local score, and tests nothing.
    """
    search, why = problem.course.state, deadline.reason or INTERRUPTED
    if (best := search.best) is None:
        return None
    spent = search.evaluator.n_evals, search.evaluator.n_local
    outcome = Outcome(best, search.found_by, *spent, *why, search.evaluator.fidelities, (HUNG,))
    answer, inquiry = Answer.of(outcome), _inquiry(problem, outcome)
    if inquiry.hidden:
        answer = replace(answer, ancestral=unclimbed(problem.score, answer.dag, inquiry.constraints))
    skipped = (ClaimRecord(name=one.name, status="skipped", why=NO_TIME, grounds=one.denies) for one in CLAIMS)
    rulings = Rulings({}, (), tuple(skipped))
    notes = (*problem.data.notes, HUNG, NO_WEIGHTS)
    return _result(problem, answer, rulings, notes, "" if problem.table.large else problem.job.digest(), None)


def _inquiry(problem: Problem, outcome: Outcome) -> Inquiry:
    """Return what stages and claims have to know of a search that is over."""
    request, course, job = problem.request, problem.course, problem.job
    best = float(outcome.best.scores[0]), outcome.best.dags[0].copy()
    progress = Progress(len(course.recorder), outcome.n_evals, outcome.n_local, *best, proving=True)
    return Inquiry(
        table=job.table,
        given=problem.table,
        score=problem.score,
        evaluator=course.state.evaluator,
        constraints=problem.constraints.permuted(job.columns),
        limits=problem.limits,
        settings=problem.settings,
        seed=request.seed,
        pruner=request.choices.pruner(type(problem.score)),
        rationed=request.choices.rationed(problem.settings),
        hidden=bool(request.choices.hidden),
        randomised=tuple(request.choices.design.randomised),
        independent=request.choices.design.groups is False or bool(job.table.lags),
        stop=Asked(request.callbacks, progress),
        refit=problem.refit,
    )


def _skipped(inquiry: Inquiry, rulings: Rulings) -> tuple[str, ...]:
    """Return what there is to say about claims that were not made."""
    asked = {claim.name: claim.title for claim in CLAIMS if claim.requested}
    left = [one for one in rulings.made if one.name in asked and one.status == "skipped"]
    notes = [f"left out: {asked[one.name]} ({one.why})" for one in left]
    if inquiry.hidden:
        return tuple(notes)
    notes += [*([] if inquiry.control.n_rows else [NO_ROWS])]
    if any(one.name == EdgeMargins.name and one.why not in ("", NOT_ASKED) for one in rulings.made):
        notes.append(NO_MARGINS)
    titles, left_out = {claim.name: claim.title for claim in CLAIMS}, dict[str, list[str]]()
    for one in rulings.made:
        if one.status == "skipped" and one.grounds:
            left_out.setdefault(one.why, []).append(titles[one.name])
    words = "left out, so directions that it could deny are assumed"
    told = [f"{words}: {', '.join(some)} ({why})" for why, some in left_out.items()]
    return (*notes, *told)


def _result(
    problem: Problem,
    answer: Answer,
    rulings: Rulings,
    notes: tuple[str, ...],
    digest: str,
    weights: _Weights | None,  # None: not computed
) -> Result:
    """Return an answer and all that is said about it, over the given columns."""
    table, job, score, request = problem.table, problem.job, problem.score, problem.request
    pruned, outcome = job.restored(answer.dag), answer.outcome
    raw, standardised = weights or (None, None)
    result = Result(
        names=table.names,
        dag=pruned,
        pruned_score=answer.score,
        pruner=answer.pruner,
        weights=raw,
        standardised_weights=standardised,
        scoring=Scoring(
            name=score.name,
            equivalent=score.score_equivalent or score.by_experiment,
            options=_plain_options(problem.choice.options),
            array_options=tuple(name for name, value in problem.choice.options.items() if not _is_plain(value)),
            assumption=_assumption(score),
            regression=score.regression,
            evidence_scale=score.evidence_scale,
            words=score.words,
        ),
        search=_search_record(problem, outcome),
        proof=rulings.records.get(ProofClaim.name),
        claims=claims_of(answer, rulings, job.restored, table.names),
        knowledge=request.knowledge,
        table=TableRecord(
            n_rows=table.n,
            n_effective=table.n_worth,
            groups=request.choices.design.group_column,
            n_groups=0 if table.groups is None else len(np.unique(table.groups)),
            randomised=tuple(request.choices.design.randomised),
            outcome=request.choices.design.outcome or "",
            sha256=digest,
            audit=rulings.records.get(RowAudit.name, NOT_AUDITED),
        ),
        series=_series(request.choices.design, table.lags),
        provenance=Provenance(settings=problem.settings.to_dict(), seed=request.seed, versions=versions()),
        line=request.call,
        reasons=(*problem.reasons, *notes, *request.notes),
    )
    if answer.ancestral is None:
        return result
    blank: dict[str, Any] = {
        "claims": Claims(arms=result.claims.arms),
        "weights": None,
        "standardised_weights": None,
    }  # about the DAG
    return replace(result, hidden=answer.ancestral.rearranged(problem.job.restored), **blank)


def _series(design: Design, lags: tuple[int, ...]) -> SeriesRecord | None:
    """Return the record of the time of the rows; None: they have none."""
    if not lags:
        return None
    words = {"time": design.time or "", "unit": design.unit or "", "trend": design.trend or ""}
    return SeriesRecord(lags=lags, season=design.season or 0, **words)


def _weights(problem: Problem, answer: Answer) -> _Weights | None:
    """Return the linear weights of an answer over the given columns, raw and standardised; None: there was no time."""
    if answer.ancestral is not None:
        return None, None
    try:
        found = problem.score.weights(problem.table, problem.job.restored(answer.dag))
    except OutOfTimeError:
        return None
    for matrix in found or ():
        matrix.setflags(write=False)  # kept as it is, not copied
    return found or (None, None)


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


def _plain_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the score's options for the record: arrays as their shape."""
    return {name: value if _is_plain(value) else f"array {np.shape(value)}" for name, value in options.items()}


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool, type(None)))
