import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.knowledge import Knowledge
from drbo.scores.discrete import BDeu, DiscreteBIC
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.gains import Expansion, ScoreSteps, steps_of
from drbo.settings import Settings

D = 6
NAMES = [f"x{i}" for i in range(D)]
KNOWLEDGE = Constraints.of(Knowledge(required=["x0 -> x1"], forbidden=["x2 -> x3"], max_parents=3), NAMES)


@pytest.fixture
def table(rng):
    values = rng.integers(3, size=(200, D))
    values[:, 1] = (values[:, 0] + (rng.random(200) < 0.3)) % 3
    values[:, 4] = (values[:, 1] + values[:, 2] + (rng.random(200) < 0.2)) % 4
    return Statistics.from_array(values.astype(float))


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize(
    ("kind", "options"),
    [(DiscreteBIC, {}), (DiscreteBIC, {"penalty": "ebic"}), (BDeu, {"ess": 5.0}), (BDeu, {"penalty": 2.0})],
)
def test_steps_are_worth_what_the_score_says(kind, options, repeated, table, rng):
    if repeated:  # equal rows are merged and counted
        table = Statistics.from_array(np.repeat(table.values[:40], 5, axis=0))
    targets = np.zeros(table.values.shape, dtype=bool)
    targets[:30, 4] = True
    score = kind(table, edge_prior=rng.normal(size=(D, D)), targets=targets, **options)
    evaluator = Evaluator(score, Settings(max_evals=10**6))
    nodes = np.array([0, 1, 2, 3, 4, 4, 4, 5])
    parents = np.array(
        [[-1, -1, -1], [0, -1, -1], [4, -1, -1], [1, 4, -1], [-1, -1, -1], [1, 2, -1], [1, 2, 5], [4, -1, -1]]
    )
    sizes = (parents >= 0).sum(axis=1)
    compiled = Expansion(*steps_of(evaluator, KNOWLEDGE, None).expand(nodes, parents, sizes))
    expected = ScoreSteps(evaluator, KNOWLEDGE, None).expand(nodes, parents, sizes)
    np.testing.assert_allclose(compiled.values, expected.values, rtol=1e-9)
    open_ = np.isfinite(expected.additions)
    np.testing.assert_allclose(compiled.additions[open_], expected.additions[open_], rtol=1e-9, atol=1e-8)
    assert (compiled.additions[~open_] == 0).all()
    assert (compiled.drops == expected.drops).all()
    dropped = expected.drops >= 0
    np.testing.assert_allclose(compiled.drop_gains[dropped], expected.drop_gains[dropped], rtol=1e-9, atol=1e-8)
