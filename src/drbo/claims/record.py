"""The records of the claims about a graph that a result stores: proof, margins, other classes, posterior."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Stored:
    """How an array of a record is kept: one letter per dimension (d columns, t steps), and its type.

    A matrix that is 0 where the graph has no edge may be saved as its values at the edges alone.

    Examples
    --------
    >>> Stored("dd", "|b1").shape({"d": 3, "t": 10})
    (3, 3)
    """

    dimensions: str
    dtype: str
    at_edges: bool = False

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape where the dimensions have these sizes."""
        return tuple(sizes[letter] for letter in self.dimensions)


Graph = Annotated[npt.NDArray[np.bool_], Stored("dd", "|b1")]
Matrix = Annotated[npt.NDArray[np.float64], Stored("dd", "<f8")]
EdgeValues = Annotated[npt.NDArray[np.float64], Stored("dd", "<f8", at_edges=True)]
Vector = Annotated[npt.NDArray[np.float64], Stored("d", "<f8")]


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


@dataclass(frozen=True, kw_only=True)
class RankedClass:
    """A Markov equivalence class, by its best DAG."""

    score: float  # of its best DAG
    behind: float  # how much lower than the best class
    edges: tuple[tuple[str, str], ...]  # of the best DAG, by the names of the columns


@dataclass(frozen=True, eq=False, kw_only=True)
class Claims:
    """What is known about the best DAG before pruning beside its score; None and empty where nothing valid is known.

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
