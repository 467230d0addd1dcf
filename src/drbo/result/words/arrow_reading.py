"""How DAGs and their equivalence classes are read: arrows that are supported, assumed or open."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.claims import why
from drbo.claims.directions import Direction, EdgeDirection, edge_directions
from drbo.claims.refits.confidence import Confidence
from drbo.constraints import Constraints
from drbo.graph.marks import MarkedGraph
from drbo.result.files.export import Notes, printable
from drbo.result.words.questions import questions
from drbo.result.words.reading import EndLook, Ends, Names, Reading, SummaryLines
from drbo.result.words.summary import before_pruning, counted, hidden_words, runner_up, than_before_pruning
from drbo.result.words.track_record import track_record

if TYPE_CHECKING:
    from drbo.claims.refits.resampling import Refit
    from drbo.data.statistics.statistics import Statistics
    from drbo.result.effects import Effects
    from drbo.result.forecasts import Forecasts
    from drbo.result.judgement import Judgement
    from drbo.result.report.wording import Wording
    from drbo.result.responses import Responses

#: How a direction is written between two names, and how its arrow is drawn.
SIGNS: dict[Direction, str] = {"supported": "->", "assumed": "-?>", "open": "--"}
HEADS: dict[Direction, EndLook] = {"supported": "solid", "assumed": "hollow", "open": "none"}
SURE: dict[Direction, int] = {"supported": 2, "assumed": 1, "open": 0}
#: What a supported direction rests on, beside that no cause is hidden.
GROUNDS = {
    "class": "directions by class rest on independences in the table, none of them a coincidence (faithfulness)",
    "noise-check": "directions by noise check rest on additive noise whose shape does not depend on the causes",
}


class ArrowReading(Reading):
    """A DAG, or the class of graphs that its score cannot tell apart."""

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("cpdag", "mpdag") if self.result.score_equivalent else ("dag",)

    def graph(self, constraints: Constraints) -> MarkedGraph:
        result = self.result
        if not result.score_equivalent:
            return self.member()
        from drbo.claims.experiments import class_of  # a saved result does without the scores behind it

        cpdag = result.cpdag
        found = class_of(result.dag, constraints, result.claims.experiments, cpdag)
        return MarkedGraph.of(found, result.names, "cpdag" if (found == cpdag).all() else "mpdag")

    def member(self) -> MarkedGraph:
        return MarkedGraph.of(self.result.dag, self.result.names, "dag")

    def drawn(self) -> Bools:
        return self.result.dag

    def exported(self, as_class: bool) -> tuple[MarkedGraph, Floats | None, Notes | None]:
        return (self.result.graph, None, None) if as_class else (self.member(), self.result.weights, self.notes())

    def directions(self, constraints: Constraints) -> tuple[EdgeDirection, ...]:
        result = self.result
        return edge_directions(
            result.dag,
            constraints,
            score_equivalent=result.score_equivalent,
            checks=result.claims.noise,
            denials=result.claims.denials,
            made=result.claims.made,
            margins=result.margins,
            confidence=result.confidence,
            known_class=result.mpdag,
            experiments=self._shown(),
            randomised=result.table.randomised,
        )

    def _shown(self) -> dict[tuple[str, str], str]:
        result = self.result
        if result.claims.experiments is None:
            return {}
        from drbo.claims.experiments import shown_arrows

        return shown_arrows(result.dag, result.names, result.mpdag, result.claims.experiments)

    def reasons(self, constraints: Constraints) -> list[str]:
        result, shown = self.result, self._shown()
        found = why.reasons(
            result.dag,
            constraints,
            score_equivalent=result.score_equivalent,
            assumption=result.scoring.assumption,
            reversed_margin=None if result.margins is None else result.margins.reversed,
            classes=(result.cpdag, result.mpdag),
        )
        words = list(found.values())
        for k, one in enumerate(result.directions):
            if one.ground == "noise-check":
                words[k] = "noise check"
            elif one.ground == "experiment":
                words[k] = shown[one.cause, one.effect].removesuffix(".")
        return words

    def columns(self) -> dict[str, Any]:
        told = self.result.directions
        return {
            "directed": [one.direction != "open" for one in told],
            "direction": [one.direction for one in told],
            "ground": [one.ground for one in told],
            "contradicted": [one.contradicted for one in told],
            **self._halves(),
        }

    def _halves(self) -> dict[str, Any]:
        """Return the share of halves of the rows that support each arrow, where that was asked of any."""
        found = {(one.cause, one.effect): one.confirmed / one.tried for one in self.result.claims.halves}
        return (
            {"stable": [found.get((one.cause, one.effect), np.nan) for one in self.result.directions]} if found else {}
        )

    def shares(self, confidence: Confidence) -> dict[str, Any]:
        source, target = np.nonzero(self.result.dag)
        as_drawn = np.where(self.result.graph.undirected, confidence.undirected, confidence.directed)
        return {"frequency": as_drawn[source, target], **confidence.at_ends(source, target)}

    def notes(self) -> Notes:
        told = [{"direction": one.direction, "ground": one.ground} for one in self.result.directions]
        return dict(zip(self.edges, told, strict=True))

    def ends(self) -> Ends:
        told = self.result.directions
        return {edge: ("none", HEADS[one.direction]) for edge, one in zip(self.edges, told, strict=True)}

    def signs(self) -> list[str]:
        return [SIGNS[one.direction] for one in self.result.directions]

    def causal_links(self) -> list[tuple[int, int, int]]:
        found = list[tuple[int, int, int]]()
        for (i, j), one in zip(self.edges, self.result.directions, strict=True):
            sure = SURE[one.direction]
            found += [(i, j, sure)] if sure else [(i, j, 0), (j, i, 0)]
        return found

    def lines(self) -> SummaryLines:
        found_by = [f"found by     {printable(self.result.search.found_by) or 'not recorded'}"]
        parts = (self._title(), self._scores(), self._proof(), self._frequencies(), self._assumptions())
        return SummaryLines(*parts, found_by, [])

    def _title(self) -> list[str]:
        result = self.result
        n_edges = int(result.dag.sum())
        lines, title = [], f"DAG: {n_edges} edges"
        if result.score_equivalent:
            undirected = int(result.graph.undirected.sum()) // 2
            kind = "MPDAG, the CPDAG refined by background knowledge"
            if result.claims.experiments is not None:
                kind = "interventional: the CPDAG refined by experiments and background knowledge"
            kind = "CPDAG" if result.graph.kind == "cpdag" else kind
            lines = [f"Equivalence class ({kind}): {n_edges - undirected} directed and {undirected} undirected edges"]
            title = f"DAG (one member of the class): {n_edges} edges"
        if n_edges:
            title += f"; directions: {counted(result.directions)}"
        return [*lines, title]

    def _scores(self) -> list[str]:
        result = self.result
        if result.pruner == "none":
            return [f"score        {result.score:.6f}"]
        n_edges, n_searched = int(result.dag.sum()), int(result.searched_dag.sum())
        return [
            f"score        {result.score:.6f} before pruning, {result.pruned_score:.6f} after",
            f"pruning      {printable(result.pruner)}: {n_searched - n_edges} of {n_searched} edges removed",
        ]

    def _proof(self) -> list[str]:
        result, lines = self.result, []
        if result.proof is not None:
            proved = "the optimum" if result.gap == 0 else f"at most {result.gap:.6g} below the optimum"
            lines.append(
                f"proof        the graph{before_pruning(result)} is {proved} of {printable(result.proof.valid_for)}"
            )
        if (found := runner_up(result)) is not None:
            behind, what = found
            lower = f"{behind:.6g} lower{than_before_pruning(result)}"
            lines.append(f"runner-up    {printable(what)} scores {lower} ({printable(result.claims.over)})")
        if result.posterior is not None:
            lines.append(f"edge prior   {printable(result.claims.prior)}")
        return lines

    def _frequencies(self) -> list[str]:
        if (found := self.result.confidence) is None:
            return []
        links = found.adjacent[self.result.dag]
        least = f", the weakest edge in {100 * links.min():.0f}% of them" if len(links) else ""
        others = int((np.triu(found.adjacent, 1) >= found.cut).sum()) if found.cut > 0 else 0
        links_above = f"{others} links at or above the threshold of {found.cut:.2f}"
        return [f"frequencies  {self.what_was_repeated(found)}{least}; {links_above}: see edges()"]

    def _assumptions(self) -> list[str]:
        result = self.result
        lines = [
            "assumptions  no common cause is hidden; hidden=True (--hidden) does not assume this (docs/guide/hidden.md)"
        ]
        if words := hidden_words(result):
            lines.append(f"{'':<12} {printable(words)}")
        grounds = {one.ground for one in result.directions}
        for ground in sorted(grounds & {*GROUNDS, "experiment"}):
            told = [words for words in (GROUNDS.get(ground, ""), track_record(ground)) if words]
            lines += [f"{'':<12} {words}" for words in told]
        if any(one.direction == "assumed" for one in result.directions):
            rest = "the margins of the score" if result.score_equivalent else printable(result.scoring.assumption)
            unconfirmed = f"assumed directions rest on {rest}; no test confirms them (docs/guide/trust.md)"
            lines.append(f"{'':<12} {unconfirmed}")
        return lines

    def wording(self) -> "Wording":
        from drbo.result.report.wording import arrow_wording

        return arrow_wording(self.result)

    def questions(self) -> tuple[str, ...]:
        return questions(self.result.directions, in_python=bool(self.result.line))

    def legend(self) -> list[tuple[str, str]]:
        result, notes = self.result, list[tuple[str, str]]()
        if (weights := result.standardised_weights) is not None and result.dag.any():
            notes += [("positive", "blue: positive effect")] if (weights[result.dag] > 0).any() else []
            notes += [("negative", "orange: negative effect")] if (weights[result.dag] < 0).any() else []
            notes += [("note", "line width: absolute standardised weight")]
        notes += [("note", "hollow arrowhead: the direction is assumed")] if result.assumed.any() else []
        notes += [("note", "no arrowhead: the data do not determine the direction")] if result.undirected.any() else []
        return notes + ([("note", "dashed line: a weak edge")] if result.weak.any() else [])

    def effects(
        self, table: "Statistics", basis: str, pairs: list[tuple[str, str]] | None, *, keep_zeros: bool
    ) -> "Effects | Responses":
        from drbo.result.effects import effects
        from drbo.result.mixture import Doubt
        from drbo.result.outcome import reversible

        result = self.result
        doubt = Doubt(result.constraints, result.p_link, result.table.randomised)
        assumed = result.assumed if pairs is None or len(pairs) == 1 else reversible(result.assumed)
        options: dict[str, Any] = {"pairs": pairs, "assumed": assumed, "doubt": doubt}
        found = effects(result.graph.adjacency, table, basis=basis, **options)
        return replace(found, effects=tuple(one for one in found.effects if keep_zeros or any(one.total)))

    def resampled_effects(
        self, refit: "Refit", table: "Statistics", pair: Names, n: int, progress: Callable[[int, int], None] | None
    ) -> "Effects | Responses":
        from drbo.result.effects import resampled_effects

        return resampled_effects(refit, table, [pair], n=n, seed=self.result.seed, progress=progress)

    def judge(self, X: Any, options: dict[str, Any]) -> "Judgement | Forecasts":
        from drbo.data.checks.experiments import control_rows
        from drbo.data.reading.frames import as_frame
        from drbo.result.judge import judge
        from drbo.scores.named import score_of_file

        if (found := self.result.claims.experiments) is not None:
            X = control_rows(as_frame(X), found.design)
        if "score" not in options:
            options = options | {"score": score_of_file(self.result.score_name, None, "the result")}
        return judge(self.result.dag, X, names=self.result.names, **options)
