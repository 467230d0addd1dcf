"""How the graph of a series is read: arrows from the past and of the present, and the mechanisms that they make up."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.arrays import Bools, Indices
from drbo.errors import SettingsError
from drbo.graph.window import places
from drbo.result.files.export import printable
from drbo.result.records import SeriesRecord
from drbo.result.words.arrow_reading import ArrowReading
from drbo.result.words.questions import questions
from drbo.result.words.reading import Names
from drbo.result.words.summary import SHOWN_EDGES

if TYPE_CHECKING:
    from drbo.claims.refits.resampling import Refit
    from drbo.data.statistics.statistics import Statistics
    from drbo.result.forecasts import Forecasts
    from drbo.result.judgement import Judgement
    from drbo.result.report.wording import Wording
    from drbo.result.responses import Responses

#: What is assumed where rows have a past, and what the signs of hidden causes are.
EARLIER = (
    "time tells the direction of an arrow from the past, not that it is a cause: a supported one passed the tests of "
    "hidden causes (docs/guide/time.md)"
)
STEADY = "causes act in the same way at all times, and not from farther back than the window"
NAMES = "name[-k]: k steps before"


class SeriesReading(ArrowReading):
    """A DAG over a window of time, or its class, in which the past is given."""

    judged_by_own_score = True  # by forecasts

    @property
    def series(self) -> SeriesRecord:
        assert self.result.series is not None  # or it would have another reading
        return self.result.series

    @property
    def n_variables(self) -> int:
        return self.series.lags.count(0)

    @property
    def variables(self) -> str:
        return f"{super().variables} at lags 0 to {self.series.max_lag}"

    @property
    def lags(self) -> Indices:
        """(d,) of each column."""
        return np.array(self.series.lags)

    def shown(self) -> Bools:
        """Columns of the past that nothing follows from are left out of pictures."""
        dag = self.result.dag
        found: Bools = (self.lags == 0) | (dag | dag.T).any(axis=0)
        return found

    def bands(self) -> tuple[Indices, list[str]]:
        longest = int(self.lags[self.shown()].max())
        return longest - np.minimum(self.lags, longest), [
            f"t - {lag}" if lag else "t" for lag in range(longest, -1, -1)
        ]

    def columns(self) -> dict[str, Any]:
        source = np.nonzero(self.result.dag)[0]
        return {"lag": self.lags[source], **super().columns()}

    def mechanisms(self) -> dict[tuple[str, str], tuple[tuple[int, ...], str]]:
        """Return the lags and the verdict of each mechanism, by the names of its series: the weakest of its arrows."""
        present, place = places(self.result.names, self.series.lags)
        found: dict[tuple[str, str], tuple[tuple[int, ...], str]] = {}
        ranks = ("supported", "assumed", "open")
        for (i, _), one in zip(self.edges, self.result.directions, strict=True):
            key = present[place[i]] if place[i] >= 0 else self.result.names[i], one.effect
            before, verdict = found.get(key, ((), "supported"))
            lags = tuple(sorted((*before, self.series.lags[i])))
            found[key] = lags, max(verdict, one.direction, key=ranks.index)
        return found

    def _title(self) -> list[str]:
        return [*super()._title(), *self._mechanism_lines(), ""]

    def _mechanism_lines(self) -> list[str]:
        rows = []
        for (cause, effect), (lags, verdict) in self.mechanisms().items():
            words = f"lag{'s' * (len(lags) > 1)} {', '.join(map(str, lags))}"
            rows.append((f"{printable(cause)} on {printable(effect)}", words, verdict))
        if not rows:
            return []
        width, wide = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
        more = [f"  ... and {len(rows) - SHOWN_EDGES} more"] if len(rows) > SHOWN_EDGES else []
        shown = [f"  {what:<{width}}  {at:<{wide}}  {verdict}" for what, at, verdict in rows[:SHOWN_EDGES]]
        return [f"Mechanisms: {len(rows)} (which variable acts on which, at any lag)", *shown, *more]

    def _assumptions(self) -> list[str]:
        _, *rest = super()._assumptions()  # the first is about a search that is not for series
        return [f"assumptions  {STEADY}", f"{'':<12} {EARLIER}", *rest]

    def wording(self) -> "Wording":
        from drbo.result.report.wording import series_wording

        return series_wording(self.result, self)

    def judge(self, X: Any, options: dict[str, Any]) -> "Judgement | Forecasts":
        from drbo.result.forecasts import forecasts
        from drbo.result.on_data import later_rows

        return forecasts(self.result.dag, later_rows(self.result, X))

    def effects(
        self, table: "Statistics", basis: str, pairs: list[tuple[str, str]] | None, *, keep_zeros: bool
    ) -> "Responses":
        from drbo.result.responses import responses

        if pairs is not None and len(pairs) > 1:
            now = {name for name, lag in zip(self.result.names, self.series.lags, strict=True) if not lag}
            pairs = [pair for pair in pairs if now.issuperset(pair)]
        horizon, seed = 2 * self.series.max_lag, self.result.seed
        return responses(self.result.dag, table, pairs, basis=basis, horizon=horizon, seed=seed)

    def resampled_effects(
        self, refit: "Refit", table: "Statistics", pair: Names, n: int, progress: Callable[[int, int], None] | None
    ) -> "Responses":
        raise SettingsError(
            "effects in a series have intervals from resampled stretches of it, for one graph",
            hint="omit --bootstrap; drbo fit --bootstrap tells how often each edge returns",
        )

    def questions(self) -> tuple[str, ...]:
        told = zip(self.edges, self.result.directions, strict=True)
        return questions([one for (i, _), one in told if not self.series.lags[i]], in_python=bool(self.result.line))

    def legend(self) -> list[tuple[str, str]]:
        return [*super().legend(), ("note", NAMES)]
