"""The records that make up a result, and how their fields are checked against their annotations."""

from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from drbo.arrays import Floats, Ints
from drbo.claims.denial import Ground
from drbo.claims.directions import Direction
from drbo.claims.record import Graph, MarkMatrix, Stored, Vector
from drbo.data.checks.facts import Audit
from drbo.deadline import Stop
from drbo.design import Design
from drbo.errors import ResultError
from drbo.knowledge import Knowledge
from drbo.search.outcome import Fidelity

Counts = Annotated[Ints, Stored("t", "<i8")]
Series = Annotated[Floats, Stored("t", "<f8")]


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """What was maximised."""

    name: str  # of the score
    equivalent: bool  # the score ties all DAGs of an equivalence class; with experiments, of the interventional class
    options: dict[str, Any] = field(default_factory=dict)  # penalty and whatever else the score was built with
    array_options: tuple[str, ...] = ()  # options of which only the shape is stored
    assumption: str = "the score distinguishes equivalent graphs"  # what decides directions where independence does not
    regression: Literal["linear", "splines", "ranks"] | None = (
        None  # class arrows need families that pass checks of its residuals
    )
    evidence_scale: float | None = None  # units of the score per unit of log evidence; None: it is no evidence
    words: tuple[str, ...] = ()  # what its model assumes, in sentences

    @property
    def plain_options(self) -> dict[str, Any]:
        """The options without arrays, of which a result stores only the shape."""
        return {name: value for name, value in self.options.items() if name not in self.array_options}


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """The course of a search, one entry per iteration."""

    n_evals: Counts = field(default_factory=lambda: np.empty(0, np.int64))  # evaluated DAGs so far
    n_local: Counts = field(default_factory=lambda: np.empty(0, np.int64))  # computed local scores so far
    seconds: Series = field(default_factory=lambda: np.empty(0))
    best: Series = field(default_factory=lambda: np.empty(0))  # the best score so far


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchRecord:
    """The best DAG of the search, before pruning, and how it was found."""

    dag: Graph  # (d, d)
    score: float  # of dag
    local: Vector | None = None  # (d,) local values of dag
    price: Vector | None = None  # (d,) their exact part: penalty and edge prior
    found_by: str = ""  # the stage of the search that found dag
    stop: Stop = Stop.UNKNOWN  # why the search ended
    afterwards: Stop | None = None  # why the run ended before all was said about what was found; None: it did not
    stopped: str = ""  # both in words
    n_evals: int = 0  # evaluated DAGs
    n_local: int = 0  # computed local scores; the search over orders counts a repeated one again
    fidelities: tuple[Fidelity, ...] = ()  # what was spent on cheaper versions of the score
    seconds: float = 0.0  # of the search
    trace: Trace = field(default_factory=Trace)  # its progress

    @property
    def cut_short(self) -> bool:
        """Whether the clock or the user ended the search, or what followed it."""
        return self.stop.cut_short or self.afterwards is not None


@dataclass(frozen=True, eq=False, kw_only=True)
class TableRecord:
    """The table that the graph was learned from."""

    n_rows: int = 0  # of the checked table
    n_effective: float = 0.0  # rows that they are worth, where rows are weighted or grouped; 0: as many
    groups: str = ""  # the column that grouped the rows
    n_groups: int = 0  # 0: rows were not grouped
    randomised: tuple[str, ...] = ()  # columns that chance alone decided
    outcome: str = ""  # the column that matters; empty: all do
    sha256: str = ""  # hash of its values, whatever the order of rows and columns; empty: not computed
    audit: Audit = field(default_factory=Audit)  # facts about each column, and findings


@dataclass(frozen=True, eq=False, kw_only=True)
class SeriesRecord:
    """The time of the rows, where columns of their past stand beside those of the present."""

    lags: tuple[int, ...]  # (d,) of each column
    time: str = ""  # the column with the times; empty: rows were taken in their order
    unit: str = ""  # the column that names the series of each row
    season: int = 0  # steps of the pattern that was removed; 0: none
    trend: str = ""  # what else was removed

    @property
    def max_lag(self) -> int:
        """The largest lag that was looked at."""
        return max(self.lags)

    @property
    def design(self) -> Design:
        """How the rows came about, for another fit or table."""
        given: dict[str, Any] = {"time": self.time, "unit": self.unit, "season": self.season, "trend": self.trend}
        return Design(max_lag=self.max_lag, **{name: value for name, value in given.items() if value})


