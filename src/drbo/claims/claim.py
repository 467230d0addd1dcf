"""What a claim is: something said about an answer, which may deny the directions of its arrows.

Claims read the answer and change nothing. :mod:`drbo.claims.runner` runs them, and :mod:`drbo.claims.registry` lists
them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from drbo.arrays import Bools
from drbo.claims.denial import ClaimRecord, Denial, Ground
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.independence.residual_tests import TableTests
from drbo.scores.base import Score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.settings import Settings

if TYPE_CHECKING:
    from drbo.claims.answer.stages import Answer
    from drbo.claims.refits.refit import TableRefit

#: The edges of larger graphs are not tested one by one, which would take longer than the search for them.
MAX_EDGES = 1_000
#: Claims draw rows and starts with this seed, so that what is said about a graph does not depend on the run's seed.
SEED = 0
#: Why the effects of a series are not tested.
CATEGORIES = "effects of categorical columns are not compared over time"


@dataclass(frozen=True, eq=False, kw_only=True)
class Inquiry:
    """A search that is over, and what was asked of it; columns are in canonical order."""

    table: Statistics
    given: Statistics  # the same table with its rows and columns as they were given
    score: Score
    evaluator: Evaluator
    constraints: Constraints  # the knowledge
    limits: Constraints  # the knowledge, and the parents that were screened out
    settings: Settings
    seed: int
    pruner: str = "none"
    rationed: bool = False  # evaluations are to be spent sparingly
    hidden: bool = False  # allow hidden causes
    randomised: tuple[str, ...] = ()  # columns that chance alone decided
    independent: bool = False  # the user said that rows do not depend on each other
    asked: Bools | None = None  # (d, d) the pairs that are asked about, both ways round; None: all
    stop: Callable[[], bool] = lambda: False  # asked while a proof is made; True ends it
    refit: "TableRefit | None" = None  # searches other rows in the same way; None: the score is bound to its own

    @cached_property
    def control(self) -> Statistics:
        """The rows in which no experiment changed anything; none where only sums of rows are known."""
        return self.table.control_rows

    @cached_property
    def tests(self) -> TableTests:
        """Tests of the residuals of these rows."""
        return TableTests(self.control, SEED)

    @property
    def can_search_again(self) -> bool:
        """Whether other rows can be searched at a cost that nobody notices."""
        return self.refit is not None and self.settings.route == "orders" and not self.rationed


@dataclass(frozen=True, eq=False, kw_only=True)
class Context:
    """What a claim is made from."""

    inquiry: Inquiry
    answer: "Answer"
    done: dict[str, Any] = field(default_factory=dict)  # the records of the claims that were made before, by name
    claims: list["Claim"] = field(default_factory=list)  # that were asked before
    denied: list[Denial] = field(default_factory=list)  # by them
    made: list[ClaimRecord] = field(default_factory=list)  # which of them were made

    @property
    def table(self) -> Statistics:
        return self.inquiry.table

    @property
    def score(self) -> Score:
        return self.inquiry.score

    @property
    def has_arrows(self) -> bool:
        """Whether the answer has arrows to speak of; where causes may be hidden, its marks say more than they do."""
        return not self.inquiry.hidden and bool(self.answer.dag.any())

    @property
    def too_many_edges(self) -> str:
        """Why the edges of a graph are not tested one by one; empty: they are."""
        return f"the graph has more than {MAX_EDGES:,} edges" if self.answer.dag.sum() > MAX_EDGES else ""


class Ruling(NamedTuple):
    """What a claim found."""

    record: Any = None
    denied: tuple[Denial, ...] = ()
    skipped: str = ""  # why the claim could not be made, in words; empty: it was made


class Claim(ABC):
    """Something said about an answer, by a rule that every table passes through.

    Attributes
    ----------
    name : of the claim, which denials carry.
    title : what it does, in words of a sentence.
    after : names of the claims that it builds on.
    denies : the grounds of support that it may deny. Where the claim applies and is skipped, they support nothing.
    repeated : it is made again for halves of the rows (:mod:`drbo.claims.checks.stability`).
    requested : the user asked for it, so the result says if it was skipped.
    always : it is made even where the settings ask for no claims, because it takes a moment.
    at_hand : it only tells what was computed for the answer, so it is made even when the time is over.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    after: ClassVar[tuple[str, ...]] = ()
    denies: ClassVar[tuple[Ground, ...]] = ()
    repeated: ClassVar[bool] = True
    requested: ClassVar[bool] = False
    always: ClassVar[bool] = False
    at_hand: ClassVar[bool] = False

    def relevant(self, context: Context) -> bool:
        """Tell whether the claim has anything to say: by default about arrows, unless causes may be hidden."""
        return context.has_arrows

    def too_much(self, context: Context) -> str:
        """Return why the claim would take too long, by counts and never by a clock; empty: it would not."""
        return ""

    @abstractmethod
    def run(self, context: Context) -> Ruling:
        """Make the claim; raises an OutOfTimeError if the run has to end before that."""


class ResidualClaim(Claim):
    """A claim that tests the residuals of the rows at the arrows of the class."""

    denies: ClassVar[tuple[Ground, ...]] = ("class",)

    def relevant(self, context: Context) -> bool:
        return context.has_arrows and context.inquiry.control.n_rows > 0

    def too_much(self, context: Context) -> str:
        return context.too_many_edges


class SeriesClaim(Claim):
    """A claim that tests the effects of arrows between rows that have a past."""

    denies: ClassVar[tuple[Ground, ...]] = ("time", "class")
    repeated = False  # its levels are those of all rows

    def relevant(self, context: Context) -> bool:
        return context.has_arrows and bool(context.table.lags)

    def too_much(self, context: Context) -> str:
        return context.too_many_edges or (CATEGORIES if "categorical" in context.table.kinds else "")


def denials(claim: Claim, sentences: Mapping[tuple[str, str], str]) -> tuple[Denial, ...]:
    """Return what a claim denies, from a sentence for each arrow (cause, effect)."""
    return tuple(
        Denial(cause=cause, effect=effect, claim=claim.name, grounds=claim.denies, sentence=sentence)
        for (cause, effect), sentence in sentences.items()
    )
