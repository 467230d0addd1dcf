"""The families over which margins, other classes and edge probabilities are computed where all families are too many.

What is said about an answer must not depend on the way to it: a search that was interrupted and resumed has scored
other families than one that was not. So the likely families are found again, from the score, the knowledge and the
answer alone. Parent sets of every node grow by one parent at a time; of each size the best ones grow on (a beam
search), until a larger set is no longer worth looking at. Those of the answer, of equivalent graphs and of graphs one
edge away from these are always among them.
"""

import numpy as np

from drbo.arrays import Bools, Floats, Indices
from drbo.claims.next_experiment import Left
from drbo.claims.orientations import ways_left
from drbo.constraints import Constraints
from drbo.graph.dag import dag_to_cpdag
from drbo.scores.families import Families
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import count_legal, families_of, legal, legal_rows

#: Up to so many families that the knowledge allows, all of them are taken.
FEW = 2_000
#: Columns up to which sets are grown; above, only families one edge away from the answer are taken.
MAX_NODES = 40
#: Members of the class of the answer from which single edges are changed.
MEMBERS = 20
#: How many sets of each size grow on, at most and at least; between, as many as keep about so many families in all.
WIDEST, NARROWEST, FAMILIES = 8, 2, 30_000
#: Sizes of sets that a node has before the next size is not worth it, about.
SIZES = 5
#: Sets grow no more once the best one of a size is this far (in log evidence) below the best one that is smaller.
FAR = 6.0


def likely_families(
    evaluator: Evaluator,
    constraints: Constraints,
    dag: Bools,  # (d, d) the answer
    level: float | None,  # at which the score is additive; None: it is at any
) -> Families:
    """Return the likely families, sorted, and score them.

    Examples
    --------
    >>> from drbo.data.statistics.statistics import Statistics
    >>> from drbo.scores.linear import BicNV
    >>> from drbo.settings import Settings
    >>> score = BicNV(Statistics.from_array(np.random.default_rng(0).normal(size=(50, 3))))
    >>> dag = np.zeros((3, 3), dtype=bool)
    >>> len(likely_families(Evaluator(score, Settings()), Constraints.none(3), dag, None))  # all
    12
    """
    d = len(dag)
    if count_legal(constraints) <= FEW:
        everything = [families_of(d, node)[np.flatnonzero(legal(node, constraints))] for node in range(d)]
        found = _joined(everything)
    else:
        graphs = _members(dag) if d <= MAX_NODES else dag[None]
        near = _joined([Families.from_dags(graphs), *(neighbours(one) for one in (dag, *graphs[:MEMBERS]))])
        grown = _grown(evaluator, constraints, level) if d <= MAX_NODES else []
        found = _joined([near[legal_rows(near, constraints)], *grown])
    evaluator.families(found)
    return found


def neighbours(dag: Bools) -> Families:
    """Return the families that a DAG has when one edge goes or turns, and those without parents."""
    sets: list[tuple[int, Indices]] = [(node, np.empty(0, dtype=np.intp)) for node in range(len(dag))]
    for a, b in np.argwhere(dag).tolist():
        without, with_ = dag[:, b].copy(), dag[:, a].copy()
        without[a], with_[b] = False, True
        sets += [(b, np.flatnonzero(without)), (a, np.flatnonzero(with_))]
    return Families.from_sets(len(dag), [(node, members.tolist()) for node, members in sets])


def _members(dag: Bools) -> Bools:
    """Return members (n, d, d) of the class of a DAG, drawn with a fixed seed where there are many."""
    cpdag = dag_to_cpdag(dag)
    return Left(ways_left(cpdag, dag, seed=0), cpdag & ~cpdag.T).graphs()[0]


def _grown(evaluator: Evaluator, constraints: Constraints, level: float | None) -> list[Families]:
    """Return the families of a beam search, by the size of their parent sets."""
    d, score = evaluator.score.n_nodes, evaluator.score
    width = min(WIDEST, max(NARROWEST, FAMILIES // (SIZES * d * d)))
    far = FAR * (score.evidence_scale or 1.0)
    best = Families(np.arange(d), np.ascontiguousarray(constraints.required.T))
    found, tops = [best], _shares(evaluator, best, level)
    while len(best):
        larger = _joined([_one_more(best, constraints)])
        if not len(larger):
            break
        shares = _shares(evaluator, larger, level)
        found.append(larger)
        highest = np.full(d, -np.inf)
        np.maximum.at(highest, larger.nodes, shares)
        goes_on = highest >= tops - far
        tops = np.maximum(tops, highest)
        rows = np.lexsort((-shares, larger.nodes))
        nodes = larger.nodes[rows]
        rank = np.arange(len(rows)) - np.searchsorted(nodes, nodes)
        best = larger[rows[(rank < width) & goes_on[nodes]]]
    return found


def _one_more(families: Families, constraints: Constraints) -> Families:
    """Return the families with one parent more that the knowledge allows."""
    room = families.sizes < constraints.max_parents[families.nodes]
    row, other = np.nonzero(constraints.allowed.T[families.nodes] & ~families.parents & room[:, None])
    parents = families.parents[row]
    parents[np.arange(len(row)), other] = True
    return Families(families.nodes[row], parents)


def _shares(evaluator: Evaluator, families: Families, level: float | None) -> Floats:
    score = evaluator.score
    return score.share(evaluator.families(families), score.family_price(families), level, families.nodes)


def _joined(parts: list[Families]) -> Families:
    """Return the families of several batches, each once and sorted."""
    keys = set().union(*(part.keys() for part in parts))
    return Families.from_keys(sorted(keys), parts[0].n_nodes)
