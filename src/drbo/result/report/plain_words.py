"""The result in plain words: what it says, what to doubt, and what to do next, for readers without statistics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from drbo.claims.directions import EdgeDirection
from drbo.result.files.export import printable
from drbo.result.result import Result
from drbo.result.words.summary import CUT_SHORT

if TYPE_CHECKING:
    from drbo.result.words.series_reading import SeriesReading

#: Links, arrows or variables that one sentence names.
NAMED = 3
#: With fewer rows than this many times the columns, chance links are likely.
ROWS_PER_COLUMN = 5
#: What to do where no rows were drawn again.
BOOTSTRAP = "Fit again with --bootstrap 100 to see which links return in resamples of the rows."


@dataclass(frozen=True)
class PlainWords:
    """Three short paragraphs, each a list of sentences."""

    says: tuple[str, ...]
    doubt: tuple[str, ...]
    next: tuple[str, ...]


def plain_words(result: Result) -> PlainWords:
    """Return what a result says, what to doubt about it, and what to do next.

    Examples
    --------
    >>> from drbo.result.records import Scoring, SearchRecord
    >>> dag = [[0, 1], [0, 0]]
    >>> result = Result(names=("weight", "pressure"), dag=dag, pruned_score=0.0,
    ...     search=SearchRecord(dag=dag, score=0.0), scoring=Scoring(name="bic-nv", equivalent=True))
    >>> print(*plain_words(result).says)
    weight and pressure are linked. The data cannot tell which causes which.
    """
    strongest = _strongest(result)
    return PlainWords(_says(result, strongest), _doubt(result), _next(result, strongest))


def words_of_series(result: Result, reading: "SeriesReading") -> PlainWords:
    """Return the same for rows that have a past, by what acts on what."""
    found = reading.mechanisms()
    words = [f"Of {reading.variables}, none acts on another."] if not found else []
    for verdict, says in (("supported", "The data support that"), ("assumed", "It is a guess that"), ("open", "")):
        parts = [_mechanism(cause, effect, lags) for (cause, effect), (lags, said) in found.items() if said == verdict]
        if parts and says:
            words.append(f"{says} {listed(parts)}.")
    if lines := [f"{printable(a)}–{printable(b)}" for (a, b), (_, said) in found.items() if said == "open"]:
        words.append(f"{listed(lines)} {'are' if len(lines) > 1 else 'is'} linked, and which causes which is open.")
    steps = [] if result.confidence is not None or not found else [BOOTSTRAP]
    if any(said == "assumed" and max(lags) for lags, said in found.values()):
        steps.append("Fit again with a larger --max-lag: older rows test for hidden causes.")
    return PlainWords(tuple(words), _doubt(result), tuple(steps))


def _mechanism(cause: str, effect: str, lags: Sequence[int]) -> str:
    """Return who acts on whom, and when."""
    whom = "itself" if cause == effect else printable(effect)
    when = [f"{lag} step{'s' * (lag != 1)} later" if lag else "at once" for lag in lags]
    return f"{printable(cause)} acts on {whom} {listed(when)}"


def words_of_marks(result: Result) -> PlainWords:
    """Return the same for a graph with hidden causes."""
    told = sorted(result.directions, key=lambda one: ("supported", "assumed", "open").index(one.direction))
    says = [printable(one.sentence) for one in told[: 2 * NAMED]]
    more = len(told) - len(says)
    says += [f"The table below explains {more} more links."] if more > 0 else []
    doubt = ["The marks assume linear relations with Gaussian noise, and relations may be nonlinear."]
    if assumed := sum(one.direction == "assumed" for one in told):
        doubt.append(f"{assumed} of {len(told)} links have marks that tests do not confirm: hollow arrowheads.")
    step = "Measure what may be hidden, or state what cannot cause what (--tiers, --forbid), and fit again."
    return PlainWords(tuple(says) or ("No variable is linked to another.",), tuple(doubt), (step,))


def _strongest(result: Result) -> list[EdgeDirection]:
    """Return the edges, the strongest first: by standardised weight or by what the score loses without them."""
    size = result.standardised_weights
    if size is None and result.margins is not None:
        size = result.margins.removed
    if size is None:
        return list(result.directions)
    order = np.argsort(-np.nan_to_num(np.abs(size[result.dag])), kind="stable")
    return [result.directions[k] for k in order]


def _says(result: Result, edges: list[EdgeDirection]) -> tuple[str, ...]:
    d, arms = len(result.names), result.table.randomised
    if not edges:
        return (f"In {result.table.n_rows:,} rows, none of the {d} variables is linked to another.",)
    links = [f"{printable(one.cause)}–{printable(one.effect)}" for one in edges]
    if len(links) == 1:
        words = [f"{printable(edges[0].cause)} and {printable(edges[0].effect)} are linked."]
    else:
        which = ":" if len(links) <= NAMED else "; the strongest links are"
        pairs = d * (d - 1) // 2
        words = [
            f"{len(links):,} of the {pairs:,} pairs of variables are directly linked{which} {listed(links[:NAMED])}."
        ]
    words += _arrows(result, edges)
    linked = np.flatnonzero((result.dag | result.dag.T).any(axis=0))
    alone = [printable(name) for k, name in enumerate(result.names) if k not in linked and name not in arms]
    if alone:
        words.append(f"Nothing in the table is directly linked to {listed(alone)}.")
    return tuple(words)


def _arrows(result: Result, edges: list[EdgeDirection]) -> list[str]:
    """Return what is known about directions."""
    words = []
    required = {(a, b) for a, b in result.knowledge.required}
    supported = [one for one in edges if one.direction == "supported"]
    given = [one for one in supported if one.ground == "given"]
    for who, part in (
        ("The data support that", [one for one in supported if one.ground != "given"]),
        ("As you stated,", [one for one in given if (one.cause, one.effect) in required]),
        (
            "Linked, and by what you stated only this way round:",
            [one for one in given if (one.cause, one.effect) not in required],
        ),
    ):
        found = [f"{printable(one.cause)} causes {printable(one.effect)}" for one in part]
        if found:
            words.append(f"{who} {listed(found)}.")
    unknown = [one for one in edges if one.direction != "supported"]
    if not unknown:
        return words
    if len(unknown) == len(edges):
        which = "The data cannot tell which causes which" + (", for any of these links." if len(edges) > 1 else ".")
    elif len(unknown) == 1:
        pair = f"{printable(unknown[0].cause)} and {printable(unknown[0].effect)}"
        which = f"For {pair} the data cannot tell which causes which."
    else:
        which = f"For the other {len(unknown)} links the data cannot tell which causes which."
    guessed = sum(one.direction == "assumed" for one in unknown)
    guess = " Hollow arrows are guesses." if guessed else ""
    return [*words, which + guess]


def _doubt(result: Result) -> tuple[str, ...]:
    if not result.dag.any():
        return ("A link that is weak, or that only shows for some values, can be missed.",)
    words = []
    if result.cut_short:
        words.append(CUT_SHORT)
    if 0 < result.table.n_rows < ROWS_PER_COLUMN * len(result.names):
        words.append(f"With {result.table.n_rows:,} rows for {result.reading.variables}, some links may be chance.")
    if weak := int(result.weak.sum()):
        words.append(f"{weak} of the links {'is' if weak == 1 else 'are'} weak (dashed) and may not be there.")
    serious = [finding.text for finding in result.table.audit.findings if finding.serious]
    if serious:
        words.append(f"About the data: {printable(serious[0])}.")
    words.append(
        "If something that is not in the table drives two of its variables, they look linked although neither causes "
        "the other."
    )
    return tuple(words)


def _next(result: Result, edges: list[EdgeDirection]) -> tuple[str, ...]:
    unknown = [one for one in edges if one.direction != "supported"]
    words = []
    if unknown:
        pair = f"{printable(unknown[0].cause)} or {printable(unknown[0].effect)}"
        words.append(
            f"Ask somebody who knows the field whether {pair} comes first, and fit again with the answer; or change "
            "one of the two in an experiment."
        )
    if edges and result.confidence is None:
        words.append(BOOTSTRAP)
    if not edges:
        words.append("Collect more rows, or add the variables that are thought to be causes.")
    return tuple(words)


def listed(parts: list[str]) -> str:
    """Return parts as one phrase, the later ones only counted."""
    shown, more = parts[:NAMED], len(parts) - NAMED
    ends = [*shown, f"{more} more"] if more > 0 else shown
    return " and ".join([", ".join(ends[:-1]), ends[-1]]) if len(ends) > 1 else ends[0]
