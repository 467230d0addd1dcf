"""Use a fitted model again: on resamples of its table, with other seeds, or on other rows."""

import hashlib
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Indices, Ints
from drbo.choices import ScoreChoice
from drbo.claims.refits.confidence import Confidence
from drbo.claims.refits.refit import TableRefit
from drbo.claims.refits.resampling import KeptResamples, RefitProgress, Resampling, bootstrap
from drbo.data.checks.prepare import Preparation
from drbo.data.reading.frames import as_frame
from drbo.data.statistics.canonical import Canonical
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline, Stop, current
from drbo.design import DataPolicy, Design
from drbo.errors import DataError, SettingsError
from drbo.problem import where
from drbo.result.effects import Effects
from drbo.result.identified_effects import IdentifiedEffects
from drbo.result.pooling import pooled
from drbo.result.responses import Responses
from drbo.result.result import Result
from drbo.scores.base import Score
from drbo.scores.named import score_of_file
from drbo.scores.registry import SCORES, build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.settings import Settings

LEAST_ROWS = 3  # of a resample


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedModel:
    """A result, and what it takes to fit its table again in the same way."""

    result: Result
    choice: ScoreChoice
    preparation: Preparation
    columns: list[str]  # all columns of the table, those that were dropped included
    device: str

    def bootstrap(
        self,
        X: Any,
        plan: Resampling,
        *,
        warm: bool,
        executor: Executor | None,
        progress: RefitProgress | None,
        keep: str | Path | None,
        sample_weight: npt.ArrayLike | None,
    ) -> Confidence:
        """Return the frequencies of edges and paths over fits of resamples; see :meth:`drbo.DrBO.bootstrap`."""
        if isinstance(X, Statistics) and not X.whole and X.all_kept:  # a short stream
            X = X.frame()
        table, columns = X, self.columns
        if isinstance(X, Statistics) and not X.whole:
            table, columns = self.preparation.prepare(X).table, list(X.names)
        elif not isinstance(X, Statistics):
            columns = list(as_frame(self.preparation.variables(X)).columns)
            table = self.preparation.again(X, self.result.names, sample_weight)
            plan = plan.of_rows(self.preparation.used_rows(X, sample_weight))
        plan, drawn = plan.of_groups(table.clusters).of_experiments(table.experiments), table.resampled_rows
        if not table.whole:
            plan = replace(plan, drawn=_enough(drawn))
        elif plan.kind == "counted":
            plan = replace(plan, counts=_counts(table))
        refit = replace(self._refit(table, columns, warm), counted=plan.kind == "counted")
        told = drawn if len(drawn) else table.weights
        kept = None if keep is None else KeptResamples(Path(keep), resampling_key(self.result, plan, warm, told))
        return bootstrap(
            refit, refit.table.n_rows, self.result.names, plan,
            seed=self.result.seed, executor=executor, progress=progress, kept=kept,
            experiments=() if self.result.claims.experiments is None else self.result.claims.experiments.labels[1:],
        )  # fmt: skip

    def effects(
        self, X: Any, source: str, target: str, n: int, progress: RefitProgress | None
    ) -> Effects | IdentifiedEffects | Responses:
        """Return an effect over the graphs of n resamples; see :meth:`drbo.DrBO.effects`."""
        table = self.preparation.again(X, self.result.names)
        refit = self._refit(table, list(as_frame(self.preparation.variables(X)).columns), warm=True)
        return self.result.reading.resampled_effects(refit, table, (source, target), n, progress)

    def score_on(self, X: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the score of the graph on another table."""
        frame = as_frame(X)
        if not self.preparation.design.labels:  # otherwise the columns were found by name
            frame = frame.set_axis(self.columns, axis=1)
        table = self.preparation.again(frame, self.result.names, sample_weight)
        job = Canonical(table, list(table.names) if table.lags else self.columns, movable=True)
        score = build_score(self._score(), job.table, job.ordered_options(self.choice.options))
        dag = self.result.dag[np.ix_(job.columns, job.columns)]
        return float(Evaluator(score, Settings()).evaluate_one(dag).scores[0])

    def _refit(self, table: Statistics, columns: list[str], warm: bool) -> TableRefit:
        result, settings = self.result, Settings.from_dict(self.result.settings)
        job = Canonical(table, list(table.names) if table.lags else columns, movable=True, sort_rows=False)
        return TableRefit(
            name=self._score(),
            options=where(self._score(), self.device, settings) | job.ordered_options(self.choice.options),
            table=job.table,
            constraints=result.constraints.permuted(job.columns),
            settings=settings,
            pruner=result.pruner,
            columns=job.columns,
            start=result.search.dag[np.ix_(job.columns, job.columns)] if warm else None,
            device=self.device,
            hidden=result.hidden is not None,
        )

    def _score(self) -> str | type[Score]:
        """Return the score of the fit, to be built on other rows."""
        name = self.choice.name
        if not isinstance(name, (str, type)):
            raise SettingsError("a score object is bound to its own data", hint="give the score by name or as a class")
        return name


def n_rows_of(X: Any) -> int:
    """Return the number of rows of what a bootstrap is given."""
    return X.n if isinstance(X, Statistics) else len(as_frame(X))


def _enough(drawn: Ints) -> int:
    """Return how many resamples were drawn, each of so many rows."""
    if len(drawn) and (few := int(drawn.min())) < LEAST_ROWS:
        raise DataError(
            f"a resample has {few} rows, but at least {LEAST_ROWS} are needed", hint="a bootstrap needs more rows"
        )
    return len(drawn)


def _counts(table: Statistics) -> Indices:
    """Return how often each row of a table occurred."""
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    if (weights != np.rint(weights)).any():
        raise SettingsError(
            "kind 'counted' needs whole numbers as weights: how often each row occurred", hint="use kind 'bootstrap'"
        )
    return weights.astype(np.intp)


def resampling_key(result: Result, plan: Resampling, warm: bool, weights: npt.NDArray[Any] | None) -> str:
    """Return a digest of all that decides the graphs of resamples; ``weights`` of rows, or how many a resample has."""
    settings = {**result.settings, "time_limit": None}  # a longer limit does not make finished resamples invalid
    clusters = plan.clusters_as_numbers()
    groups = None if clusters is None else clusters.tolist()
    parts = (
        *(result.table.sha256, result.names, result.seed, result.score_name, result.scoring.options, settings),
        *(
            result.knowledge.to_mapping(),
            result.pruner,
            result.provenance.versions,
            plan.kind,
            plan.block,
            groups,
            warm,
            *(() if result.hidden is None else ("hidden",)),
            *(() if plan.strata is None else (repr(result.claims.experiments), plan.strata.tolist())),
        ),
        *(() if weights is None else weights.tolist()),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def over_seeds(first: Result, seeds: int, fitted_with: Callable[[int], Result]) -> tuple[Result, Confidence]:
    """Return the most typical result of several seeds, and the frequencies over all of them.

    ``first`` is the result of the first seed. The seeds after it share the time that is left.
    """
    results, deadline = [first], current()
    while len(results) < seeds and not deadline.over() and results[-1].search.stop is not Stop.INTERRUPTED:
        with Deadline(deadline.share(seeds - len(results))):
            results.append(fitted_with(first.seed + len(results)))
    typical = pooled(results, "seeds", first.seed, asked=seeds)
    assert typical.confidence is not None  # pooled results have one
    return typical, typical.confidence


def parameters_like(result: Result, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of an estimator with the score, settings, pruning, knowledge and seed of a result."""
    given: dict[str, Any] = {
        "score": changes["score"] if "score" in changes else score_of_file(result.score_name, None, "the result"),
        # A preset of the paper leaves the penalty at the score's default; left out here, one would be chosen.
        "score_options": ({"penalty": 1.0} if result.score_name in SCORES else {}) | result.scoring.plain_options,
        "settings": Settings.from_dict(result.settings),
        "prune": result.pruner,
        "knowledge": result.knowledge,
        "random_state": result.seed,
        "design": _design_of(result),
        "policy": DataPolicy(on_constant="drop", on_collinear="keep"),
        "hidden": result.hidden is not None,
    }
    return given | dict(changes)


def _design_of(result: Result) -> Design:
    """Return how the rows came about that a result was learned from."""
    if result.series is not None:
        return result.series.design
    design = Design() if (found := result.claims.experiments) is None else found.design
    design = replace(design, randomised=result.table.randomised, outcome=result.table.outcome or None)
    return replace(design, groups=result.table.groups or (None if result.table.audit.is_serial else False))
