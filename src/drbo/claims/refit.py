"""Fitting a resample of a table: the same score, settings, knowledge and pruning, with nothing else around it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.claims.prune import BY_MOMENTS, prune
from drbo.claims.why import mpdag
from drbo.data.table import Table
from drbo.deadline import current
from drbo.knowledge import Constraints
from drbo.scores.base import Score, build_score
from drbo.search.bayes.screen import screened
from drbo.search.loop import Outcome, Search, run
from drbo.search.orders.search import OrderSearch
from drbo.search.paper.lockstep import group_size, grouped, run_together
from drbo.search.stopping import Limits
from drbo.settings import Settings

#: Rounds of shaken orders without a better score that end the search of a resample with a warm start.
WARM_CLIMBS = 2


@dataclass(frozen=True, eq=False, kw_only=True)
class TableRefit:
    """Takes the rows of a resample and a seed, and returns the graph: see :data:`drbo.claims.resampling.Refit`.

    Table, constraints, options and start are over the same columns; ``columns`` says where these are in the answer.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> x[:, 1] += 2 * x[:, 0]
    >>> refit = TableRefit(name="bic-nv", options={}, table=Table.from_array(x), constraints=Constraints.none(2),
    ...     settings=Settings(route="orders"), pruner="none", columns=np.array([0, 1]))
    >>> refit(np.arange(100), seed=0).astype(int).tolist()
    [[0, 1], [1, 0]]
    """

    name: str | type[Score]
    options: dict[str, Any]
    table: Table
    constraints: Constraints
    settings: Settings  # with the route of the fit
    pruner: str
    columns: npt.NDArray[np.intp]  # (d,) the place of each column of the table in the answer
    start: npt.NDArray[np.bool_] | None = None  # (d, d) where a warm search begins; None: cold
    device: str = "cpu"

    def __call__(self, rows: npt.NDArray[np.intp], seed: int) -> npt.NDArray[np.bool_]:
        """Return the equivalence class under the knowledge, or the DAG where the score tells its members apart."""
        score, table = self._scored(rows)
        if self.settings.route == "orders":
            return self._graph(score, table, self._ordered(score, seed))
        state = self._search(score, table, seed)
        return self._graph(score, table, run(state, [Limits(self.settings)]))

    def many(self, draws: Sequence[tuple[npt.NDArray[np.intp], int]]) -> Iterator[npt.NDArray[np.bool_]]:
        """Yield the graphs of resamples, each rows and a seed; on a GPU several are searched as one program."""
        size = group_size(self.table.n_columns, self.settings, self.device)
        if size == 1:
            yield from (self(rows, seed) for rows, seed in draws)
            return
        for group in grouped(draws, lambda _: (None, size)):
            scored = [self._scored(rows) for rows, _ in group]
            states = [self._search(*each, seed) for each, (_, seed) in zip(scored, group, strict=True)]
            outcomes = run_together(states, [[Limits(self.settings)] for _ in states])
            yield from (self._graph(*each, outcome) for each, outcome in zip(scored, outcomes, strict=True))

    def _scored(self, rows: npt.NDArray[np.intp]) -> tuple[Score, Table]:
        table = self.table.take(rows, np.arange(self.table.n_columns))
        options = dict(self.options)
        if options.get("targets") is not None:
            options["targets"] = options["targets"][rows]
        return build_score(self.name, table, options), table

    def _ordered(self, score: Score, seed: int) -> Outcome:
        settings = self.settings if self.start is None else self.settings.with_(order_patience=WARM_CLIMBS)
        search = OrderSearch(score, settings, constraints=self.constraints, seed=seed, start=self.start)
        if self.start is not None:
            search.max_searches = 1
        return search.run([Limits(settings)])

    def _search(self, score: Score, table: Table, seed: int) -> Search:
        limits, most = self.constraints, self.settings.candidate_parents
        limits = limits if most is None else screened(table.complete_rows.values, most, limits)
        return Search(score, self.settings, constraints=limits, seed=seed, device=self.device)

    def _graph(self, score: Score, table: Table, outcome: Outcome) -> npt.NDArray[np.bool_]:
        """Prune what was found and put its columns back into their places."""
        current().check()  # what a search that was cut short has found does not count
        if outcome.stopped == "interrupted":
            raise KeyboardInterrupt
        required, threshold = self.constraints.required, self.settings.prune_threshold
        dag = outcome.best.dags[0]
        data = table.rows_or_moments if self.pruner in BY_MOMENTS else table.values
        kept, _ = prune(self.pruner, data, dag, required=required, threshold=threshold)
        graph = mpdag(kept, self.constraints) if score.score_equivalent else kept
        given = np.empty_like(graph)
        given[np.ix_(self.columns, self.columns)] = graph
        return given
