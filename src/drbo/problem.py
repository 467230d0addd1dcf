"""Turns the request of a fit into a search that is ready to run: score, knowledge, route and start."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools
from drbo.choices import Choices, ScoreChoice
from drbo.claims.refits.refit import TableRefit
from drbo.constraints import Constraints
from drbo.data.checks.neighbourhood import around
from drbo.data.checks.prepare import Prepared
from drbo.data.statistics.canonical import Canonical, checked_matrix
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.design import Design
from drbo.errors import DataError, SettingsError, name_hint
from drbo.graph.dag import check_dag
from drbo.knowledge import Knowledge
from drbo.machine.torch_device import check_device, chosen_device
from drbo.scores.base import Score
from drbo.scores.registry import build_score, score_class
from drbo.search.bayes.first_design import repaired
from drbo.search.bayes.forest import ForestScreen
from drbo.search.bayes.relevance import RelevanceScreen
from drbo.search.bayes.screen import screened
from drbo.search.checkpoint.parameters import plain_parameters
from drbo.search.checkpoint.saver import Course, Saved
from drbo.search.exact.proof import check_size
from drbo.search.outcome import Callback
from drbo.search.parent_sets import Screen
from drbo.search.stopping import Limits, Recorder
from drbo.search.strategy import choose_route, new_search
from drbo.settings import Settings

#: Said of a run that had no time to put rows and columns in order.
NO_ORDER = "rows and columns were not sorted, so their order may decide ties: time ran out"


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """A fit as it was asked for."""

    choices: Choices
    settings: Settings
    seed: int
    device: str = "cpu"
    executor: Executor | None = None
    callbacks: Sequence[Callback] = ()
    start: npt.ArrayLike | None = None  # (d, d) over all columns that were given
    folder: Path | None = None  # where the search is saved
    call: str = ""  # the line that repeats it
    parameters: dict[str, Any]  # of the estimator, as JSON knows them, where the search is saved
    notes: tuple[str, ...] = ()  # what there is to say about the parameters

    @property
    def knowledge(self) -> Knowledge:
        """What the user knows: a randomised column has no cause in the table, a time until an event no effect."""
        given, roots = self.choices.knowledge or Knowledge(), self.choices.design.randomised
        leaves = self.choices.policy.censored
        return given.joined(Knowledge(roots=roots, leaves=leaves)) if roots or leaves else given

    def around(self, data: Prepared) -> Prepared:
        """Return the columns around the outcome, if only these are searched, and those that the knowledge names."""
        design = self.choices.design
        if not design.neighbourhood or design.outcome is None:
            return data
        table, told = around(data.table, design.outcome, [name for name, _ in self.knowledge.mentions()])
        return replace(data, table=table, notes=(*data.notes, told))


def request_of(
    given: Mapping[str, Any],
    defaults: Mapping[str, Any],
    *,
    start: npt.ArrayLike | None = None,
    checkpoint: str | Path | None = None,
    callbacks: Iterable[Callback] = (),
) -> Request:
    """Return what was asked for by the parameters of an estimator, checked as far as that needs no data."""
    choices, seed = Choices.of(given), seed_of(given["random_state"])
    settings, clashes = choices.merged_settings()
    choices.check()
    if choices.policy.missing == "impute" and checkpoint is not None:
        raise SettingsError(
            "checkpoint saves a single search, but missing='impute' runs several", hint="omit checkpoint"
        )
    return Request(
        choices=choices,
        settings=settings,
        seed=seed,
        device=check_device(given["device"]),
        executor=given["executor"],
        callbacks=tuple(callbacks),
        start=start,
        folder=None if checkpoint is None else Path(checkpoint),
        call=call_of(given, defaults, seed, started=start is not None),
        parameters={} if checkpoint is None else plain_parameters(given, start),
        notes=tuple(clashes),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """A search that is ready to run, and what its result will tell."""

    request: Request
    data: Prepared
    settings: Settings  # with the route
    choice: ScoreChoice
    why_route: str
    reasons: tuple[str, ...]  # of the choice of the score and of the route
    job: Canonical
    constraints: Constraints  # over the columns of the table
    limits: Constraints  # over the canonical columns, with the screening
    score: Score
    course: Course
    is_hurried: bool  # the time was over before rows and columns were put in order
    refit: TableRefit | None  # searches other rows in the same way; None: the score is bound to its own

    @property
    def table(self) -> Statistics:
        return self.data.table


def prepare(request: Request, data: Prepared, saved: Saved | None = None, choice: ScoreChoice | None = None) -> Problem:
    """Choose score and route, and return a search that is ready to run."""
    table, settings, choices = data.table, request.settings, request.choices
    choice = choice or choices.of_score(table)
    choices.check_pruner(table)
    hurried = saved is None and table.is_hurried
    movable = isinstance(choice.name, (str, type)) and not hurried
    job = Canonical(table, data.columns, movable=movable)
    _check_named(choices.design, table.names)
    constraints = Constraints.of(request.knowledge, table.names, table.lags)
    place = where(choice.name, request.device, settings)
    options = place | job.ordered_options(choice.options)
    _check_places(choice.name, data)
    score = build_score(choice.name, job.table, options)
    if settings.exact == "on":
        check_size(score, settings.max_memory)
    current().promise()
    limits = constraints.permuted(job.columns)
    route, why = choose_route(score, settings, choices.rationed(settings))
    why = (saved and saved.about.get("why_route")) or why  # as it was chosen, not that it was saved
    settings = settings.with_(route=route)  # resamples, resumed searches and fits like this one take it again
    if route != "orders" and settings.candidate_parents is not None:
        limits = screened(job.table.complete_rows.values, settings.candidate_parents, limits)
    state = new_search(
        score, settings, constraints=limits, seed=request.seed, device=request.device, executor=request.executor,
        start=_start(request, data, job, limits), screens=_screens(job.table, route, request.seed, place),
    )  # fmt: skip
    course = Course(state, Recorder(), Limits(settings))
    return Problem(
        request=request, data=data, settings=settings, choice=choice, job=job, constraints=constraints, limits=limits,
        why_route=why, reasons=(*choice.reasons, why, *([NO_ORDER] if hurried else [])), score=score,
        course=course if saved is None else saved.course(course), is_hurried=hurried,
        refit=_refit(choice.name, options, job, limits, settings, request, score),
    )  # fmt: skip


def _refit(
    name: Any,
    options: dict[str, Any],
    job: Canonical,
    limits: Constraints,
    settings: Settings,
    request: Request,
    score: Score,
) -> TableRefit | None:
    """Return what searches other rows of a table in the same way; None: the score is bound to its own."""
    if not isinstance(name, str | type):
        return None
    return TableRefit(
        name=name, options=options, table=job.table, constraints=limits, settings=settings, columns=job.columns,
        pruner=request.choices.pruner(type(score)), device=request.device, hidden=bool(request.choices.hidden),
    )  # fmt: skip


def _check_named(design: Design, names: Sequence[str]) -> None:
    """Refuse a design that names columns which the search does not have."""
    for what, given in (("randomised column", design.randomised), ("outcome", (design.outcome,))):
        for name in given:
            if name is not None and name not in names:
                raise SettingsError(f"the {what} '{name}' is not a column of the search", hint=name_hint(name, names))


def _check_places(score: Any, data: Prepared) -> None:
    """Refuse a function or an object as a score of fewer columns than were given: it knows them by their places."""
    if isinstance(score, str | type) or data.table.n_columns == len(data.columns):
        return
    missing = next(name for name in data.columns if name not in data.table.names)
    raise SettingsError(
        f"column '{missing}' was dropped, but a score given as a function or an object finds columns by their place",
        hint="drop the column from the table first, or give the score as a class",
    )


def _start(request: Request, data: Prepared, job: Canonical, limits: Constraints) -> Bools | None:
    """Return the given start over the canonical columns, within the knowledge."""
    if request.start is None:
        return None
    given = checked_matrix("start", request.start, (len(data.columns), len(data.columns)))
    try:
        dag = check_dag(given, data.columns)
    except DataError as error:
        raise SettingsError(f"start: {error.message}", hint=error.hint) from error
    places = job.kept[job.columns]
    return repaired(dag[np.ix_(places, places)], limits)


def _screens(table: Statistics, route: str, seed: int, place: dict[str, Any]) -> tuple[Screen, ...]:
    """Return what proposes whole parent sets to the search of an expensive score, at the ``place`` of its kernels."""
    values = table.complete_rows.values
    if route != "surrogate" or not len(values):
        return ()
    categorical = [column for column, levels in enumerate(table.levels) if levels is not None]
    forest = ForestScreen(values, seed, categorical)
    return (forest,) if categorical else (RelevanceScreen(values, seed, place.get("device", "cpu")), forest)


def where(name: Any, device: str, settings: Settings) -> dict[str, Any]:
    """Return the options of scores that factorise kernels: the device, which is worth a GPU, and the memory."""
    kind = score_class(name) if isinstance(name, str) else name
    if not (isinstance(kind, type) and issubclass(kind, Score) and kind.kernels):
        return {}
    return {"device": chosen_device(device), "max_memory": settings.max_memory}


def seed_of(random_state: Any) -> int:
    """Return the seed of a run: the given int, or one drawn from the given source."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise SettingsError(f"random_state must be at least 0, got {random_state}", hint="use 0, 1, 2, ...")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    from sklearn.utils import check_random_state  # takes longer to load than a fit

    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise SettingsError(
            f"random_state must be a whole number, a numpy generator or None, got {random_state!r}",
            hint="an int makes the result reproducible",
        ) from error


def call_of(given: Mapping[str, Any], defaults: Mapping[str, Any], seed: int, *, started: bool = False) -> str:
    """Return the line of Python that repeats a fit; what only watches or speeds it up is left out."""
    words = []
    for name, value in (dict(given) | {"random_state": seed}).items():
        if name in ("executor", "device") or value is defaults[name]:
            continue
        if name != "random_state" and isinstance(value, (str, int, float)) and value == defaults[name]:
            continue
        shown = value.changes() if isinstance(value, Settings) else repr(value)
        shown = getattr(value, "__name__", shown) if name == "score" else shown  # a function or a class
        words.append(f"{name}={shown}")
    return f"DrBO({', '.join(words)}).fit(table{', start=start' * started})"
