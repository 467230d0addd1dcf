"""What to ask somebody who knows the field, where the data do not tell the direction of an edge."""

import shlex
from collections.abc import Sequence

from drbo.claims.directions import EdgeDirection

#: Questions that are put at once.
SHOWN_QUESTIONS = 3
#: What carries an answer about whole groups of columns.
TIERS = "If some columns are fixed before others, --tiers 'earlier,columns;later,columns' says so for all of them."


def questions(directions: Sequence[EdgeDirection]) -> tuple[str, ...]:
    """Return questions about edges whose direction is assumed or open, and the options that would carry the answers.

    Arrows that the noise check contradicts come first, then other assumed ones, then open ones; at most three are
    asked about.

    Examples
    --------
    >>> edge = EdgeDirection("rain", "wet", "assumed", "", False, "The score prefers this direction.", None, None)
    >>> print(questions([edge])[0][:55])
    Which of 'rain' and 'wet' can be a cause of the other?
    """
    unknown = [one for one in directions if one.direction != "supported"]
    unknown.sort(key=lambda one: (not one.contradicted, one.direction == "open"))
    words = [_question(one.cause, one.effect) for one in unknown[:SHOWN_QUESTIONS]]
    return (*words, *([TIERS] if len(unknown) > 1 else []))


def _question(cause: str, effect: str) -> str:
    forward, backward = (shlex.quote(f"{a}->{b}") for a, b in ((cause, effect), (effect, cause)))
    return (
        f"Which of '{cause}' and '{effect}' can be a cause of the other? If only '{cause}' can, add --forbid "
        f"{backward}; if only '{effect}' can, add --forbid {forward}."
    )
