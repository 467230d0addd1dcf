"""Fitting a resample of a table: the same score, settings, knowledge and pruning, with nothing else around it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.data.table import Table
from drbo.knowledge import Constraints
from drbo.result.prune import prune
from drbo.result.why import mpdag
from drbo.scores.base import Score, build_score
from drbo.search.evaluate import Evaluated
from drbo.search.loop import Search, run
from drbo.search.order_search import OrderSearch
from drbo.search.screen import screened
from drbo.search.stopping import Limits
from drbo.settings import Settings

#: Rounds of shaken orders without a better score that end the search of a resample with a warm start.
WARM_CLIMBS = 2


@dataclass(frozen=True, eq=False, kw_only=True)
class TableRefit:
    """Takes the rows of a resample and a seed, and returns the graph: see :data:`drbo.result.confidence.Refit`.

    Table, constraints, options and start are over the same columns; ``columns`` says where these are in the answer.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> x[:, 1] += 2 * x[:, 0]
    >>> refit = TableRefit(name="bic-nv", options={}, table=Table.from_array(x), constraints=Constraints.none(2),
    ...     settings=Settings(), pruner="none", columns=np.array([0, 1]), by_orders=True)
    >>> refit(np.arange(100), seed=0).astype(int).tolist()
    [[0, 1], [1, 0]]
    """

    name: str | type[Score]
    options: dict[str, Any]
    table: Table
    constraints: Constraints
    settings: Settings
    pruner: str
    columns: npt.NDArray[np.intp]  # (d,) the place of each column of the table in the answer
    by_orders: bool
    start: npt.NDArray[np.bool_] | None = None  # (d, d) where a warm search begins; None: cold
    device: str = "cpu"

    def __call__(self, rows: npt.NDArray[np.intp], seed: int) -> npt.NDArray[np.bool_]:
        """Return the equivalence class under the knowledge, or the DAG where the score tells its members apart."""
        table = self.table.take(rows, np.arange(self.table.n_columns))
        options = dict(self.options)
        if options.get("targets") is not None:
            options["targets"] = options["targets"][rows]
        score = build_score(self.name, table, options)
        best = self._best(score, table, seed)
        required, threshold = self.constraints.required, self.settings.prune_threshold
        kept, _ = prune(self.pruner, table.rows_or_moments, best.dags[0], required=required, threshold=threshold)
        graph = mpdag(kept, self.constraints) if score.score_equivalent else kept
        given = np.empty_like(graph)
        given[np.ix_(self.columns, self.columns)] = graph
        return given

    def _best(self, score: Score, table: Table, seed: int) -> Evaluated:
        if self.by_orders:
            settings = self.settings if self.start is None else self.settings.with_(order_patience=WARM_CLIMBS)
            search = OrderSearch(score, settings, constraints=self.constraints, seed=seed, start=self.start)
            if self.start is not None:
                search.max_searches = 1
            return search.run([Limits(settings)]).best
        limits, most = self.constraints, self.settings.candidate_parents
        limits = limits if most is None else screened(table.complete_rows.values, most, limits)
        state = Search(score, self.settings, constraints=limits, seed=seed, device=self.device)
        return run(state, [Limits(self.settings)]).best
