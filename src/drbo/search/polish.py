"""Polish: climb the true score by single edges until no addition, removal or reversal helps."""

from dataclasses import dataclass

import numpy as np

from drbo.arrays import Bools, Floats, Indices
from drbo.constraints import Constraints
from drbo.graph.dag import descendants
from drbo.scores.families import Families
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.evaluation.promotion import Promotion
from drbo.search.outcome import Evaluated

#: A move must gain more than this share of the score's size: rounding is no improvement.
MIN_GAIN = 1e-12
#: Values held at once while moves are compared.
MOVE_VALUES = 2**22


@dataclass(frozen=True, eq=False)
class _Moves:
    """Single-edge moves: each changes the parents of one node, a reversal also those of a second."""

    nodes: Indices  # (m, 2); the second is -1 where only one family changes
    parents: Bools  # (m, 2, d)


def polish(
    start: Evaluated,
    promotion: Promotion,
    constraints: Constraints,
    rng: np.random.Generator,
) -> Evaluated:
    """Return the end of a greedy climb from a DAG, as far as the budget goes; new families are charged."""
    best = start
    while True:
        better = _best_neighbour(best, promotion, constraints, rng)
        if better is None:
            return best
        best = better


def _best_neighbour(
    current: Evaluated, promotion: Promotion, constraints: Constraints, rng: np.random.Generator
) -> Evaluated | None:
    """Return the best DAG one move away, or None where no affordable move improves."""
    evaluator = promotion.evaluator
    moves = _moves(current.dags[0], constraints)
    order = rng.permutation(len(moves.nodes))  # which moves are tried first when the budget ends, and who wins a tie
    moves = _Moves(moves.nodes[order], moves.parents[order])
    if not len(moves.nodes):
        return None
    changed = moves.nodes >= 0
    families, prices = Families(moves.nodes[changed], moves.parents[changed]), np.full(changed.shape, np.nan)
    prices[changed] = evaluator.score.family_price(families)
    start = float(current.scores[0])
    least = MIN_GAIN * (1 + abs(start))

    def scores_by(values: Floats) -> Floats:
        """Return the score after each move; NaN where a value is."""
        every = np.zeros(changed.shape)
        every[changed] = values
        usable, scores = ~np.isnan(every).any(axis=1), np.full(len(every), np.nan)
        chosen = _Moves(moves.nodes[usable], moves.parents[usable])
        scores[usable] = _scores_after(current, evaluator, chosen, every[usable], prices[usable])
        return scores

    def promise(values: Floats) -> Floats:
        """Return for each family the score of its move, if that may improve more than the best move that is known."""
        scores, known = scores_by(values), np.ones(changed.shape, dtype=bool)
        known[changed] = evaluator.is_known(families.keys())
        goal = max([start + least, *scores[known.all(axis=1)]])
        return np.where(scores > goal, scores, -np.inf)[np.nonzero(changed)[0]]

    values = np.zeros(changed.shape)
    values[changed] = promotion.values(families, promise)
    scores = scores_by(values[changed])
    if np.isnan(scores).all():
        return None
    top = int(np.nanargmax(scores))
    if scores[top] - start <= least:
        return None
    dag, local = current.dags[0].copy(), current.local[0].copy()
    for node, parents, value in zip(moves.nodes[top], moves.parents[top], values[top], strict=True):
        if node >= 0:
            dag[:, node], local[node] = parents, value
    return Evaluated(dag[None], local[None], evaluator.scores(dag[None], local[None]))


def _moves(dag: Bools, constraints: Constraints) -> _Moves:
    """List every addition, removal and reversal that keeps the DAG acyclic and within the knowledge."""
    d = len(dag)
    reach = descendants(dag)
    room = dag.sum(axis=0) < constraints.max_parents
    free = ~constraints.required
    add = np.argwhere(~dag & ~dag.T & constraints.allowed & ~reach.T & room[None, :] & ~np.eye(d, dtype=bool))
    remove = np.argwhere(dag & free)
    # Turning i -> j makes a cycle exactly if another path leads from i to j.
    detour = (dag.astype(np.float32) @ reach.astype(np.float32)) > 0
    turn = np.argwhere(dag & free & constraints.allowed.T & ~detour & room[:, None])
    count = len(add) + len(remove) + len(turn)
    nodes = np.full((count, 2), -1, dtype=np.intp)
    parents = np.zeros((count, 2, d), dtype=bool)
    targets = np.concatenate([add[:, 1], remove[:, 1], turn[:, 1]])
    sources = np.concatenate([add[:, 0], remove[:, 0], turn[:, 0]])
    rows = np.arange(count)
    nodes[:, 0] = targets
    parents[:, 0] = dag.T[targets]
    parents[rows, 0, sources] = rows < len(add)
    turned = rows[len(add) + len(remove) :]
    nodes[turned, 1] = turn[:, 0]
    parents[turned, 1] = dag.T[turn[:, 0]]
    parents[turned, 1, turn[:, 1]] = True
    return _Moves(nodes, parents)


def _scores_after(
    current: Evaluated,
    evaluator: Evaluator,
    moves: _Moves,
    values: Floats,  # (m, 2)
    prices: Floats,  # (m, 2)
) -> Floats:
    """Return the score of the DAG after each move, exactly."""
    score, d = evaluator.score, current.local.shape[1]
    price = score.family_price(Families.from_dags(current.dags))
    scores = np.empty(len(moves.nodes))
    step = max(1, MOVE_VALUES // d)
    for start in range(0, len(scores), step):
        part = slice(start, start + step)
        rows = np.arange(len(scores[part]))
        local = np.repeat(current.local, len(rows), axis=0)
        cost = np.repeat(price[None], len(rows), axis=0)
        for side in (0, 1):
            there = moves.nodes[part, side] >= 0
            local[rows[there], moves.nodes[part, side][there]] = values[part, side][there]
            cost[rows[there], moves.nodes[part, side][there]] = prices[part, side][there]
        scores[part] = score.combine(local, cost)
    return scores
