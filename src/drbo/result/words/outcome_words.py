"""What is said about the outcome: its likely causes with sizes and grounds, what cannot be told, and the rest."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import floor, log10
from typing import TYPE_CHECKING, Literal

from drbo.claims.denial import Ground
from drbo.result.files.export import printable
from drbo.result.records import OutcomeRecord, Size
from drbo.result.words.arm_words import adjusted_words, amounts, difference_words

if TYPE_CHECKING:
    from drbo.claims.arm_effects import ArmEffect
    from drbo.result.result import Result

#: How sure it is that a column is a cause.
Standing = Literal["randomised", "supported", "assumed", "reverse", "open", "unlinked", "effect"]
#: Causes that a summary lists.
SHOWN_CAUSES = 12
#: How sizes are to be read.
READ = (
    "Brackets hold 95% intervals, which count that arrows may be wrong or missing. Assumed: nothing hidden causes two "
    "of the columns, and relations are straight lines."
)
#: Contrasts of one cause that are listed.
SHOWN_SIZES = 3
GROUNDS: dict[Ground, str] = {
    "given": "by what you stated",
    "randomised": "randomised",
    "experiment": "supported by an experiment",
    "noise-check": "supported by the shape of the noise",
    "class": "supported by which columns are independent",
    "time": "supported by the order of time",
    "tests": "supported by tests that allow hidden causes",
}


@dataclass(frozen=True, kw_only=True)
class Cause:
    """A column and what is said of it as a cause of the outcome."""

    name: str
    standing: Standing
    ground: Ground = ""
    through: tuple[str, ...] = ()  # the columns between it and the outcome; empty: it is linked to it
    weakest: tuple[str, str] | None = None  # the least sure arrow on the way
    sizes: tuple[Size, ...] = ()
    arms: tuple["ArmEffect", ...] = ()

    @property
    def grounds(self) -> str:
        """What the arrows on the way rest on, in words."""
        if self.standing in ("supported", "randomised"):
            return GROUNDS.get(self.ground, "supported")
        return {
            "assumed": "assumed: the best guess", "reverse": "the best guess is the reverse", "open": "open",
            "effect": "follows from it",
        }.get(self.standing, "not linked")  # fmt: skip

    @property
    def to_be_sure(self) -> str:
        """What would settle it, in words."""
        if self.standing == "randomised":
            return "nothing: chance decided it"
        if self.standing == "supported":
            return "rule out a hidden common cause, best by changing it in an experiment"
        a, b = map(printable, self.weakest or (self.name, ""))
        return f"tell which of {a} and {b} comes first, or change one of them in an experiment"


@dataclass(frozen=True, kw_only=True)
class OutcomeAnswer:
    """All columns, by what they are to the outcome; those that are linked to it come first, by the size of effects."""

    column: str
    causes: tuple[Cause, ...]
    unclear: tuple[Cause, ...]
    effects: tuple[Cause, ...]
    unlinked: tuple[Cause, ...]
    steps: dict[str, float]  # by how much each column is changed: about one standard deviation
    level: str = ""  # of the outcome whose share is the size; empty: it has several, or is a number
    left_out: str = ""

    @property
    def title(self) -> str:
        """The outcome, with the level whose share is meant."""
        return f"{printable(self.column)} = {printable(self.level)}" if self.level else printable(self.column)

    def level_words(self, level: str) -> str:
        """Return which level a size is about, where the title does not say it."""
        return f" of {printable(level)}" if level and level != self.level else ""


def answer_about(result: "Result", record: OutcomeRecord) -> OutcomeAnswer:
    """Return what a result says of a column and its likely causes."""
    steps = {one.name: _round_step(one.sd) for one in result.table.audit.columns if one.is_numeric and one.sd}
    levels = {one.level for one in record.sizes}
    found = [_with_sizes(result, one, record) for one in _standings(result, record.column)]
    found.sort(key=lambda one: (bool(one.through), -_largest(one, steps)))

    def of(*kinds: Standing) -> tuple[Cause, ...]:
        return tuple(one for one in found if one.standing in kinds)

    return OutcomeAnswer(
        column=record.column, causes=of("randomised", "supported", "assumed"), unclear=of("reverse", "open"),
        effects=of("effect"), unlinked=of("unlinked"), steps=steps, left_out=record.left_out,
        level=next(iter(levels)) if len(levels) == 1 else "",
    )  # fmt: skip


def _with_sizes(result: "Result", one: Cause, record: OutcomeRecord) -> Cause:
    sizes = tuple(size for size in record.sizes if size.cause == one.name)
    if one.name not in result.table.randomised:
        return replace(one, sizes=sizes)
    arms = tuple(arm for arm in result.claims.arms if (arm.cause, arm.effect) == (one.name, record.column))
    return replace(one, standing="randomised", ground="randomised", sizes=sizes, arms=arms)


def _largest(one: Cause, steps: dict[str, float]) -> float:
    return max((size.largest * (1.0 if size.contrast else steps.get(one.name, 1.0)) for size in one.sizes), default=0.0)


def _round_step(sd: float) -> float:
    """Return a number of one or two digits near a standard deviation."""
    return float(round(sd, 1 - floor(log10(sd)))) if sd > 0 else 1.0


def _standings(result: "Result", column: str) -> list[Cause]:
    """Return how every other column stands to the outcome, by the surest way that leads from it."""
    names, goal = result.names, result.names.index(column)
    surest: dict[int, tuple[int, list[int]]] = {goal: (3, [goal])}
    links = result.reading.causal_links()
    changed = True
    while changed:  # the widest path: every way is as sure as its least sure arrow, and short ways come first
        changed = False
        for cause, effect, sure in links:
            if effect not in surest or cause in surest[effect][1]:
                continue
            rank, way = min(sure, surest[effect][0]), [cause, *surest[effect][1]]
            if cause not in surest or (rank, -len(way)) > (surest[cause][0], -len(surest[cause][1])):
                surest[cause], changed = (rank, way), True
    linked = {end for cause, effect, _ in links if goal in (cause, effect) for end in (cause, effect)} - {goal}
    sure_of = {(cause, effect): sure for cause, effect, sure in links}
    ground_of = {(one.cause, one.effect): one.ground for one in result.directions}
    found = list[Cause]()
    for k, name in enumerate(names):
        if k == goal:
            continue
        rank, way = surest.get(k, (-1, []))
        arrows = list(pairwise(way))
        if rank >= 1 or (rank == 0 and k in linked):
            weakest = min(arrows, key=lambda arrow: sure_of[arrow])
            pair = names[weakest[0]], names[weakest[1]]
            standing: Standing = "supported" if rank == 2 else "assumed" if rank == 1 else "open"
            grounds = [ground_of.get((names[a], names[b]), "") for a, b in arrows]
            ground: Ground = next((one for one in grounds if one not in ("given", "randomised")), grounds[0])
            through = tuple(names[node] for node in way[1:-1])
            found.append(Cause(name=name, standing=standing, ground=ground, through=through, weakest=pair))
        elif k in linked:  # the arrow leads away from the outcome
            away: tuple[Standing, ...] = ("open", "reverse", "effect")
            found.append(Cause(name=name, standing=away[sure_of.get((goal, k), 0)], weakest=(name, column)))
        else:
            found.append(Cause(name=name, standing="unlinked"))
    return found


def size_words(one: Cause, answer: OutcomeAnswer) -> list[str]:
    """Return how large the effect of a column is: differences of arms, or effects of a change by about one sd."""
    if one.arms:
        words = []
        for arm in one.arms[:SHOWN_SIZES]:
            sides = [] if arm.arm is None or arm.reference is None else [arm.arm.label, arm.reference.label]
            what = " instead of ".join(map(printable, sides)) or "one unit more"
            fine = adjusted_words(arm)
            level = answer.level_words(arm.level)
            words.append(f"{what}: {difference_words(arm)}{level}{fine and f'; adjusted {fine}'}")
        return words
    if not one.sizes or not one.sizes[0].total:
        return ["size not known"]
    step = answer.steps.get(one.name, 1.0)
    shown = sorted(one.sizes, key=lambda size: -size.largest)[:SHOWN_SIZES]
    return [_size(size, 1.0 if size.contrast else step, answer) for size in shown]


def _size(size: Size, step: float, answer: OutcomeAnswer) -> str:
    what = printable(size.contrast) or f"{step:g} more"
    share = bool(size.level)
    low, high = _ends([(step, size)])
    values = list(dict.fromkeys(amounts([step * value for value in size.total], low, high, share=share)))
    if len(values) > 2:  # the ends say what lies between them
        numbers = sorted(step * value for value in size.total)
        values = [" to ".join(amounts([numbers[0], numbers[-1]], low, high, share=share))]
    first, last = amounts([low, high], low, high, share=share)
    return f"{what}: {' or '.join(values)}{' points' * share} ({first} to {last}){answer.level_words(size.level)}"


def _ends(found: Sequence[tuple[float, Size]]) -> tuple[float, float]:
    """Return the ends of the intervals of effects, each of a change by so much; a share changes by at most 1."""
    ends = [times * end for times, size in found for end in (size.low, size.high)]
    most = 1.0 if any(size.level for _, size in found) else float("inf")
    return max(min(ends, default=0.0), -most), min(max(ends, default=0.0), most)


def outcome_lines(answer: OutcomeAnswer, shown: int = SHOWN_CAUSES) -> list[str]:
    """Return the answer about the outcome as lines of text."""
    name = printable(answer.column)
    lines = [
        f"Outcome {answer.title}: {_counted(answer.causes, 'likely cause')}, {_counted(answer.unclear, 'unclear link')}"
    ]
    for title, part in (("Likely causes, the largest effects first", answer.causes),
                        ("Linked, but which causes which cannot be said", answer.unclear)):  # fmt: skip
        lines += [f"{title}:"] if part else []
        for one in part[:shown]:
            by = f" by way of {', '.join(map(printable, one.through))}" if one.through else ""
            lines.append(f"  {printable(one.name)}{by} ({one.grounds})")
            lines += [f"      {words}" for words in size_words(one, answer)]
            lines.append(f"      to be sure: {one.to_be_sure}")
        lines += [f"  ... and {len(part) - shown} more"] if len(part) > shown else []
    lines += [f"Follow from {name}: {named(answer.effects)}"] if answer.effects else []
    lines += [f"No sign of an effect on {name}: {possible(answer)}"] if answer.unlinked else []
    lines += [f"Note: {printable(answer.left_out)}"] if answer.left_out else []
    if answer.causes or answer.unclear:
        lines.append(READ)
    return lines


def possible(answer: OutcomeAnswer) -> str:
    """Return the columns without a sign of an effect, with the effects that remain possible."""
    words = [_possible(one, answer) for one in answer.unlinked[:SHOWN_CAUSES]]
    more = len(answer.unlinked) - len(words)
    return ", ".join([*words, *([f"{more} more"] if more > 0 else [])])


def _possible(one: Cause, answer: OutcomeAnswer) -> str:
    step = answer.steps.get(one.name, 1.0)
    ends = [(1.0 if size.contrast else step, size) for size in one.sizes if size.total]
    low, high = _ends(ends)
    if low == high:  # ruled out, or not estimated
        return printable(one.name)
    share = bool(ends[0][1].level)
    first, last = amounts([low, high], low, high, share=share)
    return f"{printable(one.name)} ({first} to {last}{' points' * share})"


def about_outcome(result: "Result", record: OutcomeRecord) -> str:
    """Return what a result says of a column and its likely causes, as text."""
    return "\n".join(outcome_lines(answer_about(result, record)))


def named(found: Sequence[Cause], most: int = 12) -> str:
    """Return the names of columns, the last ones only counted."""
    names = [printable(one.name) for one in found]
    more = len(names) - most
    return ", ".join([*names[:most], *([f"{more} more"] if more > 0 else [])])


def _counted(found: Iterable[Cause], what: str) -> str:
    n = len(list(found))
    return f"{n or 'no'} {what}{'s' * (n != 1)}"
