"""What to ask somebody who knows the field, where the data do not tell the direction of an edge."""

import shlex
from collections.abc import Callable, Sequence

from drbo.claims.directions import EdgeDirection

#: Questions that are put at once.
SHOWN_QUESTIONS = 3
#: What carries an answer about whole groups of columns, on the command line and in Python.
TIERS = "If some columns are fixed before others, --tiers 'earlier,columns;later,columns' says so for all of them."
TIERS_IN_PYTHON = (
    "If some columns are fixed before others, knowledge={'tiers': [['earlier', 'columns'], ['later', 'columns']]} "
    "says so for all of them."
)


def questions(directions: Sequence[EdgeDirection], *, in_python: bool = False) -> tuple[str, ...]:
    """Return questions about edges whose direction is assumed or open, and what would carry the answers.

    These are options of the command line, or parameters where the fit was a call of Python.

    Arrows that the noise check contradicts come first, then other assumed ones, then open ones; at most three are
    asked about.
    """
    unknown = [one for one in directions if one.direction != "supported"]
    unknown.sort(key=lambda one: (not one.contradicted, one.direction == "open"))
    said = _forbidden_in_python if in_python else _forbidden
    words = [_question(one.cause, one.effect, said) for one in unknown[:SHOWN_QUESTIONS]]
    return (*words, *([TIERS_IN_PYTHON if in_python else TIERS] if len(unknown) > 1 else []))


def _question(cause: str, effect: str, forbidden: Callable[[str, str], str]) -> str:
    return (
        f"Which of '{cause}' and '{effect}' can be a cause of the other? If only '{cause}' can, add "
        f"{forbidden(effect, cause)}; if only '{effect}' can, add {forbidden(cause, effect)}."
    )


def _forbidden(cause: str, effect: str) -> str:
    return f"--forbid {shlex.quote(f'{cause}->{effect}')}"


def _forbidden_in_python(cause: str, effect: str) -> str:
    return f"knowledge={{'forbidden': [({cause!r}, {effect!r})]}}"
