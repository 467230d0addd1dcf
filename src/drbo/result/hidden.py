"""The result of a fit that allows hidden causes: a partial ancestral graph (PAG) instead of a DAG."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

import numpy as np

from drbo.arrays import Bools
from drbo.claims.ancestral import known_causes
from drbo.claims.directions import Direction, EdgeDirection
from drbo.claims.record import AncestralRecord, Claims, Ground
from drbo.errors import DataError, ResultError
from drbo.graph.dag import topological_order
from drbo.graph.mag import ARROW, CIRCLE, NO_EDGE, TAIL, Mag, Marks
from drbo.graph.pag import member_of, pag_of, visible
from drbo.result.files import pag_files
from drbo.result.result import Result
from drbo.result.words.pag_summary import summary

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from drbo.result.judgement import Judgement
    from drbo.result.pag_effects import PagEffects

#: How the end of an edge is drawn.
Look = Literal["none", "circle", "solid", "hollow"]
#: The marks of edges(), by their numbers in the PAG.
MARK_NAMES = {CIRCLE: "circle", ARROW: "arrow", TAIL: "tail"}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class HiddenResult(Result):
    """The result of a fit with ``hidden=True``; read-only.

    The answer is ``pag``. ``dag`` is the best DAG, from which the search for it began: it is the answer only if nothing
    is hidden. Rows are assumed not to be selected by anything hidden.
    """

    hidden: AncestralRecord

    @classmethod
    def of(cls, result: Result, hidden: AncestralRecord) -> Self:
        """Return a result with an ancestral graph; claims about the directions and weights of its DAG are left out."""
        given = {part.name: getattr(result, part.name) for part in fields(Result)}
        blank = {"claims": Claims(), "weights": None, "standardised_weights": None}
        return cls(**given | blank, hidden=hidden)

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            graph = Mag.of(self.hidden.directed, self.hidden.bidirected)
        except DataError as error:
            raise ResultError(f"hidden: {error.message}") from error
        if not graph.is_ancestral() or not graph.is_maximal():
            raise ResultError("hidden: the graph is not a maximal ancestral graph")
        if not np.isin(self.hidden.second, (NO_EDGE, *MARK_NAMES)).all():
            raise ResultError("hidden.second must contain only 0, 1, 2 and 3")

    def __repr__(self) -> str:
        n = self.mag.n_edges
        return f"<HiddenResult: {len(self.names)} nodes, {n} edge{'s' * (n != 1)}, {self.score_name}>"

    @property
    def mag(self) -> Mag:
        """The maximal ancestral graph that was found, one member of the class that ``pag`` stands for."""
        return Mag(self.hidden.directed, self.hidden.bidirected)

    @cached_property
    def _pag(self) -> Marks:
        return pag_of(self.mag, *known_causes(self._constraints))

    def marks_of(self, graph: Bools) -> Marks:
        """Return the PAG, under this knowledge, of directed edges (d, d) with bidirected ones below them."""
        d = len(self.names)
        return pag_of(Mag.of(graph[:d], graph[d:]), *known_causes(self._constraints))

    @property
    def pag(self) -> Marks:
        """(d, d) ``pag[i, j]``: the mark at j of the edge between i and j; 0 none, 1 circle, 2 arrow, 3 tail."""
        return self._pag.copy()

    @property
    def supported_marks(self) -> Marks:
        """``pag`` with circles at the edges whose marks tests do not confirm."""
        assumed = self.assumed | self.assumed.T
        return np.where(assumed, CIRCLE, self._pag).astype(np.int8)

    @cached_property
    def drawn(self) -> Bools:
        """(d, d) the edges as they are listed and drawn: without cycles, arrows downwards where that is possible."""
        member = member_of(self._pag)
        graph = member if member.is_ancestral() else self.mag  # knowledge can leave marks that are no PAG's
        place = np.argsort(topological_order(graph.directed))
        return np.asarray((self._pag != NO_EDGE) & (place[:, None] < place))

    @cached_property
    def directions(self) -> tuple[EdgeDirection, ...]:
        """What may be said about each edge, in the order of :meth:`edges`."""
        seen, (never, always) = visible(self._pag), known_causes(self._constraints)
        found = []
        for i, j in np.argwhere(self.drawn).tolist():
            marks = (int(self._pag[j, i]), int(self._pag[i, j]))
            second = (int(self.hidden.second[j, i]), int(self.hidden.second[i, j]))
            direction: Direction = "open"
            ground: Ground = ""
            if marks != (CIRCLE, CIRCLE):
                agreed = all(mark in (CIRCLE, other) for mark, other in zip(marks, second, strict=True))
                agreed &= self.hidden.close is None or not self.hidden.close[i, j]
                given = always[i, j] or always[j, i] or never[i, j] or never[j, i]
                ground = "given" if given else "tests" if agreed else ""
                direction = "supported" if ground else "assumed"
            words = meaning(marks, self.names[i], self.names[j], visible=bool(seen[i, j] or seen[j, i]))
            found.append(EdgeDirection(self.names[i], self.names[j], direction, ground, False, words, None, None))
        return tuple(found)

    def edges(self) -> "pd.DataFrame":
        """Return the edges of ``pag``, one row each.

        ``mark_source`` and ``mark_target`` are tail, arrow or circle. A tail at the source and an arrow at the target:
        the source is a cause of the target. Two arrows: neither causes the other. A circle: the data do not tell. An
        arrow that is ``visible`` has no hidden cause of both ends. ``direction`` is supported where the knowledge gives
        the marks, or tests on the edges of the best DAG find them and the score does not do nearly as well with
        others; assumed elsewhere; open for two circles. After
        a bootstrap, ``link_frequency`` is the share of resamples with an edge, and ``source_arrow`` and the like are
        the shares with this mark at this end.
        """
        import pandas as pd

        source, target = np.nonzero(self.drawn)
        shares = {} if self.confidence is None else self.confidence.at_ends(source, target)
        return pd.DataFrame(
            {
                "source": pd.Series([self.names[i] for i in source], dtype=str),
                "target": pd.Series([self.names[j] for j in target], dtype=str),
                **{key: [mark[key] for mark in self._marks] for key in ("mark_source", "mark_target")},
                "visible": visible(self._pag)[source, target],
                "direction": [one.direction for one in self.directions],
                "ground": [one.ground for one in self.directions],
                "reason": [one.sentence for one in self.directions],
                **shares,
            }
        )

    @property
    def _marks(self) -> list[dict[str, str]]:
        """What is said about each edge wherever the graph goes."""
        ends = np.argwhere(self.drawn).tolist()
        return [
            {
                "mark_source": MARK_NAMES[int(self._pag[j, i])],
                "mark_target": MARK_NAMES[int(self._pag[i, j])],
                "direction": one.direction,
                "ground": one.ground,
            }
            for (i, j), one in zip(ends, self.directions, strict=True)
        ]

    @property
    def ends(self) -> dict[tuple[int, int], tuple[Look, Look]]:
        """How the two ends of each edge of ``drawn`` look: none, circle, solid or hollow; hollow ones are assumed."""
        found = {}
        for (i, j), one in zip(np.argwhere(self.drawn).tolist(), self.directions, strict=True):
            looks: dict[int, Look] = {
                TAIL: "none",
                CIRCLE: "circle",
                ARROW: "hollow" if one.direction == "assumed" else "solid",
            }
            found[i, j] = (looks[int(self._pag[j, i])], looks[int(self._pag[i, j])])
        return found

    @property
    def weak(self) -> Bools:
        """(d, d) True for the edges of ``drawn`` with a frequency below the threshold of a bootstrap."""
        found = self.confidence
        return np.zeros_like(self.dag) if found is None else self.drawn & (found.adjacent < found.cut)

    @property
    def undirected(self) -> Bools:
        """(d, d) True in both directions for edges with two circles."""
        return np.asarray((self._pag == CIRCLE) & (self._pag.T == CIRCLE))

    @property
    def assumed(self) -> Bools:
        """(d, d) True for the edges of ``drawn`` with a mark that tests do not confirm."""
        mask = self.drawn.copy()
        mask[self.drawn] = [one.direction == "assumed" for one in self.directions]
        return mask

    def why(self) -> dict[tuple[str, str], str]:
        """Return what each edge says, in words."""
        return {(one.cause, one.effect): one.sentence for one in self.directions}

    def summary(self) -> str:
        """Return the result in plain words."""
        return summary(self)

    def to_networkx(self) -> "nx.DiGraph[str]":
        """Return a networkx DiGraph; both marks of an edge, ``visible`` and ``direction`` are its attributes."""
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.names)
        for row in self.edges().drop(columns="reason").to_dict("records"):
            graph.add_edge(row.pop("source"), row.pop("target"), **{str(key): value for key, value in row.items()})
        return graph

    def to_causallearn(self) -> Any:
        """Return the PAG as a causal-learn GeneralGraph."""
        return pag_files.to_causallearn(self._pag, self.names)

    def to_pgmpy(self) -> Any:
        """Refuse: pgmpy has no graphs with hidden causes."""
        self.refuse("to_pgmpy()")

    def export(self, path: str | Path, *, as_class: bool = False) -> Path:
        """Write the PAG in the format given by the file extension; see :mod:`drbo.result.files.pag_files`."""
        del as_class  # a PAG is a class
        return pag_files.hand_over(path, self)

    def judge(self, X: Any, **options: Any) -> "Judgement":
        """Judge the graph on rows that it was not learned from; see :mod:`drbo.result.pag_judge`."""
        from drbo.result.on_data import pag_judgement_of

        return pag_judgement_of(self, X, options)

    def effects(  # type: ignore[override]  # a class with hidden causes gives an effect or none, never a set of values
        self, X: Any, source: str | None = None, target: str | None = None, *, missing: str = "error"
    ) -> "PagEffects":
        """Return linear effects that are the same in every graph of the class; see :mod:`drbo.result.pag_effects`."""
        from drbo.result.on_data import pag_effects_of

        return pag_effects_of(self, X, source, target, missing)

    def probabilities(self, X: Any, source: str, level: str, target: str, *, missing: str = "error") -> NoReturn:
        """Refuse: a table with hidden causes has no categories."""
        self.refuse("probabilities()")

    def next_experiments(self, X: Any = None, **options: Any) -> NoReturn:
        """Refuse: experiments are ranked over DAGs."""
        self.refuse("next_experiments()")

    def refuse(self, what: str) -> NoReturn:
        """Refuse what is made for DAGs."""
        raise ResultError(
            f"{what} does not support results with hidden causes",
            hint="fit without hidden=True for it, which assumes that no common cause is hidden; or export the PAG",
        )


def meaning(marks: tuple[int, int], source: str, target: str, *, visible: bool) -> str:
    """Return what an edge with these marks, at its source and at its target, says.

    Examples
    --------
    >>> meaning((ARROW, ARROW), "a", "b", visible=False)
    "Neither of 'a' and 'b' causes the other; something not in the table is involved."
    """
    if marks[0] == ARROW and marks[1] != ARROW:
        return meaning(marks[::-1], target, source, visible=visible)
    also = "no hidden cause of both is possible" if visible else "something not in the table may cause both as well"
    words: Mapping[tuple[int, int], str] = {
        (TAIL, ARROW): f"'{source}' is a cause of '{target}', directly or through other things; {also}.",
        (ARROW, ARROW): f"Neither of '{source}' and '{target}' causes the other; something not in the table is "
        "involved.",
        (CIRCLE, ARROW): f"'{target}' is not a cause of '{source}'; either '{source}' causes '{target}', or something "
        "not in the table causes both.",
        (CIRCLE, CIRCLE): f"The data do not tell whether '{source}' causes '{target}', '{target}' causes '{source}', "
        "or something not in the table causes both.",
    }
    tail = f"'{source}' and '{target}' are linked; the knowledge decides only one of their ends."
    return words.get(marks, tail)


def hidden_notes(drawn: Mapping[tuple[int, int], tuple[Look, Look]]) -> list[str]:
    """Return the legend of a picture: what the marks in it mean.

    Examples
    --------
    >>> hidden_notes({(0, 1): ("circle", "solid")})
    ['circle: the data do not tell whether this end is an arrow']
    """
    ends = [frozenset(pair) for pair in drawn.values()]
    looks = frozenset().union(*ends)
    both = any("none" not in pair and "circle" not in pair for pair in ends)
    notes = ["two-headed edge: neither causes the other; something not in the table is involved"] if both else []
    notes += ["circle: the data do not tell whether this end is an arrow"] if "circle" in looks else []
    return notes + (["hollow arrowhead: tests do not confirm it"] if "hollow" in looks else [])
