"""Words for the marks of a PAG: what an edge says, the sign between two names, and the legend of a picture."""

from collections.abc import Mapping

from drbo.graph.marks import ARROW, CIRCLE, TAIL
from drbo.result.words.reading import EndLook

#: The signs of edges, and what each says.
SIGNS = (
    ("-->", "the left column is a cause of the right one; (visible): nothing hidden causes both"),
    ("<->", "neither causes the other; something not in the table is involved"),
    ("o->", "the right column is not a cause of the left one; the left one, or something hidden, causes the right one"),
    ("o-o", "the data do not tell"),
)
#: What the answer rests on.
ASSUMED = "linear relations and Gaussian noise; no selection bias; faithfulness"
KNOWLEDGE = (
    "with knowledge, the marks shown are sound; implied marks may be missing, because the orientation rules are not "
    "complete"
)


def sign_of(source: int, target: int) -> str:
    """Return the sign between two names for the marks at both ends."""
    left, right = {CIRCLE: "o", ARROW: "<", TAIL: "-"}, {CIRCLE: "o", ARROW: ">", TAIL: "-"}
    return f"{left[source]}-{right[target]}"


def meaning(marks: tuple[int, int], source: str, target: str, *, visible: bool) -> str:
    """Return what an edge with these marks, at its source and at its target, says."""
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


def mark_notes(drawn: Mapping[tuple[int, int], tuple[EndLook, EndLook]]) -> list[str]:
    """Return the legend of a picture: what the marks in it mean."""
    ends = [frozenset(pair) for pair in drawn.values()]
    looks = frozenset().union(*ends)
    both = any("none" not in pair and "circle" not in pair for pair in ends)
    notes = ["bidirected edge: neither causes the other; something not in the table is involved"] if both else []
    notes += ["circle: the data do not tell whether this end is an arrow"] if "circle" in looks else []
    return notes + (["hollow arrowhead: tests do not confirm it"] if "hollow" in looks else [])
