"""How PAGs, the graphs of a fit with hidden causes, are read: edges with a mark at both ends."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.arrays import Bools
from drbo.claims.denial import Ground
from drbo.claims.directions import Direction, EdgeDirection
from drbo.claims.record import AncestralRecord
from drbo.claims.refits.confidence import Confidence
from drbo.constraints import Constraints
from drbo.graph.dag import topological_order
from drbo.graph.marks import ARROW, CIRCLE, MARK_NAMES, TAIL, MarkedGraph
from drbo.graph.pag import member_of, pag_of, visible
from drbo.result.files.export import Notes
from drbo.result.words.mark_words import ASSUMED, KNOWLEDGE, SIGNS, mark_notes, meaning, sign_of
from drbo.result.words.reading import EndLook, Ends, Names, Pair, Reading, SummaryLines

if TYPE_CHECKING:
    from drbo.claims.refits.resampling import Refit
    from drbo.data.statistics.statistics import Statistics
    from drbo.result.compare import Compared, GraphSide
    from drbo.result.identified_effects import IdentifiedEffects
    from drbo.result.judgement import Judgement
    from drbo.result.report.wording import Wording


class MarkReading(Reading):
    """A PAG: what all graphs that explain the table equally well have in common, whatever is hidden."""

    noun = "a graph with hidden causes"
    way_out = "fit without hidden=True for it, which assumes that no common cause is hidden; or export the PAG"
    allowed = ", hidden causes allowed"
    kinds = ("pag",)
    marked = True
    judged_by_own_score = True

    @property
    def hidden(self) -> AncestralRecord:
        assert self.result.hidden is not None  # or it would have another reading
        return self.result.hidden

    @property
    def whole(self) -> bool:
        return self.hidden.whole

    def check(self) -> None:
        self.hidden.check()
        super().check()

    @property
    def marks(self) -> list[Pair]:
        marks = self.result.graph.marks
        return [(int(marks[j, i]), int(marks[i, j])) for i, j in self.edges]

    def graph(self, constraints: Constraints) -> MarkedGraph:
        from drbo.claims.ancestral import known_causes  # a saved result does without the scores behind it

        return MarkedGraph(self.result.names, pag_of(self.hidden.mag, *known_causes(constraints)), "pag")

    def member(self) -> MarkedGraph:
        return MarkedGraph(self.result.names, self.hidden.mag.marks(), "mag")

    def drawn(self) -> Bools:
        member = member_of(self.result.graph.marks)
        graph = member if member.is_ancestral() else self.hidden.mag  # knowledge can leave marks that are no PAG's
        place = np.argsort(topological_order(graph.directed))
        return np.asarray(self.result.graph.skeleton & (place[:, None] < place))

    def exported(self, as_class: bool) -> tuple[MarkedGraph, None, Notes]:
        del as_class
        return self.result.graph, None, self._rows("source", "target")

    def directions(self, constraints: Constraints) -> tuple[EdgeDirection, ...]:
        from drbo.claims.ancestral import known_causes

        names, hidden, found = self.result.names, self.hidden, []
        seen, (never, always) = visible(self.result.graph.marks), known_causes(constraints)
        for (i, j), marks in zip(self.edges, self.marks, strict=True):
            second = (int(hidden.second[j, i]), int(hidden.second[i, j]))
            direction: Direction = "open"
            ground: Ground = ""
            if marks != (CIRCLE, CIRCLE):
                agreed = all(mark in (CIRCLE, other) for mark, other in zip(marks, second, strict=True))
                agreed &= hidden.close is None or not hidden.close[i, j]
                given = always[i, j] or always[j, i] or never[i, j] or never[j, i]
                ground = "given" if given else "tests" if agreed else ""
                direction = "supported" if ground else "assumed"
            shown = direction == "supported" and bool(seen[i, j] or seen[j, i])
            words = meaning(marks, names[i], names[j], visible=shown)
            found.append(EdgeDirection(names[i], names[j], direction, ground, False, words, None, None))
        return tuple(found)

    def causal_links(self) -> list[tuple[int, int, int]]:
        found = list[tuple[int, int, int]]()
        for (i, j), marks, one in zip(self.edges, self.marks, self.result.directions, strict=True):
            sure = 2 if one.direction == "supported" else 1
            arrows = {(TAIL, ARROW): [(i, j, sure)], (ARROW, TAIL): [(j, i, sure)], (ARROW, ARROW): []}
            found += arrows.get(marks, [(i, j, 0), (j, i, 0)])
        return found

    def reasons(self, constraints: Constraints) -> list[str]:
        del constraints
        return [one.sentence for one in self.result.directions]

    def columns(self) -> dict[str, Any]:
        told, ends = self.result.directions, self.marks
        verdicts = [one.direction for one in told]
        seen = visible(self.result.graph.marks)[np.nonzero(self.result.drawn)]
        return {
            "mark_source": [MARK_NAMES[source] for source, _ in ends],
            "mark_target": [MARK_NAMES[target] for _, target in ends],
            "visible": seen & np.array([one == "supported" for one in verdicts], dtype=bool),
            "direction": verdicts,
            "ground": [one.ground for one in told],
        }

    def shares(self, confidence: Confidence) -> dict[str, Any]:
        return dict(confidence.at_ends(*np.nonzero(self.result.drawn)))

    def notes(self) -> Notes:
        return self._rows("source", "target", "reason")

    def _rows(self, *left_out: str) -> Notes:
        rows = self.result.edges().drop(columns=list(left_out)).to_dict("records")
        return {edge: {str(key): row[key] for key in row} for edge, row in zip(self.edges, rows, strict=True)}

    def ends(self) -> Ends:
        found: Ends = {}
        for edge, (source, target), one in zip(self.edges, self.marks, self.result.directions, strict=True):
            head: EndLook = "hollow" if one.direction == "assumed" else "solid"
            looks: dict[int, EndLook] = {TAIL: "none", CIRCLE: "circle", ARROW: head}
            found[edge] = (looks[source], looks[target])
        return found

    def signs(self) -> list[str]:
        return [sign_of(*marks) for marks in self.marks]

    def lines(self) -> SummaryLines:
        result, hidden, found = self.result, self.hidden, self.result.confidence
        kinds, shown = Counter(one.direction for one in result.directions), set(self.signs())
        marks = f"marks: {kinds['supported']} supported, {kinds['assumed']} assumed, {kinds['open']} open"
        share = "the share with the edge (with its left mark, with its right mark); all marks: see edges()"
        known = [f"{'':<12} {KNOWLEDGE}"] if result.knowledge.to_mapping() else []
        return SummaryLines(
            [f"PAG: {len(result.directions)} edges; {marks}"],
            [f"score        {result.score:.6f} of the best DAG, and allowing hidden causes adds {hidden.gain:.6f}"],
            [] if hidden.lead is None else [f"proof        all graphs were compared: {_behind(hidden.lead)}"],
            [] if found is None else [f"frequencies  of {self.what_was_repeated(found)}: {share}"],
            [f"assumptions  {ASSUMED}", *known],
            [],  # the search found the best DAG, not this graph
            [f"{sign:<12} {words}" for sign, words in SIGNS if sign in shown],
        )

    def wording(self) -> "Wording":
        from drbo.result.report.wording import mark_wording

        return mark_wording(self.result)

    def compared(self, learned: "GraphSide", truth: "GraphSide") -> "Compared":
        from drbo.result.compare_marks import sides_by_marks

        return sides_by_marks(learned, truth)

    def legend(self) -> list[tuple[str, str]]:
        return [("note", text) for text in mark_notes(self.ends())]

    def effects(
        self, table: "Statistics", basis: str, pairs: list[tuple[str, str]] | None, *, keep_zeros: bool
    ) -> "IdentifiedEffects":
        from drbo.result.identified_effects import identified_effects

        marks, assumed = self.result.graph.marks, self.result.assumed | self.result.assumed.T
        supported = np.where(assumed, CIRCLE, marks).astype(np.int8)
        found = identified_effects(marks, self.hidden.mag, table, basis=basis, pairs=pairs, supported=supported)
        kept = [one for one in found.effects if keep_zeros or one.total is None or one.adjust_for is not None]
        return replace(found, effects=tuple(kept))

    def resampled_effects(
        self, refit: "Refit", table: "Statistics", pair: Names, n: int, progress: Callable[[int, int], None] | None
    ) -> "IdentifiedEffects":
        from drbo.result.identified_effects import resampled_identified_effects

        return resampled_identified_effects(refit, table, pair, n=n, seed=self.result.seed, progress=progress)

    def judge(self, X: Any, options: dict[str, Any]) -> "Judgement":
        from drbo.result.judge_pairs import judge_mag

        return judge_mag(self.hidden.mag, X, names=self.result.names, **options)


def _behind(lead: float) -> str:
    if lead >= 0:
        return f"every other class scores at least {lead:.6g} lower"
    return f"another class scores {-lead:.6g} higher, less than half the penalty of an edge"
