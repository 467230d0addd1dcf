"""How a result is read: what its kind of graph decides about lists, pictures, words, effects and judgements.

Everything that shows a result asks its reading. A new kind of answer is a module with one more of them, which may be
built on :class:`ArrowReading <drbo.result.words.arrow_reading.ArrowReading>`, a field of ``Result`` for its record, and
a line in :data:`READINGS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from drbo.arrays import Bools, Floats, Indices
from drbo.claims.directions import EdgeDirection
from drbo.claims.refits.confidence import Confidence
from drbo.constraints import Constraints
from drbo.errors import ResultError
from drbo.graph.marks import MarkedGraph
from drbo.knowledge import Knowledge
from drbo.result.files.export import Notes
from drbo.result.files.handover import hand_over
from drbo.result.words.answer import check_told

if TYPE_CHECKING:
    from drbo.claims.refits.resampling import Refit
    from drbo.data.statistics.statistics import Statistics
    from drbo.result.compare import Compared, GraphSide
    from drbo.result.effects import Effects
    from drbo.result.forecasts import Forecasts
    from drbo.result.identified_effects import IdentifiedEffects
    from drbo.result.judgement import Judgement
    from drbo.result.report.wording import Wording
    from drbo.result.responses import Responses
    from drbo.result.result import Result

#: How the end of an edge is drawn.
EndLook = Literal["none", "circle", "solid", "hollow"]
Ends = dict[tuple[int, int], tuple[EndLook, EndLook]]
#: Both ends of an edge.
Pair = tuple[int, int]
Names = tuple[str, str]


class SummaryLines(NamedTuple):
    """Parts of a summary; a line begins with what it is about."""

    title: list[str]  # how many edges there are, and what is said about them
    scores: list[str]
    proof: list[str]  # how far behind other graphs are, as well
    frequencies: list[str]  # what they come from, and how to read them
    assumptions: list[str]
    found_by: list[str]
    signs: list[str]  # what the signs between names mean, where that is not plain


class Reading(ABC):
    """What a result says, given the kind of its graph; lists of edges are in the order of ``Result.drawn``."""

    noun = "a DAG"  # what the answer is
    way_out = ""  # what to do where a DAG or a class of DAGs is wanted; empty: the answer is one
    allowed = ""  # what the first line of a summary adds
    marked = False  # both ends of an edge have marks of their own, which pictures show
    judged_by_own_score = False  # a judgement knows no other score

    def __init__(self, result: "Result") -> None:
        self.result = result

    @property
    def n_variables(self) -> int:
        """How many variables there are."""
        return len(self.result.names)

    @property
    def variables(self) -> str:
        """How many variables there are, in words."""
        return f"{self.n_variables} variables"

    def shown(self) -> Bools:
        """Return (d,) the columns that pictures show."""
        return np.ones(len(self.result.names), dtype=bool)

    def bands(self) -> tuple[Indices, list[str]] | None:
        """Return (d,) the band of each column in pictures, from above, and the names of all bands; None: no bands."""
        tiers = tiers_of(self.result.knowledge, self.result.names)
        return None if tiers is None else (tiers, [f"tier {tier + 1}" for tier in range(int(tiers.max()) + 1)])

    @property
    def edges(self) -> list[Pair]:
        """Both ends of each edge."""
        return [(i, j) for i, j in np.argwhere(self.result.drawn).tolist()]

    @property
    @abstractmethod
    def kinds(self) -> tuple[str, ...]:
        """The kinds that the graph of such a result can have."""

    @abstractmethod
    def graph(self, constraints: Constraints) -> MarkedGraph:
        """Return the answer, under the knowledge."""

    @abstractmethod
    def member(self) -> MarkedGraph:
        """Return the graph that was found, a member of the answer if that is a class."""

    @abstractmethod
    def drawn(self) -> Bools:
        """Return (d, d) the edges as they are listed and drawn, without cycles."""

    @abstractmethod
    def exported(self, as_class: bool) -> tuple[MarkedGraph, Floats | None, Notes | None]:
        """Return the graph that a file gets, its weights, and the notes on its edges."""

    @abstractmethod
    def directions(self, constraints: Constraints) -> tuple[EdgeDirection, ...]:
        """Return what may be said about each edge."""

    @abstractmethod
    def reasons(self, constraints: Constraints) -> list[str]:
        """Return why each edge is as it is."""

    @abstractmethod
    def columns(self) -> dict[str, Any]:
        """Return the columns of the table of edges that say what the edges are."""

    @abstractmethod
    def shares(self, confidence: Confidence) -> dict[str, Any]:
        """Return the columns of the table of edges with their frequencies."""

    @abstractmethod
    def notes(self) -> Notes:
        """Return what is said about each edge in graphs of other programs."""

    @abstractmethod
    def ends(self) -> Ends:
        """Return how both ends of each edge look, that of the source first."""

    @abstractmethod
    def signs(self) -> list[str]:
        """Return what is written between the names of each edge."""

    @abstractmethod
    def causal_links(self) -> list[tuple[int, int, int]]:
        """Return causes, effects and how sure an arrow between them is: 2 supported, 1 assumed, 0 in either way."""

    @abstractmethod
    def lines(self) -> SummaryLines:
        """Return the parts of a summary that depend on the kind of graph."""

    @abstractmethod
    def wording(self) -> "Wording":
        """Return the words of a report that depend on the kind of graph."""

    @property
    def whole(self) -> bool:
        """Whether all was done to find the answer that follows the search."""
        return True

    def check(self) -> None:
        """Refuse records that contradict each other."""
        if self.result.told is not None:
            check_told(self.result, self.result.told)

    def refuse(self, what: str) -> None:
        """Refuse this answer where something is made for DAGs."""
        if self.way_out:
            raise ResultError(f"{what} does not support {self.noun}", hint=self.way_out)

    def export(self, path: str | Path, *, as_class: bool) -> Path:
        """Write the graph in the format that the ending of the name asks for."""
        return hand_over(path, *self.exported(as_class))

    def compared(self, learned: "GraphSide", truth: "GraphSide") -> "Compared | None":
        """Compare two graphs, one of which is of this kind, in a way of its own; None: by their edges."""
        return None

    def questions(self) -> tuple[str, ...]:
        """Return what to ask somebody who knows the field."""
        return ()

    def what_was_repeated(self, found: Confidence) -> str:
        """Return what frequencies are shares of, and of how many."""
        what = {"imputation": "imputed tables", "seeds": "seeds"}.get(found.kind, "resamples")
        return f"{found.count} {what}"

    @abstractmethod
    def legend(self) -> list[tuple[str, str]]:
        """Return the legend of a picture: the class of each line, and its words."""

    @abstractmethod
    def effects(
        self, table: "Statistics", basis: str, pairs: list[tuple[str, str]] | None, *, keep_zeros: bool
    ) -> "Effects | IdentifiedEffects | Responses":
        """Estimate effects; unless one pair is asked for, without those that are known to be zero."""

    @abstractmethod
    def resampled_effects(
        self, refit: "Refit", table: "Statistics", pair: Names, n: int, progress: Callable[[int, int], None] | None
    ) -> "Effects | IdentifiedEffects | Responses":
        """Estimate an effect over the graphs of n resamples."""

    @abstractmethod
    def judge(self, X: Any, options: dict[str, Any]) -> "Judgement | Forecasts":
        """Judge the graph on rows that it was not learned from."""


#: How answers are read that are neither a DAG nor a class of DAGs, by the field of ``Result`` that records them.
READINGS = {
    "hidden": "drbo.result.words.mark_reading:MarkReading",
    "series": "drbo.result.words.series_reading:SeriesReading",
}
#: How a DAG, or a class of DAGs, is read.
ARROWS = "drbo.result.words.arrow_reading:ArrowReading"


def tiers_of(knowledge: Knowledge, names: tuple[str, ...]) -> Indices | None:
    """Return the tier of every variable, or None where not all have one."""
    place = {name: k for k, tier in enumerate(knowledge.tiers) for name in tier}
    if not names or not all(name in place for name in names):
        return None
    return np.array([place[name] for name in names], dtype=np.intp)


def reading_of(result: "Result") -> Reading:
    """Return how a result is read."""
    place = next((READINGS[name] for name in READINGS if getattr(result, name) is not None), ARROWS)
    module, _, name = place.partition(":")
    found: type[Reading] = getattr(import_module(module), name)
    return found(result)
