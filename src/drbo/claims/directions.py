"""Which arrows do the data earn? Every edge of a graph is supported, assumed or open, and says on which ground.

A score prefers one direction of every edge. Whether the data tell that direction from its reverse is another question,
answered here from the equivalence class, the noise check, experiments and what the user stated.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools
from drbo.claims.denial import ClaimRecord, Denial, Ground, by_edge
from drbo.claims.mechanisms import one_verdict_each
from drbo.claims.record import CheckedEdge, CheckedNoise, Margins, NoiseCheck
from drbo.claims.refits.confidence import Confidence
from drbo.claims.refits.resampling import KINDS
from drbo.claims.why import mpdag
from drbo.constraints import Constraints
from drbo.graph.dag import check_dag

Direction = Literal["supported", "assumed", "open"]

#: The claims that a bootstrap replaces.
RESAMPLED = ("margin", "stability")
#: Share of the resamples that must have the arrow, where there are resamples.
RESAMPLED_SHARE = 0.8

#: What noise checks allow for, in words that follow a statement.
BUT: dict[CheckedNoise, str] = {
    "additive": "",
    "location-scale": " once their spread may change with the causes",
    "ranks": " once columns are replaced by normal scores of their ranks and their spread may change with the causes",
}
NEITHER_FITS = "Neither direction fits additive noise: a hidden cause or another kind of noise is likely."


@dataclass(frozen=True)
class EdgeDirection:
    """What may be said about the direction of one edge, if no cause is hidden.

    Attributes
    ----------
    cause, effect : the names of both ends, as the edge is drawn.
    direction : ``supported``: the data or the user tell this direction. ``assumed``: the score prefers it, but nothing
        that can be checked confirms it. ``open``: the score does not tell the direction.
    ground : of a supported direction: ``given`` by the user, ``randomised`` if its cause was, ``experiment``,
        ``noise-check``, ``class``: all graphs of the equivalence class agree on it, or ``time``: an arrow from the past
        with no sign of a hidden cause. Empty otherwise.
    contradicted : the noise check prefers the reverse.
    sentence : the reason in words.
    p_forward : probability of the drawn direction, given the edge, from the noise check; None where it does not tell,
        and for open edges.
    check : the noise check with its p-values; None where it does not apply.
    """

    cause: str
    effect: str
    direction: Direction
    ground: Ground
    contradicted: bool
    sentence: str
    p_forward: float | None
    check: NoiseCheck | None


def edge_directions(
    dag: npt.ArrayLike,  # (d, d) bool
    constraints: Constraints,
    *,
    score_equivalent: bool,
    checks: Iterable[CheckedEdge] = (),
    denials: Iterable[Denial] = (),
    made: Iterable[ClaimRecord] = (),
    margins: Margins | None = None,
    confidence: Confidence | None = None,
    experiments: Mapping[tuple[str, str], str] | None = None,
    randomised: Collection[str] = (),
    known_class: Bools | None = None,  # (d, d) the MPDAG, where it is known already
) -> tuple[EdgeDirection, ...]:
    """Return what may be said about the direction of every edge of a graph.

    A direction is supported if, in this order, the user stated it, an experiment shows it, the noise check prefers it
    (:class:`~drbo.claims.checks.noise_check.NoiseChecks`), or the class compels it; and if no claim denies that ground,
    and no claim that could deny it was skipped. Where there are resamples, at least 80% of them must have the arrow
    that an experiment or the class tells; they replace the margin of the score and the fits of halves of the rows.

    Parameters
    ----------
    constraints : the knowledge that the graph obeys, with the names of its columns.
    score_equivalent : the score ties all graphs of a Markov equivalence class.
    checks : the noise checks of the edges, see :func:`drbo.claims.checks.noise_check.noise_checks`.
    denials : what claims say against directions; the first one of an edge is the reason that is given.
    made : which claims were made, and which were skipped.
    margins : of the score; a margin of 0 is a tie.
    confidence : shares of resamples of the rows.
    experiments : arrows (cause, effect) that hold in the class of the graph with its experiments, and why, in words.
    randomised : columns that chance alone decided; the knowledge says that they are roots.

    Examples
    --------
    >>> from drbo.knowledge import Knowledge
    >>> stated = Constraints.of(Knowledge(required=["dose -> response"]), ["dose", "response"])
    >>> found = edge_directions([[0, 1], [0, 0]], stated, score_equivalent=True)[0]
    >>> found.direction, found.ground
    ('supported', 'given')
    """
    names = constraints.names
    edges = check_dag(dag, names)
    shown = experiments or {}
    if confidence is not None and confidence.kind not in KINDS:  # other seeds or imputations are no new rows
        confidence = None
    markov_class = mpdag(edges, constraints) if known_class is None else known_class
    made, replaced = tuple(made), () if confidence is None else RESAMPLED
    grounds = _Grounds(markov_class, constraints, score_equivalent, margins, confidence, bool(made), set(randomised))
    checked = {(one.cause, one.effect): one for one in checks}
    denied = by_edge(one for one in denials if one.claim not in replaced)
    skipped = [one for one in made if one.status == "skipped" and one.name not in replaced]
    found = []
    for i, j in np.argwhere(edges).tolist():
        edge = names[i], names[j]
        one = checked.get(edge, CheckedEdge(cause=edge[0], effect=edge[1]))
        against = _Against([*denied.get(edge, ()), *map(_left_out(edge), skipped)])
        found.append(_direction(one, grounds.claim(i, j, one.check, against, shown.get(edge, ""))))
    return one_verdict_each(found, names, constraints.lags)


def _left_out(edge: tuple[str, str]) -> Callable[[ClaimRecord], Denial]:
    """Return what denies an arrow where a claim was skipped."""

    def denial(claim: ClaimRecord) -> Denial:
        words = f"This direction is not confirmed, because a check was left out ({claim.name}: {claim.why})."
        return Denial(cause=edge[0], effect=edge[1], claim=claim.name, grounds=claim.grounds, sentence=words)

    return denial


class _Against:
    """What speaks against the direction of one edge."""

    def __init__(self, denials: list[Denial]) -> None:
        self._denials = denials

    def denies(self, ground: Ground) -> bool:
        return any(ground in one.grounds for one in self._denials)

    def first(self, *grounds: Ground) -> Denial | None:
        """Return the first denial of any of these grounds."""
        return next((one for one in self._denials if set(grounds) & set(one.grounds)), None)


class _Claimed(NamedTuple):
    """Direction and ground of an edge, and the reason: a word that :func:`_sentence` explains, or a sentence."""

    direction: Direction
    ground: Ground
    reason: str
    sentence: str = ""


def _direction(one: CheckedEdge, claimed: _Claimed) -> EdgeDirection:
    check, direction = one.check, claimed.direction
    return EdgeDirection(
        one.cause,
        one.effect,
        direction,
        claimed.ground,
        check is not None and check.verdict == "reverse",
        _sentence(claimed, one),
        None if check is None or direction == "open" else check.probability,
        check,
    )


class _Grounds:
    """What the class, the score and the knowledge say about the edges of a graph."""

    def __init__(
        self,
        markov_class: Bools,
        constraints: Constraints,
        score_equivalent: bool,
        margins: Margins | None,
        confidence: Confidence | None,
        checked: bool,  # False: no claim was made
        randomised: set[str],
    ) -> None:
        self._randomised = randomised
        self._constraints = constraints
        self._class = markov_class
        self._score_equivalent = score_equivalent
        self._margins = margins
        self._confidence = confidence
        self._checked = checked

    def claim(self, i: int, j: int, check: NoiseCheck | None, against: _Against, shown: str) -> _Claimed:
        """Return direction and ground of an edge, and the reason."""
        verdict = None if check is None else check.verdict
        if self._constraints.past[i] and not self._constraints.required[i, j]:
            return self._by_time(i, j, against)
        if self._constraints.required[i, j] or not self._constraints.allowed[j, i]:
            ground: Ground = "randomised" if self._constraints.names[i] in self._randomised else "given"
            return _Claimed("supported", ground, ground)
        if shown and self._is_confirmed(i, j) and not against.denies("experiment"):
            return _Claimed("supported", "experiment", "experiment", shown)
        if verdict == "forward" and not against.denies("noise-check"):
            return _Claimed("supported", "noise-check", "noise-check")
        compelled = not self._class[j, i]
        if compelled and not against.denies("class") and self._is_confirmed(i, j):
            return _Claimed("supported", "class", "class")
        denial = against.first("class") if compelled else None
        if verdict == "forward":
            denial = against.first("noise-check") or denial
        if denial is not None and "noise-check" in denial.grounds:  # the noise check does not count either
            return _Claimed("assumed", "", "denied", denial.sentence)
        if not compelled and (self._score_equivalent or self._is_tied(i, j)):
            return _Claimed("open", "", "open")
        if denial is not None:
            return _Claimed("assumed", "", "doubt", denial.sentence)
        if verdict in ("reverse", "neither"):
            return _Claimed("assumed", "", "score")
        return _Claimed("assumed", "", "weak class" if compelled else "score")

    def _by_time(self, i: int, j: int, against: _Against) -> _Claimed:
        """Return what is said of an arrow from the past: its direction is certain, that it is a cause is not."""
        if (denial := against.first("time")) is not None:
            return _Claimed("assumed", "", "denied", denial.sentence)
        if not self._is_confirmed(i, j):
            return _Claimed("assumed", "", "earlier")
        return _Claimed("supported", "time", "time")

    def _is_tied(self, i: int, j: int) -> bool:
        return self._margins is not None and bool(self._margins.reversed[i, j] == 0)

    def _is_confirmed(self, i: int, j: int) -> bool:
        """Tell whether resamples, or else the claims, confirm what experiments or the class say."""
        if self._confidence is not None:
            return bool(self._confidence.directed[i, j] >= RESAMPLED_SHARE)
        return self._checked


def _sentence(claimed: _Claimed, one: CheckedEdge) -> str:
    """Return the reason of a claim in words, and what the noise check adds to it."""
    cause, effect, check, reason = one.cause, one.effect, one.check, claimed.reason
    verdict = None if check is None else check.verdict
    but = "" if check is None else BUT[check.noise]
    reverse = f"The noise check contradicts this arrow: {effect} -> {cause} fits, and {cause} -> {effect} does not."
    if reason == "open":
        reverse = f"The noise check prefers {effect} -> {cause}."
    noise = {
        "reverse": reverse,
        "neither": NEITHER_FITS,
        "undecided": "The residuals do not tell the two directions apart.",
        None: one.untested,
    }
    words = (
        claimed.sentence
        or {
            "given": "This direction follows from what was stated.",
            "randomised": f"Chance alone decided '{cause}', so nothing else in the table causes it.",
            "noise-check": f"The residuals of '{effect}' are independent of '{cause}'{but}; in reverse they are not.",
            "class": "Every graph of the equivalence class has this direction, and no check denies it.",
            "time": "The cause is earlier, and no check finds a hidden cause of both.",
            "earlier": "The cause is earlier; whether something hidden causes both was not checked.",
            "open": "Both directions score the same.",
            "weak class": "The class has this direction, but too few resamples confirm it.",
            "score": "The score prefers this direction.",
        }[reason]
    )
    if reason in ("experiment", "noise-check", "class", "time", "earlier", "denied") or (
        reason in ("given", "randomised") and verdict != "reverse"
    ):
        return words
    return f"{words} {noise.get(verdict, '')}".strip()
