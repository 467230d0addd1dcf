"""What a report says about the arrows of a DAG or the marks of a PAG: legends, neighbours, and what they rest on."""

from collections import Counter
from dataclasses import dataclass, replace

from drbo.arrays import Bools
from drbo.graph.marks import ARROW, CIRCLE, TAIL
from drbo.result.report.plain_words import PlainWords, plain_words, words_of_marks, words_of_series
from drbo.result.result import Result
from drbo.result.words.mark_words import ASSUMED, KNOWLEDGE, mark_notes
from drbo.result.words.series_reading import EARLIER, NAMES, STEADY, SeriesReading
from drbo.result.words.summary import counted, hidden_words


@dataclass(frozen=True, eq=False, kw_only=True)
class Wording:
    """The words of a report that depend on the kind of graph."""

    ends: tuple[str, str]  # of an edge, as the heads of the table
    spoken: dict[str, str]  # what a screen reader says between both names
    kind_words: dict[str, str]  # what the lines of the picture mean
    counts: str  # of edges that are supported, assumed and open, as the end of the headline
    legend: str  # what the lines of a picture mean, in a few words
    marks: str = ""  # what the ends of edges mean, beside arrowheads
    signs: list[str]  # what is written between both names of each edge
    words: PlainWords  # the result for readers without statistics
    assumptions: list[str]  # what must hold for the graph to mean what it says
    linked: dict[str, Bools]  # (d, d) for each variable those that it is linked to, by how they are linked


def arrow_wording(result: Result) -> Wording:
    """Return the words about a DAG or a class of DAGs."""
    dag, undirected, signs = result.dag, result.undirected, {"supported": "→", "assumed": "⇾", "open": "—"}
    hollow = " Hollow arrow: direction assumed." if result.assumed.any() else ""
    return Wording(
        ends=("cause", "effect"),
        spoken={"supported": "causes", "assumed": "assumed to cause", "open": "linked, direction open"},
        kind_words={
            "supported": "Solid arrow: the direction is supported, by the data or by what you said.",
            "assumed": "Hollow arrow: the direction is assumed. The program had to choose one; treat it as a guess.",
            "open": "Line: the direction is open. The data cannot tell which way it goes.",
        },
        counts=f"; directions: {counted(result.directions)}" if result.directions else "",
        legend=hollow + (" Line: direction open." if undirected.any() else ""),
        signs=[signs[one.direction] for one in result.directions],
        words=plain_words(result),
        assumptions=_of_arrows(result),
        linked={"causes": (dag & ~undirected).T, "effects": dag & ~undirected, "direction undetermined": undirected},
    )


def series_wording(result: Result, reading: SeriesReading) -> Wording:
    """Return the words about a graph of rows that have a past."""
    found = arrow_wording(result)
    words = [f"Assumed: {STEADY}.", f"{EARLIER[0].upper()}{EARLIER[1:]}.", *found.assumptions[1:]]
    return replace(found, words=words_of_series(result, reading), assumptions=words, marks=f" {NAMES}.")


def mark_wording(result: Result) -> Wording:
    """Return the words about a PAG."""
    here, there = result.graph.marks.T, result.graph.marks  # at the end of a variable, at the other end
    kinds = Counter(one.direction for one in result.directions)
    counts = ", ".join(f"{kinds[kind]} {kind}" for kind in ("supported", "assumed", "open"))
    legend = "".join(f" {text[0].upper()}{text[1:]}." for text in mark_notes(result.reading.ends()))
    return Wording(
        ends=("one end", "other end"),
        spoken={kind: f"linked, marks {kind}" for kind in ("supported", "assumed", "open")},
        kind_words={
            "supported": "Solid arrowhead: tests on the same data find it as well.",
            "assumed": "Hollow arrowhead: tests do not confirm it.",
            "open": "Only circles: the data show only that the two are linked.",
        },
        counts=f"; hidden causes allowed; marks: {counts}",
        legend=legend,
        marks=legend,
        signs=result.reading.signs(),
        words=words_of_marks(result),
        assumptions=_of_marks(result),
        linked={
            "causes": (there == TAIL) & (here == ARROW),
            "effects": (there == ARROW) & (here == TAIL),
            "linked by something hidden": (there == ARROW) & (here == ARROW),
            "linked, unknown how": (there == CIRCLE) | (here == CIRCLE),
        },
    )


def _of_arrows(result: Result) -> list[str]:
    hidden = hidden_words(result)
    words = [
        "Every common cause of two variables is a column of the table. A hidden common cause can add an edge "
        "between its effects or reverse an arrow. If there may be one, fit again with hidden=True (--hidden), "
        "which allows hidden causes (docs/guide/hidden.md).",
        *([f"{hidden[0].upper()}{hidden[1:]}."] if hidden else []),
        _independence(result),
        *result.scoring.words,
    ]
    if result.score_equivalent:
        words.append(
            "The score identifies an equivalence class. An edge without an arrowhead fits the data equally well "
            "in both directions; only experiments or background knowledge can decide."
        )
    elif not result.scoring.words:
        words.append(f"The directions of arrows rest on the assumptions of the score {result.score_name}.")
    if result.posterior is not None:
        words.append(f"Probabilities of links rest on the score and on a prior: {result.claims.prior}.")
    if result.assumed.any():
        rest = "the margins of the score" if result.score_equivalent else result.scoring.assumption
        words.append(
            f"Hollow arrows are assumed: they rest on {rest}, and no test confirms them. For most "
            "tables that is as much as can be known without experiments or background knowledge."
        )
    return words


def _of_marks(result: Result) -> list[str]:
    words = [
        f"Assumed: {ASSUMED}.",
        "Common causes may be hidden. An edge with two arrowheads says that neither column causes the other and "
        "that something not in the table is involved. A circle says that the data do not tell.",
        "An arrow with a tail is a cause, directly or through other things. Only where the table calls it visible, "
        "nothing hidden can cause both of its ends.",
        "Marks are supported where tests on the edges of the best DAG find them as well, and assumed elsewhere.",
        _independence(result),
    ]
    return words + ([f"{KNOWLEDGE[0].upper()}{KNOWLEDGE[1:]}."] if result.knowledge.to_mapping() else [])


def _independence(result: Result) -> str:
    """Return what is assumed about the rows."""
    selection = "selection into the table does not depend on the variables."
    if (series := result.series) is not None:
        unit = f", apart from the mean of each '{series.unit}', which was removed" if series.unit else ""
        return f"Rows are independent of each other given the {series.max_lag} rows before them{unit}, and {selection}"
    if not (n := result.table.n_groups):
        return f"Rows are independent of each other, and {selection}"
    by = f" of '{result.table.groups}'" if result.table.groups else ""
    return (
        f"Rows belong to {n} groups{by}. Group means were removed, so arrows describe changes within groups. Rows "
        f"of a group are independent of each other apart from that, and {selection}"
    )
