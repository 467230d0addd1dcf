import numpy as np
import pytest

from drbo.claims.answer.prune import prune
from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.graph.metrics import shd
from drbo.knowledge import Knowledge
from drbo.scores.splines import SplineScore
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.gains import Expansion, ScoreSteps, steps_of
from drbo.search.orders.search import OrderSearch
from drbo.settings import Settings

D = 8


def _limits():
    names = [f"x{j}" for j in range(D)]
    statements = {"forbidden": ["x0 -> x1"], "required": ["x2 -> x3"], "max_parents": 4}
    return Constraints.of(Knowledge.from_mapping(statements), names)


@pytest.mark.parametrize("constraints", [Constraints.none(D), _limits()], ids=["free", "knowledge"])
@pytest.mark.parametrize("case", ["plain", "targets", "few rows", "few values"])
def test_steps_are_those_of_the_score_itself(case, constraints, rng):
    values = simulate(f"{D}ER2", "cos", n=30 if case == "few rows" else 150, seed=3).X
    options = {}
    if case == "targets":
        options["targets"] = np.arange(len(values))[:, None] < np.where(np.arange(D) % 2, 40, 0)
    if case == "few values":
        values[:, 0], values[:, 1] = np.sign(values[:, 0]), np.round(values[:, 1])
    evaluator = Evaluator(SplineScore(Statistics.from_array(values), **options), Settings(max_evals=2**62))
    compiled, plain = steps_of(evaluator, constraints, None), ScoreSteps(evaluator, constraints)
    for size in range(6):
        nodes = rng.integers(D, size=12)
        parents = np.sort([rng.choice(np.delete(np.arange(D), node), size, replace=False) for node in nodes], axis=1)
        sizes = np.full(len(nodes), size)
        found, expected = (
            Expansion(*steps.expand(nodes, parents.astype(np.int64), sizes)) for steps in (compiled, plain)
        )
        np.testing.assert_allclose(found.values, expected.values, atol=1e-5)
        pays = expected.additions > 1e-4
        assert np.array_equal(found.additions > 1e-4, pays)
        np.testing.assert_allclose(found.additions[pays], expected.additions[pays], atol=1e-5)
        dropped = expected.drop_gains > 1e-4
        assert np.array_equal(found.drops[dropped], expected.drops[dropped])
        np.testing.assert_allclose(found.drop_gains[dropped], expected.drop_gains[dropped], atol=1e-5)


def test_nonlinear_graphs_are_found():
    data = simulate("20ER2", "cos", n=800, seed=100)
    score = SplineScore(Statistics.from_array(data.X))
    found = OrderSearch(score, Settings(order_patience=3), seed=0).run().best.dags[0]
    assert shd(prune("cam-sequential", data.X, found)[0], data.dag) <= 1
