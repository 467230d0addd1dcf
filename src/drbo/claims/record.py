"""The records of the claims about a graph that a result stores: proof, margins, noise checks, posterior."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats
from drbo.claims.arm_effects import ArmEffect
from drbo.claims.denial import ClaimRecord, Denial
from drbo.data.checks.experiments import KnownTarget, plain_known
from drbo.design import Design
from drbo.errors import DataError, ResultError
from drbo.graph.mag import Mag
from drbo.independence.residuals import NoiseModel


@dataclass(frozen=True)
class Stored:
    """How an array of a record is kept: one letter per dimension (d columns, t steps), and its type.

    A matrix that is 0 where the graph has no edge may be saved as its values at the edges alone.
    """

    dimensions: str
    dtype: str
    at_edges: bool = False

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape where the dimensions have these sizes."""
        return tuple(sizes[letter] for letter in self.dimensions)


Graph = Annotated[Bools, Stored("dd", "|b1")]
Matrix = Annotated[Floats, Stored("dd", "<f8")]
EdgeValues = Annotated[Floats, Stored("dd", "<f8", at_edges=True)]
Vector = Annotated[Floats, Stored("d", "<f8")]
#: Returns a matrix over columns in another order.
Arrange = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
#: Marks of a graph, coded as in :mod:`drbo.graph.marks`.
MarkMatrix = Annotated[npt.NDArray[np.int8], Stored("dd", "|i1")]
#: ``forward``: this direction fits and the reverse does not. ``reverse``: the other way round. ``neither`` fits.
#: ``undecided``: both fit, or the tests are not clear enough.
Verdict = Literal["forward", "reverse", "neither", "undecided"]


@dataclass(frozen=True, kw_only=True)
class Proof:
    """No DAG scores higher than ``upper_bound``. It is about the graph before pruning.

    Examples
    --------
    >>> proof = Proof(upper_bound=-7.0, tolerance=1e-9, valid_for="all DAGs on 3 columns")
    >>> proof.gap(-7.5), proof.gap(-7.0)
    (0.5, 0.0)
    """

    upper_bound: float  # on the score of every DAG
    tolerance: float  # rounding: scores closer than this count as equal
    valid_for: str  # the DAGs that the bound holds for, in words

    def gap(self, score: float) -> float:
        """Return how much a score may lie below the best possible one; 0: it is the best, up to the tolerance."""
        gap = self.upper_bound - score
        return gap if gap > self.tolerance else 0.0


@dataclass(frozen=True, eq=False)
class Margins:
    """What the score loses at least when an edge of the best DAG is removed or reversed and the rest adapts."""

    removed: Matrix  # (d, d) best minus the best with the two nodes not joined; NaN where there is no edge
    reversed: Matrix  # (d, d) best minus the best with the edge turned round; NaN also where no DAG has it so
    exact: bool  # over all DAGs; else over those made of known families: a margin is then an upper bound

    def rearranged(self, arrange: Arrange) -> "Margins":
        """Return the record over columns in another order."""
        return Margins(arrange(self.removed), arrange(self.reversed), self.exact)


@dataclass(frozen=True, eq=False)
class EdgePosterior:
    """The posterior probability of every edge."""

    probability: Matrix  # (d, d)
    prior: str  # that it begins with, in words


@dataclass(frozen=True, kw_only=True)
class RankedClass:
    """A Markov equivalence class, by its best DAG."""

    score: float  # of its best DAG
    behind: float  # how much lower than the best class
    edges: tuple[tuple[str, str], ...]  # of the best DAG, by the names of the columns


#: Noise that depends on its causes at most by its spread, between columns or between normal scores of their ranks.
CheckedNoise = Literal[NoiseModel, "ranks"]


@dataclass(frozen=True)
class NoiseCheck:
    """What the residuals say about one arrow.

    Attributes
    ----------
    verdict : which direction fits, see :data:`Verdict`.
    noise : the noise model behind the verdict: ``additive``; ``location-scale``, in which the spread of the noise may
        depend on the causes; or ``ranks``, which is the latter between normal scores of ranks.
    p_value_forward, p_value_reverse : smallest p-value of the independence tests of the arrow and of its reverse. Of a
        direction that the test between both ends rejects, no other tests are made.
    p_value_family : p-value of the effect's family with additive noise, corrected for the number of its parents.
    dependence_forward, dependence_reverse : effect sizes of the remaining dependence, from 0 to 1. They do not grow
        with the number of rows.
    probability : of the arrow's direction, given the edge; None unless one direction has at least 0.7.
    """

    verdict: Verdict
    noise: CheckedNoise
    p_value_forward: float
    p_value_reverse: float
    p_value_family: float
    dependence_forward: float
    dependence_reverse: float
    probability: float | None


@dataclass(frozen=True, kw_only=True)
class CheckedEdge:
    """The noise check of one edge, or why there is none."""

    cause: str  # as the edge is drawn
    effect: str
    check: NoiseCheck | None = None
    untested: str = ""  # why there is no check, in words
    left_out: bool = False  # it could have been made with more rows or fewer causes; else it does not apply


@dataclass(frozen=True, kw_only=True)
class ConfirmedEdge:
    """How many halves of the rows support an arrow that no other check denies."""

    cause: str
    effect: str
    confirmed: int
    tried: int  # counting ends when the verdict is certain