@dataclass(frozen=True, kw_only=True)
class Size:
    """The effect of a column, or of a level of it, on the outcome, or on the share of a level of it."""

    cause: str
    contrast: str = ""  # of a categorical cause: which level instead of which
    level: str = ""  # of a categorical outcome
    total: tuple[float, ...] = ()  # one for each possible graph; empty: no adjustment tells it
    low: float = 0.0
    high: float = 0.0
    probability: float | None = None  # that there is an effect

    @property
    def largest(self) -> float:
        """The largest absolute effect of all graphs."""
        return max(map(abs, self.total), default=0.0)


@dataclass(frozen=True, kw_only=True)
class OutcomeRecord:
    """Effects on the outcome, over all graphs that open and assumed directions leave."""

    column: str
    basis: str  # what kind of rows they were estimated from
    sizes: tuple[Size, ...] = ()
    left_out: str = ""  # why there are none, in words


@dataclass(frozen=True, eq=False, kw_only=True)
class Provenance:
    """What gives the same graph again, from the same table."""

    settings: dict[str, Any] = field(default_factory=dict)  # as Settings.to_dict(), with the route that was taken
    seed: int = 0  # of every random choice
    versions: dict[str, str] = field(default_factory=dict)  # of drbo, Python and the libraries that decide the numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class Told:
    """What a result said when it was saved, which later versions may derive in another way.

    Lists are those of the fields of ``Result.directions``, an entry for each edge.
    """

    kind: str  # of the graph, see :data:`drbo.graph.marks.KINDS`
    marks: MarkMatrix  # (d, d) of the graph, coded as in :mod:`drbo.graph.marks`
    directions: tuple[Direction, ...]
    grounds: tuple[Ground, ...]
    contradicted: tuple[bool, ...]
    sentences: tuple[str, ...]
    p_forward: tuple[float | None, ...]
    reasons: tuple[str, ...]  # as in Result.why()

    @property
    def lengths(self) -> set[int]:
        """How many edges the lists are about."""
        lists = (self.directions, self.grounds, self.contradicted, self.sentences, self.p_forward, self.reasons)
        return {len(one) for one in lists}


def hints_of(kind: type) -> dict[str, Any]:
    """Return the annotations of a record, those of arrays with their :class:`Stored`."""
    return get_type_hints(kind, include_extras=True)


def required(hint: Any) -> tuple[Any, bool]:
    """Return an annotation without None, and whether None was allowed."""
    parts = [part for part in get_args(hint) if part is not NoneType]
    return (parts[0], True) if NoneType in get_args(hint) else (hint, False)


def stored(hint: Any) -> Stored | None:
    """Return how the array of an annotated field is stored; None for a field that is no array."""
    return next((part for part in getattr(required(hint)[0], "__metadata__", ()) if isinstance(part, Stored)), None)


def settled(record: Any, sizes: Mapping[str, int], where: str = "") -> dict[str, Any]:
    """Return the fields of a record as they are kept: read-only arrays of the annotated shapes, plain values.

    Nothing that can be written to is shared with the caller.
    """
    return {
        name: _settled(hint, getattr(record, name), sizes, where + name)
        for name, hint in hints_of(type(record)).items()
    }


def _settled(hint: Any, value: Any, sizes: Mapping[str, int], where: str) -> Any:
    kind, _ = required(hint)
    if value is None or isinstance(value, Knowledge):
        return value
    if (spec := stored(hint)) is not None:
        kept = isinstance(value, np.ndarray) and not value.flags.writeable and _is_alone(value)
        array = np.asarray(value, dtype=spec.dtype) if kept else np.array(value, dtype=spec.dtype)
        if array.shape != spec.shape(sizes):
            raise ResultError(f"{where} must have shape {spec.shape(sizes)}, got {array.shape}")
        array.setflags(write=False)
        return array
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **settled(value, sizes, f"{where}."))
    if isinstance(value, list | tuple):
        return tuple(value)
    if get_origin(kind) is Literal:
        return value
    return dict(value) if isinstance(value, dict) else kind(value)


def _is_alone(array: Any) -> bool:
    """Tell whether an array is no view of another one; its numbers may be in a file that has no name."""
    return bool(array.flags.owndata or (isinstance(array.base, np.memmap) and array.base.filename is None))
