"""Fits a table again: resamples, halves or other scales of its rows, with the score and the settings of the fit."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from drbo.arrays import Bools, Indices
from drbo.claims.ancestral import ancestral_graph, known_causes
from drbo.claims.answer.prune import BY_MOMENTS, prune
from drbo.claims.experiments import experiment_record, interventional_class
from drbo.claims.refits.resampling import Refitted
from drbo.claims.refits.warm import searched, warm_search, warm_searches
from drbo.claims.why import mpdag
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.graph.marks import MarkedGraph
from drbo.graph.pag import pag_of
from drbo.scores.base import Score
from drbo.scores.registry import build_score
from drbo.search.base import Search
from drbo.search.bayes.screen import screened
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.outcome import Outcome
from drbo.search.strategy import new_search
from drbo.settings import Settings


class Refound(NamedTuple):
    """What a search of other rows found, and with which score."""

    score: Score
    evaluator: Evaluator
    outcome: Outcome


@dataclass(frozen=True, eq=False, kw_only=True)
class TableRefit:
    """Takes the rows of a resample and a seed, and returns the graph: see :data:`drbo.claims.refits.resampling.Refit`.

    Table, constraints, options and start are over the same columns; ``columns`` says where these are in the answer.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> x[:, 1] += 2 * x[:, 0]
    >>> refit = TableRefit(name="bic-nv", options={}, table=Statistics.from_array(x), constraints=Constraints.none(2),
    ...     settings=Settings(route="orders"), pruner="none", columns=np.array([0, 1]))
    >>> refit(np.arange(100), seed=0).graph.adjacency.astype(int).tolist()
    [[0, 1], [1, 0]]
    """

    name: str | type[Score]
    options: dict[str, Any]
    table: Statistics
    constraints: Constraints
    settings: Settings  # with the route of the fit
    pruner: str
    columns: Indices  # (d,) the place of each column of the table in the answer
    start: Bools | None = None  # (d, d) where a warm search begins; None: cold
    device: str = "cpu"
    hidden: bool = False  # allow hidden causes
    counted: bool = False  # a resample says how often each row of the table is drawn
    brief: bool = False  # warm searches are brief

    def __call__(self, rows: Indices, seed: int) -> Refitted:
        """Return the equivalence class under the knowledge, or the DAG where the score tells its members apart.

        Where causes may be hidden, the class is a PAG.
        """
        table = self._drawn(rows)
        score, _, outcome = self.on(table, seed, self.start)
        return self._ancestral(score, outcome, seed) if self.hidden else self._class(score, table, outcome)

    def again(self, table: Statistics, seed: int, start: Bools) -> Refound:
        """Search other rows, or the same on another scale, from a graph, and from another order where that may help."""
        return self.on(table, seed, start, 1 if self.brief else warm_searches(len(start), table.n_rows))

    def on(self, table: Statistics, seed: int, start: Bools | None = None, searches: int = 1) -> Refound:
        """Score other rows, or the same on another scale, and search them; a warm search may be repeated cold.

        Raises an OutOfTimeError if the search was cut short, because what it found does not count.
        """
        score = build_score(self.name, table, self.options)
        search = self._search(score, table, seed, start, searches)
        return Refound(score, search.evaluator, searched(search))

    def _search(self, score: Score, table: Statistics, seed: int, start: Bools | None, searches: int) -> Search:
        settings, limits = self.settings, self.constraints
        if settings.route == "orders" and start is not None:
            return warm_search(score, settings, limits, start, seed, searches, self.brief)
        if settings.route != "orders" and settings.candidate_parents is not None:
            limits = screened(table.complete_rows.values, settings.candidate_parents, limits)
        return new_search(score, settings, constraints=limits, seed=seed, device=self.device)

    def _drawn(self, rows: Indices) -> Statistics:
        if not (self.counted and self.table.whole):
            return self.table.resample(rows)
        drawn = np.flatnonzero(rows)
        return replace(self.table.resample(drawn), weights=rows[drawn].astype(np.float64))

    def _ancestral(self, score: Score, outcome: Outcome, seed: int) -> Refitted:
        """Climb from the best DAG to a maximal ancestral graph, and return its class."""
        graph = ancestral_graph(score, outcome.best.dags[0], self.constraints, seed).found.graph
        current().check()
        names = self.constraints.names
        pag = MarkedGraph(names, pag_of(graph, *known_causes(self.constraints)), "pag")
        return Refitted(pag.take(self._back), member=MarkedGraph(names, graph.marks(), "mag").take(self._back))

    def _class(self, score: Score, table: Statistics, outcome: Outcome) -> Refitted:
        """Prune what was found, and return its class, or the graph itself where the score prefers it in its class."""
        required, threshold = self.constraints.required, self.settings.prune_threshold
        dag = outcome.best.dags[0]
        data = table.rows_or_moments if self.pruner in BY_MOMENTS else table.values
        kept, _ = prune(self.pruner, data, dag, required=required, threshold=threshold)
        if (record := experiment_record(score, table, kept)) is not None:
            changed = record.changed(table.names)
            graph = interventional_class(kept, self.constraints, changed)
            return Refitted(self._given(graph), changed[:, self._back])
        return Refitted(self._given(mpdag(kept, self.constraints) if score.score_equivalent else kept))

    @property
    def _back(self) -> Indices:
        return np.argsort(self.columns)

    def _given(self, graph: Bools) -> MarkedGraph:
        """Return a graph with its columns back in their places."""
        return MarkedGraph.of(graph, self.constraints.names).take(self._back)
