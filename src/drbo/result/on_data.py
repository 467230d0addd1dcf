"""A result and a table: is it the table of the fit, what does any graph score on it, and which effects does it show?

Whatever needs a score is imported where it is used: a saved result opens without one.
"""

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools
from drbo.data.reading.frames import as_frame
from drbo.deadline import current
from drbo.design import DataPolicy, Design
from drbo.errors import DataError
from drbo.graph.dag import check_dag

if TYPE_CHECKING:
    import pandas as pd

    from drbo.data.statistics.canonical import Canonical
    from drbo.data.statistics.statistics import Statistics
    from drbo.result.effects import Effects
    from drbo.result.forecasts import Forecasts
    from drbo.result.identified_effects import IdentifiedEffects
    from drbo.result.interventions import Probabilities
    from drbo.result.judgement import Judgement
    from drbo.result.responses import Responses
    from drbo.result.result import Result
    from drbo.search.evaluation.evaluator import Evaluator


def has_seen(result: "Result", X: Any) -> bool:
    """Tell whether a table is the one that the graph was learned from."""
    frame = as_frame(X)
    if not result.table.sha256 or any(name not in frame for name in columns_of(result)):
        return False
    policies: tuple[Any, ...] = ("em", "drop")  # a fit may have used the complete rows alone
    return any(_table(result, frame, policy).digest() == result.table.sha256 for policy in policies)


def score_of(result: "Result", graph: npt.ArrayLike, X: Any, score: Any) -> float:
    """Return the score of a DAG (d, d) on a table, with the score and the options of a result."""
    dag = check_dag(graph, result.names)
    evaluator, job = evaluator_on(result, X, score)
    return float(evaluator.evaluate_one(dag[np.ix_(job.columns, job.columns)]).scores[0])


def evaluator_on(result: "Result", X: Any, score: Any = None) -> "tuple[Evaluator, Canonical]":
    """Return an evaluator of the score of a result on a table, and the order of its columns."""
    from drbo.data.statistics.canonical import Canonical
    from drbo.scores.named import score_of_file
    from drbo.scores.registry import build_score
    from drbo.search.evaluation.evaluator import Evaluator
    from drbo.settings import Settings

    table = _table(result, as_frame(X), "error")
    name = score_of_file(result.score_name, score, "the result")
    job = Canonical(table, list(result.names), movable=True)  # in the order of the fit: the same bits
    made = build_score(name, job.table, job.ordered_options(result.scoring.plain_options))
    return Evaluator(made, Settings()), job


def drawn_classes(result: "Result", X: Any, count: int) -> tuple[list[tuple[float, Bools]], str]:
    """Return the shares and classes of graphs drawn from the posterior on a table, and how they were drawn."""
    from drbo.claims.experiments import class_of, experiment_record
    from drbo.claims.probabilities.graph_draws import drawn_dags

    evaluator, job = evaluator_on(result, X)
    given = result.constraints
    limits, best = given.permuted(job.columns), result.dag[np.ix_(job.columns, job.columns)]
    draws = drawn_dags(evaluator, limits, best, result.settings.get("expected_parents"), count, result.seed)
    classes, shares = dict[bytes, Bools](), dict[bytes, float]()
    for share, dag in zip(draws.shares.tolist(), draws.dags, strict=True):
        current().check()
        graph = class_of(job.restored(dag), given, experiment_record(evaluator.score, job.table, dag))
        key = graph.tobytes()
        classes[key], shares[key] = graph, shares.get(key, 0.0) + share
    return [(shares[key], graph) for key, graph in classes.items()], draws.how


def judgement_of(result: "Result", X: Any, options: dict[str, Any]) -> "Judgement | Forecasts":
    """Judge the graph of a result on a table."""
    _warn_if_seen(result, X)
    own = {"score_options": result.scoring.plain_options, "seed": result.seed, "groups": result.table.groups or None}
    return result.reading.judge(X, own | options)


def later_rows(result: "Result", X: Any) -> "Statistics":
    """Return the rows of a window that the graph of a series forecasts: all that changes with time is left in them."""
    assert result.series is not None
    design = result.series.design
    return _table(result, as_frame(X), "error", design if design.trend else replace(design, trend="none"))


def _warn_if_seen(result: "Result", X: Any) -> None:
    if has_seen(result, X):
        warnings.warn("the graph was learned from these rows, so the judgement is too favourable", stacklevel=4)


def effects_of(
    result: "Result", X: Any, source: str | None, target: str | None, missing: str
) -> "Effects | IdentifiedEffects | Responses":
    """Estimate the effects of a source on a target, or of all columns, in the graphs that a result stands for."""
    table, basis = _rows(result, X, missing)
    pairs = _asked_pairs(result, source, target)
    return result.reading.effects(table, basis, pairs, keep_zeros=target is not None)


def _asked_pairs(result: "Result", source: str | None, target: str | None) -> list[tuple[str, str]] | None:
    """Return the pairs of a source and a target of which one or both may be left open; None: all."""
    if source is None and target is None:
        return None
    sources = result.names if source is None else (source,)
    targets = result.names if target is None else (target,)
    return [(a, b) for a in sources for b in targets if a != b or source == target]


def probabilities_of(result: "Result", X: Any, do: tuple[str, str], target: str, missing: str) -> "Probabilities":
    """Return the distribution of a column if another one were set to a level, in the graphs of a class."""
    from drbo.result.interventions import probabilities
    from drbo.result.mixture import Doubt

    (table, basis), graph = _rows(result, X, missing), result.graph.adjacency
    doubt = Doubt(result.constraints, result.p_link, result.table.randomised)
    options: dict[str, Any] = {"assumed": result.assumed, "doubt": doubt, "seed": result.seed}
    return probabilities(graph, table, *do, target, basis=basis, **options)


def _rows(result: "Result", X: Any, missing: str) -> tuple["Statistics", str]:
    """Return the rows to estimate effects from, and whether the graph was learned from them, in words."""
    from drbo.result.effects import HELD_OUT, SEEN

    frame = as_frame(X)
    return _table(result, frame, missing).control_rows, SEEN if has_seen(result, frame) else HELD_OUT


def _table(result: "Result", frame: "pd.DataFrame", missing: Any, design: Design | None = None) -> "Statistics":
    """Return the checked columns of a result, without the differences between groups where the fit removed them.

    Rows that no column assigns to an experiment are those of the control.
    """
    from drbo.data.checks.prepare import Preparation

    for name in columns_of(result):
        if name not in frame:
            raise DataError(f"the table has no column '{name}'", hint="give a table with all columns of the graph")
    parts = result.table.audit.is_serial and result.table.n_effective > 0
    found, columns = result.claims.experiments, list(columns_of(result))
    if design is None:
        design = Design(groups=result.table.groups or None) if result.series is None else result.series.design
    if found is not None and found.column in frame and missing != "em":
        design, columns = replace(found.design, groups=design.groups), [*columns, found.column]
    return Preparation(design, DataPolicy(missing=missing), parts).again(frame[columns], result.names)


def columns_of(result: "Result") -> tuple[str, ...]:
    """Return the columns that a table must have: those of the graph, and those that say how rows belong together."""
    if (series := result.series) is not None:
        now = [name for name, lag in zip(result.names, series.lags, strict=True) if not lag]
        return (*now, *series.design.labels)
    return (*result.names, result.table.groups) if result.table.groups else result.names
