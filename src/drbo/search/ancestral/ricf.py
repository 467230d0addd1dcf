"""The score of a maximal ancestral graph: the Gaussian likelihood of its districts, less the price of its edges.

A district is fitted given its parents by residual iterative conditional fitting (Drton, Eichler & Richardson 2009) on
correlations; its value is computed once. The score of a DAG is that of ``bic-nv``, up to a constant of the table.
"""

from typing import Self

import numpy as np
import numpy.typing as npt

from drbo import _core
from drbo.arrays import Bools, Floats, Ints
from drbo.errors import ScoreError
from drbo.graph.mag import Mag
from drbo.scores.base import Score

#: Larger districts are not visited: their fit is slow, and few tables can tell them from smaller ones.
LARGEST_DISTRICT = 8
#: The fit of a district ends when its score changes by less than this.
TOLERANCE = 1e-4
#: What a change of an edge makes of it.
NONE, FORWARD, BACKWARD, BOTH = 0, 1, 2, 3


class DistrictScores:
    """Scores of maximal ancestral graphs over the columns of one table; higher is better.

    Parameters
    ----------
    correlation : (d, d) of the columns.
    n_rows : number of rows.
    price : what an edge costs.
    never : (d, d) True where i must not be an ancestor of j.

    Examples
    --------
    >>> scores = DistrictScores(np.array([[1.0, 0.6], [0.6, 1.0]]), n_rows=100, price=np.log(100))
    >>> empty = Mag.of(np.zeros((2, 2)))
    >>> forward, both = scores.gains(empty, np.array([[0, 1, FORWARD], [0, 1, BOTH]]))
    >>> round(float(forward), 3), bool(np.isclose(forward, both, atol=1e-3))
    (40.024, True)
    """

    def __init__(self, correlation: Floats, n_rows: float, price: float, never: Bools | None = None) -> None:
        self.correlation, self.n_rows, self.price = correlation, float(n_rows), float(price)
        self.never = np.zeros(correlation.shape, dtype=bool) if never is None else never
        self._core = _core.AncestralScore(
            np.ascontiguousarray(correlation, dtype=np.float64),
            self.n_rows,
            self.price,
            LARGEST_DISTRICT,
            np.ascontiguousarray(self.never, dtype=bool),
            TOLERANCE / self.n_rows,
        )

    @classmethod
    def of(cls, score: Score, never: Bools | None = None) -> Self:
        """Return the scores that extend a DAG score to hidden causes, or raise a ScoreError where none does."""
        hint = "use score='bic-nv' for the whole table, without targets and edge priors"
        if score.targets is not None:
            raise ScoreError("hidden causes cannot be combined with interventions (targets)", hint=hint)
        found = score.gaussian()
        if found is None or found.price is None:
            raise ScoreError(f"hidden causes need a linear score, but {score.name} is not linear", hint=hint)
        if score.has_prior:
            raise ScoreError("hidden causes cannot be combined with an edge prior", hint=hint)
        return cls(found.correlation, found.n_rows, found.price, never)

    def total(self, graph: Mag) -> float:
        """Return the score of a graph; NaN where its columns are collinear."""
        return self._core.total(graph.directed, graph.bidirected)

    def is_legal(self, graph: Mag) -> bool:
        """Tell whether a graph may be visited: ancestral, maximal, with small districts and no forbidden ancestor."""
        return self._core.legal(graph.directed, graph.bidirected)

    def gains(
        self,
        graph: Mag,
        moves: Ints,  # (m, 3) two nodes, and the edge they get
    ) -> Floats:
        """Return what changing one edge adds to the score; minus infinity where the graph would not be legal."""
        return self._core.gains(graph.directed, graph.bidirected, np.ascontiguousarray(moves, dtype=np.int64))

    def listed(
        self,
        required: Bools,  # (d, d) arrows of every graph
        least: float,
    ) -> tuple[npt.NDArray[np.uint8], Floats]:
        """Return every legal graph that scores at least so much: the edges of the pairs i < j, and the scores."""
        return self._core.listed(np.ascontiguousarray(required, dtype=bool), float(least))


def changed(graph: Mag, i: int, j: int, kind: int) -> Mag:
    """Return the graph with another edge between two nodes."""
    directed, both = graph.directed.copy(), graph.bidirected.copy()
    directed[i, j], directed[j, i] = kind == FORWARD, kind == BACKWARD
    both[i, j] = both[j, i] = kind == BOTH
    return Mag(directed, both)
