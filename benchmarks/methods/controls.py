"""Controls: tabu search over single edges with our score, and a random DAG that looks at nothing.

What a search is worth shows beside a plain one with the same score, and what a distance means beside chance.

Tabu search is that of bnlearn's ``tabu`` (Scutari 2010): the best of all additions, removals and reversals is made even
if it makes the score worse, unless it leads back to one of the last graphs; it ends after some moves without a new
best.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from benchmarks.methods.base import Graph, Record
from drbo.claims.answer.prune import prune as prune_dag
from drbo.data.files.simulate import random_dag
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import descendants
from drbo.scores.families import Families
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.settings import Settings

Floats = npt.NDArray[np.float64]
#: Defaults of bnlearn's tabu(): graphs that may not come back, and moves without a new best.
TABU_LENGTH = 10
MAX_WORSE = 10
#: Edges per node of the random DAG where nothing else is said.
DEGREE = 2.0


def learn(
    values: Floats,  # (n, d)
    *,
    seed: int,
    record: Record | None = None,
    method: Literal["tabu", "random"],
    score: str = "bic-ev",
    score_options: dict[str, Any] | None = None,
    prune: str = "none",
    degree: float = DEGREE,
) -> Graph:
    """Return the DAG of a tabu search with a score, pruned, or a random DAG with ``degree`` edges per node."""
    if method == "tabu":
        evaluator = Evaluator(
            build_score(score, Statistics.from_array(values), score_options), Settings(max_evals=2**62)
        )
        return tabu(evaluator, lambda dag: prune_dag(prune, values, dag)[0], record)
    # The first word keeps it away from the graphs of drbo.data.files.simulate, which have plain seeds.
    graph = random_dag(values.shape[1], degree, np.random.default_rng([2**31, seed]))
    if record:
        record(1, graph)
    return graph


def tabu(
    evaluator: Evaluator,
    finish: Callable[[Graph], Graph],
    record: Record | None = None,
    length: int = TABU_LENGTH,
    max_worse: int = MAX_WORSE,
) -> Graph:
    """Return the best DAG of a tabu search from the empty graph, finished; ``record`` gets every new best.

    ``length`` is the number of graphs that may not come back, ``max_worse`` that of moves without a new best.
    """
    moves = Moves(evaluator, evaluator.score.n_nodes)
    best, best_dag, worse = moves.current, moves.dag.copy(), 0
    banned = deque([moves.dag.tobytes()], maxlen=length)
    while worse < max_worse and not evaluator.down_to(0) and moves.make_best(banned):
        banned.append(moves.dag.tobytes())
        worse += 1
        if moves.current > best:
            best, best_dag, worse = moves.current, moves.dag.copy(), 0
            if record:
                record(evaluator.n_evals, finish(best_dag))
    return finish(best_dag)


class Moves:
    """A DAG with the local scores of all its one-edge neighbours; a move renews the columns it touches."""

    def __init__(self, evaluator: Evaluator, d: int) -> None:
        self.evaluator, self.dag = evaluator, np.zeros((d, d), dtype=bool)
        # Row i of column j: node j with parent i toggled; the last row: as it is.
        self.local, self.price = np.zeros((d + 1, d)), np.zeros((d + 1, d))
        for node in range(d):
            self._renew(node)
        self.current = float(self._scores(self.local[-1:], self.price[-1:])[0])

    def _renew(self, node: int) -> None:
        d = len(self.dag)
        others = np.delete(np.arange(d + 1), node)
        parents = np.repeat(self.dag[None, :, node], d + 1, axis=0)
        parents[np.arange(d), np.arange(d)] ^= True
        families = Families(np.full(d, node), parents[others])
        self.local[others, node] = self.evaluator.families(families)
        self.price[others, node] = self.evaluator.score.family_price(families)

    def _scores(self, local: Floats, price: Floats) -> Floats:
        scores: Floats = self.evaluator.score.combine(local, price)
        return scores

    def make_best(self, banned: deque[bytes]) -> bool:
        """Make the allowed move with the best score; tell whether there was one."""
        parent, child, reverse = self._allowed()
        local, price = (np.repeat(table[-1:], len(parent), axis=0) for table in (self.local, self.price))
        row = np.arange(len(parent))
        for values, table in ((local, self.local), (price, self.price)):
            values[row, child] = table[parent, child]
            values[row[reverse], parent[reverse]] = table[child[reverse], parent[reverse]]
        scores = self._scores(local, price)
        for place in np.argsort(-scores, kind="stable"):
            after = self.dag.copy()
            after[parent[place], child[place]] ^= True
            after[child[place], parent[place]] |= reverse[place]
            if after.tobytes() not in banned:
                self.dag, self.current = after, float(scores[place])
                for node in (child[place], parent[place])[: 1 + reverse[place]]:
                    self._renew(int(node))
                return True
        return False

    def _allowed(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """Return parent and child of every toggle and reversal that leaves a DAG; the last says which reverse."""
        reach = descendants(self.dag)
        toggles = self.dag | ~(reach.T | np.eye(len(reach), dtype=bool))
        detour = (self.dag.astype(np.float64) @ reach) > 0  # a path of two or more edges
        parents, children = np.nonzero(toggles)
        reversible = np.nonzero(self.dag & ~detour)
        reverse = np.repeat([False, True], [len(parents), len(reversible[0])])
        return np.concatenate([parents, reversible[0]]), np.concatenate([children, reversible[1]]), reverse
