"""The first page of a report that was told which column matters: its likely causes, and what cannot be said."""

from typing import NamedTuple

from drbo.result.files.export import printable
from drbo.result.result import Result
from drbo.result.words.outcome_words import READ, Cause, OutcomeAnswer, answer_about, named, possible, size_words

#: With more edges than this the graph opens around the outcome.
MOST_EDGES = 30


class CauseRow(NamedTuple):
    """A column in the table of causes."""

    name: str
    through: str  # the columns between it and the outcome
    sizes: list[str]
    ground: str
    to_be_sure: str


class OutcomePage(NamedTuple):
    """What a report opens with."""

    title: str  # the outcome
    causes: list[CauseRow]
    unclear: list[CauseRow]
    rest: list[str]  # sentences about all other columns
    notes: list[str]  # how to read it


def outcome_page(result: Result) -> OutcomePage | None:
    """Return what a result says of its outcome; None: no column matters more than others."""
    if result.outcome is None:
        return None
    answer = answer_about(result, result.outcome)
    rest = [f"Follow from {answer.title}: {named(answer.effects)}."] if answer.effects else []
    rest += [f"No sign of an effect on {answer.title}: {possible(answer)}."] if answer.unlinked else []
    rest += [f"Note: {printable(answer.left_out)}."] if answer.left_out else []
    causes, unclear = ([_row(one, answer) for one in part] for part in (answer.causes, answer.unclear))
    return OutcomePage(answer.title, causes, unclear, rest, [READ])


def focus_of(result: Result, names: tuple[str, ...]) -> int | None:
    """Return the place of the variable that a large graph opens around; None: it opens whole."""
    if result.outcome is None or result.dag.sum() <= MOST_EDGES or result.outcome.column not in names:
        return None
    return names.index(result.outcome.column)


def _row(one: Cause, answer: OutcomeAnswer) -> CauseRow:
    by = ", ".join(map(printable, one.through))
    return CauseRow(printable(one.name), by, size_words(one, answer), one.grounds, one.to_be_sure)