@dataclass(frozen=True, eq=False, kw_only=True)
class AncestralRecord:
    """The maximal ancestral graph of a search that allows hidden causes."""

    directed: Graph  # (d, d) i is a cause of j
    bidirected: Graph  # (d, d) neither causes the other, but something hidden causes both
    gain: float  # of its score over that of the best DAG
    second: MarkMatrix  # (d, d) the marks that tests on the edges of the best DAG give
    whole: bool = True  # False: the time was over before the climb ended
    close: Graph | None = (
        None  # (d, d) edges whose other marks cost less than half the penalty of an edge, or are not known
    )
    lead: float | None = None  # of few columns: every other class scores at least so much less; negative: one more

    @property
    def mag(self) -> Mag:
        """The graph that was found, one member of the class that the answer, a PAG, stands for."""
        return Mag(self.directed, self.bidirected)

    def check(self) -> None:
        """Refuse what is no maximal ancestral graph."""
        try:
            graph = Mag.of(self.directed, self.bidirected)
        except DataError as error:
            raise ResultError(f"hidden: {error.message}") from error
        if not graph.is_ancestral() or not graph.is_maximal():
            raise ResultError("hidden: the graph is not a maximal ancestral graph")
        if not np.isin(self.second, (0, 1, 2, 3)).all():
            raise ResultError("hidden.second must contain only 0, 1, 2 and 3")

    def rearranged(self, arrange: Arrange) -> "AncestralRecord":
        """Return the record over columns in another order."""
        parts = {name: getattr(self, name) for name in ("directed", "bidirected", "second", "close")}
        arranged: dict[str, Any] = {name: arrange(part) for name, part in parts.items() if part is not None}
        return replace(self, **arranged)


@dataclass(frozen=True)
class TargetShare:
    """The share of resamples in which an experiment changes a column."""

    experiment: str
    column: str
    share: float


@dataclass(frozen=True, kw_only=True)
class Target:
    """A column whose mechanism an experiment changes.

    ``margin`` is what the score loses if the experiment shares the mechanism of the others, with the parents in the
    graph.
    """

    experiment: str
    column: str
    margin: float
    kind: Literal["found", "soft", "hard"] = "found"  # soft and hard: it was known before
    bent: bool = False  # curved effects explain the rows without a change


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """A column whose residual depends on its causes in the rows of an experiment."""

    experiment: str
    column: str


@dataclass(frozen=True, kw_only=True)
class ExperimentRecord:
    """The experiments of a table, and what they change."""

    column: str  # that named them
    labels: tuple[str, ...]  # the control first
    rows: tuple[int, ...]  # of each
    targets: tuple[Target, ...] = ()  # the largest margin first
    misfits: tuple[Misfit, ...] = ()  # where mechanisms of the form that the score assumes do not fit

    @property
    def design(self) -> Design:
        """How the rows came about, for another fit or table."""
        known = [KnownTarget(one.experiment, one.column, one.kind) for one in self.targets if one.kind != "found"]
        return Design(experiment=self.column, control=self.labels[0], targets=plain_known(known) or None)

    def targets_of(self, experiment: str) -> list[Target]:
        """Return the targets of an experiment, the largest margin first."""
        return [one for one in self.targets if one.experiment == experiment]

    def changed(self, names: Sequence[str]) -> Bools:
        """Return (E - 1, d) True where an experiment beside the control changes a column."""
        found = np.zeros((len(self.labels) - 1, len(names)), dtype=bool)
        for one in self.targets:
            found[self.labels.index(one.experiment) - 1, list(names).index(one.column)] = True
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class Claims:
    """What is known about the best DAG beside its score; None and empty where nothing valid is known.

    Everything but the noise checks is about the DAG before pruning.

    Examples
    --------
    >>> Claims().margins is None, Claims().classes
    (True, ())
    """

    margins: Margins | None = None
    classes: tuple[RankedClass, ...] = ()  # the best equivalence classes found, best first
    over: str = ""  # the DAGs that margins, classes and posterior are computed over, in words
    posterior: Matrix | None = None  # (d, d) probability of each edge, where the score is a log evidence
    prior: str = ""  # of the posterior, in words
    noise: tuple[CheckedEdge, ...] = ()  # the noise check of each edge after pruning
    halves: tuple[ConfirmedEdge, ...] = ()  # how many halves of the rows support arrows
    denials: tuple[Denial, ...] = ()  # what speaks against the directions of edges after pruning
    made: tuple[ClaimRecord, ...] = ()  # which claims were made
    experiments: ExperimentRecord | None = None  # where the rows come from several
    arms: tuple[ArmEffect, ...] = ()  # what randomised columns change, the clearest differences first

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse claims about edges between other columns than these."""
        named = {
            "classes": {name for other in self.classes for edge in other.edges for name in edge},
            "noise": {name for one in self.noise for name in (one.cause, one.effect)},
            "halves": {name for one in self.halves for name in (one.cause, one.effect)},
            "denials": {name for one in self.denials for name in (one.cause, one.effect)},
            "arms": {name for one in self.arms for name in (one.cause, one.effect, *one.adjusted_for)},
        }
        for part, found in named.items():
            if strange := found - set(names):
                raise ResultError(f"claims.{part} has an edge with {min(strange)!r:.80}, which is not a column")
        if (experiments := self.experiments) is None:
            return
        if len(experiments.rows) != len(experiments.labels) or not experiments.labels:
            raise ResultError("claims.experiments must have as many rows as labels")
        for one in experiments.targets:
            if one.experiment not in experiments.labels[1:] or one.column not in names:
                raise ResultError(
                    f"claims.experiments has the unknown target {one.experiment!r:.80}: {one.column!r:.80}"
                )
