from itertools import permutations

import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import is_acyclic
from drbo.knowledge import Knowledge
from drbo.scores.linear import BicEV, BicNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.evaluation.promotion import Promotion
from drbo.search.polish import _moves, polish
from drbo.settings import Settings
from tests.statements import random_dag

D = 5


@pytest.fixture
def table(rng):
    weights = np.triu(rng.normal(size=(D, D)), 1)
    return Statistics.from_array(rng.normal(size=(100, D)) @ np.linalg.inv(np.eye(D) - weights))


def _neighbours(dag, constraints):
    """Every DAG one addition, removal or reversal away, by trying them all."""
    found = []
    for i, j in permutations(range(D), 2):
        for change in ("add", "remove", "turn"):
            other = dag.copy()
            if (change == "add") == bool(dag[i, j]) or (change == "add" and dag[j, i]):
                continue
            other[i, j] = change == "add"
            other[j, i] |= change == "turn"
            if is_acyclic(other) and not constraints.violations(other):
                found.append(other)
    return found


KNOWLEDGE = [
    Knowledge(),
    Knowledge(required=["x0 -> x3"], forbidden=["x1 -> x2"], max_parents=2),
    Knowledge(tiers=[["x4", "x1"], ["x0", "x2", "x3"]]),
]


@pytest.mark.parametrize("knowledge", KNOWLEDGE)
def test_moves_are_exactly_the_neighbours(knowledge, rng):
    constraints = Constraints.of(knowledge, [f"x{j}" for j in range(D)])
    tried = 0
    while tried < 30:
        dag = random_dag(rng, D, 0.5)
        if constraints.violations(dag):
            continue
        tried += 1
        moves = _moves(dag, constraints)
        made = set()
        for nodes, parents in zip(moves.nodes, moves.parents, strict=True):
            other = dag.copy()
            for node, row in zip(nodes, parents, strict=True):
                if node >= 0:
                    other[:, node] = row
            made.add(other.tobytes())
        assert len(made) == len(moves.nodes)
        assert made == {other.tobytes() for other in _neighbours(dag, constraints)}


@pytest.mark.parametrize("kind", [BicEV, BicNV])
@pytest.mark.parametrize("knowledge", KNOWLEDGE)
def test_the_end_has_no_better_neighbour(kind, knowledge, table, rng):
    constraints = Constraints.of(knowledge, table.names)
    evaluator = Evaluator(kind(table), Settings())
    start = constraints.required.copy()
    first = evaluator.evaluate(start[None])
    best = polish(first, Promotion(evaluator), constraints, rng)
    assert best.scores[0] >= first.scores[0]
    assert constraints.violations(best.dags[0]) == []
    neighbours = np.array(_neighbours(best.dags[0], constraints))
    assert (Evaluator(kind(table), Settings()).evaluate(neighbours).scores <= best.scores[0] + 1e-9).all()
    assert best.scores[0] == pytest.approx(Evaluator(kind(table), Settings()).evaluate(best.dags).scores[0])


@pytest.mark.parametrize("budget", [1, 2, 4])
def test_the_budget_is_never_passed(budget, table, rng):
    evaluator = Evaluator(BicNV(table), Settings(max_evals=budget))
    first = evaluator.evaluate(np.zeros((1, D, D), dtype=bool))
    polish(first, Promotion(evaluator), Constraints.none(D), rng)
    assert evaluator.n_evals <= budget
    assert evaluator.n_local <= D * budget


def test_local_scores_are_capped_too(table, rng):
    evaluator = Evaluator(BicNV(table), Settings(max_local=9))
    first = evaluator.evaluate(np.zeros((1, D, D), dtype=bool))
    polish(first, Promotion(evaluator), Constraints.none(D), rng)
    assert evaluator.n_local <= 9
