"""Which arrows do the data earn? Every edge of a graph is supported, assumed or open, and says on which ground.

A score prefers one direction of every edge. Whether the data tell that direction from its reverse is another question,
answered here from the equivalence class, the noise check, experiments and what the user stated.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools
from drbo.claims.record import CheckedEdge, Margins, NoiseCheck
from drbo.claims.refits.confidence import Confidence
from drbo.claims.refits.resampling import KINDS
from drbo.claims.why import mpdag
from drbo.constraints import Constraints
from drbo.graph.dag import check_dag

Direction = Literal["supported", "assumed", "open"]
Ground = Literal["class", "noise-check", "experiment", "given", "tests", ""]

#: A margin is decisive if the evidence for a direction is at least this many times that for the reverse (Jeffreys).
DECISIVE_ODDS = 100.0
#: Share of the resamples that must have the arrow, where there are resamples.
RESAMPLED_SHARE = 0.8
#: A family of a nonlinear score passes its residual check above this p-value.
FAMILY_LEVEL = 0.05

NEITHER_FITS = "Neither direction fits additive noise: a hidden cause or another kind of noise is likely."


@dataclass(frozen=True)
class EdgeDirection:
    """What may be said about the direction of one edge, if no cause is hidden.

    Attributes
    ----------
    cause, effect : the names of both ends, as the edge is drawn.
    direction : ``supported``: the data or the user tell this direction. ``assumed``: the score prefers it, but nothing
        that can be checked confirms it. ``open``: the score does not tell the direction.
    ground : of a supported direction: ``given`` by the user, ``experiment``, ``noise-check``, or ``class``: all graphs
        of the equivalence class agree on it. Empty otherwise.
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
    check_families: bool,
    checks: Iterable[CheckedEdge] = (),
    margins: Margins | None = None,
    evidence_scale: float | None = None,
    confidence: Confidence | None = None,
    experiments: Mapping[tuple[str, str], str] | None = None,
    known_class: Bools | None = None,  # (d, d) the MPDAG, where it is known already
    serial: bool = False,
) -> tuple[EdgeDirection, ...]:
    """Return what may be said about the direction of every edge of a graph.

    A direction is supported if, in this order, the user stated it, an experiment shows it, the noise check prefers it
    (:class:`~drbo.claims.noise_check.NoiseChecks`), or the class compels it. Experiments and class count only if at
    least 80% of the resamples have the arrow or, without resamples, the margin of the score over the best graph with
    the reversed arrow is decisive (odds of 100). The class supports no arrow that the noise check contradicts, and no
    arrow is supported if an experiment changes its cause and the effect does not follow.

    Parameters
    ----------
    constraints : the knowledge that the graph obeys, with the names of its columns.
    score_equivalent : the score ties all graphs of a Markov equivalence class.
    check_families : a class arrow also needs a family that passes its residual check (p > 0.05). Set it for nonlinear
        scores: their class arrows are often artefacts of a noise model that does not fit.
    checks : the noise checks of the edges, see :func:`drbo.claims.noise_check.noise_checks`.
    margins, evidence_scale : of the score. Without them a margin is never decisive.
    confidence : shares of resamples of the rows, which then replace the margins.
    experiments : arrows (cause, effect) that hold in the class of the graph with its experiments, and why, in words.
    serial : neighbouring rows depend on each other. What they share may be a hidden cause, so that neither the class
        nor the noise check supports an arrow.

    Examples
    --------
    >>> from drbo.knowledge import Knowledge
    >>> stated = Constraints.of(Knowledge(required=["dose -> response"]), ["dose", "response"])
    >>> found = edge_directions([[0, 1], [0, 0]], stated, score_equivalent=True, check_families=False)[0]
    >>> found.direction, found.ground
    ('supported', 'given')
    """
    names = constraints.names
    edges = check_dag(dag, names)
    shown = experiments or {}
    if confidence is not None and confidence.kind not in KINDS:  # other seeds or imputations are no new rows
        confidence = None
    markov_class = mpdag(edges, constraints) if known_class is None else known_class
    claims = _Claims(markov_class, constraints, score_equivalent, margins, evidence_scale, confidence, serial)
    checked = {(one.cause, one.effect): one for one in checks}
    found = []
    for i, j in np.argwhere(edges).tolist():
        one = checked.get((names[i], names[j]), CheckedEdge(cause=names[i], effect=names[j]))
        passes = not check_families or (one.check is not None and one.check.p_value_family > FAMILY_LEVEL)
        passes = passes and not one.doubt
        why = "" if one.unfollowed else shown.get((names[i], names[j]), "")
        check = None if one.unfollowed else one.check
        found.append(_direction(one, *claims.claim(i, j, check, passes=passes, shown=bool(why)), why))
    return tuple(found)


