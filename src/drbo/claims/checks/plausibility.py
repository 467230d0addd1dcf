"""Does an arrow point to a column that nothing in the table can cause, by its name and content?

Such a name never directs an arrow. It only leaves one unsupported that a reader would doubt at once, and says how to
state what is known: a last net, not a substitute for checks of the data.
"""

import re
import unicodedata

import numpy as np

from drbo.claims.checks.root_names import BESIDE, ROOT_NAMES
from drbo.claims.claim import Claim, Context, Ruling, denials
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current

#: Parts of a name: "birthYear", "age_group" and "Sex.1" have two each.
PARTS = re.compile(r"[^\W\d_]+")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
#: The range of an age in years, and of a calendar year; other numbers of that name are something else.
AGES, CALENDAR = (0.0, 130.0), (0.0, 3000.0)
#: A sex has so many values at most.
SEXES = 5
#: What is said about an arrow into such a column.
IMPLAUSIBLE = (
    "'{0}' looks like {1}, which nothing in this table can cause. If so, state it: --root \"{0}\", or "
    "Knowledge(roots=[{0!r}])."
)


class Plausibility(Claim):
    """The claim that no arrow points to an age, a sex, a birth, a descent, a place or a time."""

    name, title = "plausibility", "the look at names"
    denies = ("experiment", "noise-check", "class", "time")
    repeated = False

    def run(self, context: Context) -> Ruling:
        current().check()
        table, names = context.table, context.table.names
        found = {j: kind for j in range(table.n_columns) if (kind := root_kind(table, j))}
        arrows = [(i, j) for i, j in np.argwhere(context.answer.dag).tolist() if j in found and i not in found]
        sentences = {(names[i], names[j]): IMPLAUSIBLE.format(names[j], found[j]) for i, j in arrows}
        return Ruling({names[j]: kind for j, kind in found.items()}, denials(self, sentences))


def root_kind(table: Statistics, column: int) -> str:
    """Return what a column looks like that nothing else causes, in words; empty: it does not look like that."""
    kind = _named(table.names[column])
    if not kind or table.levels[column] is not None:
        return kind
    low, high = (float(end[column]) for end in table.ranges)
    if kind in ("an age", "a time"):
        least, most = AGES if kind == "an age" else CALENDAR
        return kind if least <= low and high <= most else ""
    if kind == "a sex":
        return kind if not table.n_rows or len(np.unique(table.values[:, column])) <= SEXES else ""
    return kind


def _named(name: str) -> str:
    """Return the kind that a name stands for, if all of its words but one may stand beside it."""
    words = PARTS.findall(_without_accents(CAMEL.sub(" ", name)).lower())
    for kind, known in KNOWN.items():
        if not known.isdisjoint(words) and known | BESIDE >= set(words):
            return kind
    return ""


def _without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


KNOWN = {kind: frozenset(map(_without_accents, words)) for kind, words in ROOT_NAMES.items()}
