"""The answer of a search that allows hidden causes: an ancestral graph, and what tests say about its marks."""

from dataclasses import replace

import numpy as np

from drbo.claims.record import AncestralRecord
from drbo.constraints import Constraints
from drbo.errors import KnowledgeError
from drbo.graph import descendants
from drbo.scores.base import Score
from drbo.search.ancestral.climb import climb
from drbo.search.ancestral.gfci import second_opinion
from drbo.search.ancestral.mag import Bools
from drbo.search.ancestral.ricf import DistrictScores


def known_causes(constraints: Constraints) -> tuple[Bools, Bools]:
    """Return what knowledge says about ancestors: (d, d) i is no cause of j; i is a cause of j.

    Where causes may be hidden, a forbidden edge says that one column does not cause the other, not even through other
    columns; tiers, roots, leaves and context likewise. A required edge says that one column causes the other, directly
    or not. A largest number of parents says nothing about causes.

    Examples
    --------
    >>> from drbo.knowledge import Knowledge
    >>> never, always = known_causes(Constraints.of(Knowledge(tiers=[["a"], ["b"]], max_parents=0), ["a", "b"]))
    >>> never.tolist(), bool(always.any())
    ([[False, False], [True, False]], False)
    """
    unlimited = replace(constraints.knowledge, max_parents=None)
    allowed = Constraints.of(unlimited, constraints.names).allowed
    never = ~allowed & ~np.eye(len(allowed), dtype=bool)
    clash = np.argwhere(descendants(constraints.required) & never)
    if len(clash):
        first, second = (constraints.names[node] for node in clash[0])
        raise KnowledgeError(
            f"the required edges make '{first}' a cause of '{second}', which is forbidden",
            hint="with hidden causes, a forbidden edge says that one column does not cause the other at all",
        )
    return never, constraints.required


def ancestral_answer(score: Score, dag: Bools, constraints: Constraints, seed: int) -> AncestralRecord:
    """Climb from the best DAG to a maximal ancestral graph, and ask a second method about its marks.

    Examples
    --------
    >>> from drbo.scores.linear import BicNV
    >>> score = BicNV.from_covariance([[1.0, 0.8], [0.8, 1.0]], 100)
    >>> found = ancestral_answer(score, np.array([[False, True], [False, False]]), Constraints.none(2), 0)
    >>> found.gain, found.second.tolist()
    (0.0, [[0, 1], [1, 0]])
    """
    never, required = known_causes(constraints)
    scores = DistrictScores.of(score, never)
    found = climb(scores, dag, seed, required=required)
    return AncestralRecord(
        directed=found.graph.directed,
        bidirected=found.graph.bidirected,
        gain=found.gain,
        second=second_opinion(dag, scores.correlation, scores.n_rows),
        whole=found.whole,
    )
