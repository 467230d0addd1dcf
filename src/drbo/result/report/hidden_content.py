"""What the report says about a result with hidden causes."""

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from drbo.claims.directions import EdgeDirection
from drbo.graph.mag import ARROW, CIRCLE, TAIL
from drbo.result.files.export import printable
from drbo.result.hidden import HiddenResult, hidden_notes
from drbo.result.report.content import Content
from drbo.result.report.plain_words import NAMED, PlainWords
from drbo.result.result import Result
from drbo.result.words.pag_summary import ASSUMED, KNOWLEDGE, sign_of


class HiddenContent(Content):
    """The words of a report about a partial ancestral graph."""

    ends = ("one end", "other end")
    spoken: ClassVar = {
        "supported": "linked, marks supported",
        "assumed": "linked, marks assumed",
        "open": "linked, marks open",
    }

    kind_words: ClassVar[dict[str, str]] = {
        "supported": "Solid arrowhead: tests on the same data find it as well.",
        "assumed": "Hollow arrowhead: tests do not confirm it.",
        "open": "Only circles: the data show only that the two are linked.",
    }

    def __init__(self, result: HiddenResult) -> None:
        super().__init__(result)
        self._pag = result.pag
        self._ends = result.ends
        self.marks = self.legend

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        n = self.n_edges
        words = ", ".join(f"{self.kinds[kind]} {kind}" for kind in ("supported", "assumed", "open"))
        return (
            f"{n} edge{'s' * (n != 1)} among {len(self.result.names)} variables, learned from "
            f"{self.result.table.n_rows:,} rows; hidden causes allowed; marks: {words}"
        )

    @cached_property
    def words(self) -> PlainWords:
        """What the result says, what to doubt about it, and what to do next, for readers without statistics."""
        told = sorted(self.result.directions, key=lambda one: ("supported", "assumed", "open").index(one.direction))
        says = [printable(one.sentence) for one in told[: 2 * NAMED]]
        more = len(told) - len(says)
        says += [f"The table below explains {more} more links."] if more > 0 else []
        doubt = ["Relations may bend, and the marks rest on straight lines with Gaussian noise."]
        if assumed := self.kinds["assumed"]:
            doubt.append(f"{assumed} of {self.n_edges} links have marks that tests do not confirm: hollow arrowheads.")
        step = "Measure what may be hidden, or state what cannot cause what (--tiers, --forbid), and fit again."
        return PlainWords(tuple(says) or ("No variable is linked to another.",), tuple(doubt), (step,))

    @property
    def legend(self) -> str:
        """What the lines of a picture mean, in a few words."""
        return "".join(f" {text[0].upper()}{text[1:]}." for text in hidden_notes(self._ends))

    @property
    def assumptions(self) -> list[str]:
        """What must hold for the marks to mean what they say."""
        words = [
            f"Assumed: {ASSUMED}.",
            "Common causes may be hidden. An edge with two arrowheads says that neither column causes the other and "
            "that something not in the table is involved. A circle says that the data do not tell.",
            "An arrow with a tail is a cause, directly or through other things. Only where the table calls it visible, "
            "nothing hidden can cause both of its ends.",
            "Marks are supported where tests on the edges of the best DAG find them as well, and assumed elsewhere.",
            self._independence,
        ]
        return words + ([f"{KNOWLEDGE[0].upper()}{KNOWLEDGE[1:]}."] if self.result.knowledge.to_mapping() else [])

    @property
    def questions(self) -> tuple[str, ...]:
        """No questions: an answer about a pair seldom settles a circle."""
        return ()

    def column_facts(self, node: int) -> list[list[str]]:
        """Return what is known about one variable: label and value."""
        pag, names = self._pag, self.result.names
        groups = {
            "causes": (pag[node] == TAIL) & (pag[:, node] == ARROW),
            "effects": (pag[node] == ARROW) & (pag[:, node] == TAIL),
            "linked by something hidden": (pag[node] == ARROW) & (pag[:, node] == ARROW),
            "linked, unknown how": (pag[node] == CIRCLE) | (pag[:, node] == CIRCLE),
        }
        facts = [
            [words, ", ".join(names[k] for k in np.flatnonzero(found)) or "none"] for words, found in groups.items()
        ]
        return facts + [row for row in super().column_facts(node) if row[0] in ("mean", "standard deviation", "range")]

    def _sign(self, record: dict[Any, Any], one: EdgeDirection) -> str:
        return sign_of(record["mark_source"], record["mark_target"])


def content_of(result: Result) -> Content:
    """Return the words of the report of a result."""
    return HiddenContent(result) if isinstance(result, HiddenResult) else Content(result)