def _direction(one: CheckedEdge, direction: Direction, ground: Ground, reason: str, shown: str) -> EdgeDirection:
    check = one.check
    return EdgeDirection(
        one.cause,
        one.effect,
        direction,
        ground,
        check is not None and check.verdict == "reverse",
        shown if reason == "experiment" else _sentence(reason, one),
        None if check is None or direction == "open" else check.probability,
        check,
    )


class _Claims:
    """What the class, the score and the knowledge say about the edges of a graph."""

    def __init__(
        self,
        markov_class: Bools,
        constraints: Constraints,
        score_equivalent: bool,
        margins: Margins | None,
        evidence_scale: float | None,
        confidence: Confidence | None,
        serial: bool,
    ) -> None:
        self._constraints = constraints
        self._class = markov_class
        self._score_equivalent = score_equivalent
        self._margins = margins
        self._least = None if evidence_scale is None else log(DECISIVE_ODDS) * evidence_scale
        self._confidence = confidence
        self._serial = serial

    def claim(
        self, i: int, j: int, check: NoiseCheck | None, *, passes: bool, shown: bool
    ) -> tuple[Direction, Ground, str]:
        """Return direction and ground of an edge, and the reason in a word that :func:`_sentence` explains."""
        verdict = None if check is None else check.verdict
        if self._constraints.required[i, j] or not self._constraints.allowed[j, i]:
            return "supported", "given", "given"
        if shown and self._is_decisive(i, j):
            return "supported", "experiment", "experiment"
        compelled = not self._class[j, i]
        if self._serial and (compelled or verdict == "forward"):
            return "assumed", "", "serial"
        if verdict == "forward":
            return "supported", "noise-check", "noise-check"
        if compelled and passes and verdict != "reverse" and self._is_decisive(i, j):
            return "supported", "class", "class"
        if not compelled and (self._score_equivalent or self._is_tied(i, j)):
            return "open", "", "open"
        if verdict in ("reverse", "neither"):
            return "assumed", "", "noise"
        if compelled:
            return "assumed", "", "weak class" if passes else "family"
        return "assumed", "", "score"

    def _is_tied(self, i: int, j: int) -> bool:
        return self._margins is not None and bool(self._margins.reversed[i, j] == 0)

    def _is_decisive(self, i: int, j: int) -> bool:
        """Tell whether the data tell an arrow of the class from its reverse."""
        if self._confidence is not None:
            return bool(self._confidence.directed[i, j] >= RESAMPLED_SHARE)
        if self._margins is None or self._least is None:
            return False
        margin = self._margins.reversed[i, j]
        if np.isnan(margin):  # no graph at hand has the reverse
            return self._margins.exact
        return bool(margin >= self._least)


def _sentence(reason: str, one: CheckedEdge) -> str:
    """Return the reason of a claim in words, and what the noise check adds to it."""
    cause, effect, check = one.cause, one.effect, one.check
    verdict = None if check is None else check.verdict
    scaled = check is not None and check.noise == "location-scale"
    but = " once their spread may change with the causes" if scaled else ""
    reverse = f"The noise check contradicts this arrow: {effect} -> {cause} fits, and {cause} -> {effect} does not."
    if reason == "open":
        reverse = f"The noise check prefers {effect} -> {cause}."
    noise = {
        "reverse": reverse,
        "neither": NEITHER_FITS,
        "undecided": "The residuals do not tell the two directions apart.",
        None: one.untested,
    }
    words = {
        "given": "This direction follows from what was stated.",
        "noise-check": f"The residuals of '{effect}' are independent of '{cause}'{but}; in reverse they are not.",
        "class": "Every graph of the equivalence class has this direction, and the data are decisive about it.",
        "open": "Both directions score the same.",
        "noise": one.doubt or "The score prefers this direction.",
        "weak class": "The class has this direction, but neither a margin nor resamples confirm it.",
        "family": one.doubt or f"The class has this direction, but '{effect}' did not pass its residual check.",
        "score": "The score prefers this direction.",
        "serial": "The score prefers this direction, but neighbouring rows depend on each other, and what they share "
        "may be a hidden cause.",
    }[reason]
    if reason in ("noise-check", "class", "serial") or (reason == "given" and verdict != "reverse"):
        return words
    return f"{words} {noise.get(verdict, '')}".strip()
